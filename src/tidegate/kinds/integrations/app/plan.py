"""What would be done on the clusters: read, planned, and checked by dry runs on their servers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.gates.brakes import Brakes
from tidegate.kinds.integrations.app.estate import EstateView, FindCluster, open_clusters
from tidegate.kinds.integrations.app.executor import ObjectExecutor, preview, to_ask
from tidegate.kinds.integrations.app.survey import read_clusters
from tidegate.kinds.integrations.core.workloads.brakes import braked
from tidegate.kinds.integrations.core.workloads.change import (
    ACTING,
    ClusterReading,
    Key,
    ObjectAction,
    PlannedChange,
)
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest, changes_of
from tidegate.kubernetes.port import Object
from tidegate.model.document import Document, Part
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

# Called with what is done and how many there are, and then with the number done since.
Phase = Callable[[str, int], Callable[[int], None]]


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How to plan."""

    # Objects of other managers may become ours.
    adopt: bool = False
    allow_mass_delete: bool = False
    # Dry runs on the servers say what each change results in.
    ask_servers: bool = True
    # Pods are read for the digests that they run.
    read_pods: bool = False
    concurrency_max: int = 10
    # The brakes at a moment; None: they do not count.
    brakes: Brakes | None = None
    now: Instant = Instant(0)


class ChangePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done, and what could not be read."""

    view: EstateView
    changes: tuple[PlannedChange, ...]
    # What could not be read or tried, a line each; the rest of the plan stands.
    failures: tuple[str, ...]
    notes: tuple[str, ...]
    executor: ObjectExecutor
    objects: Mapping[Key, Object]

    @property
    def restarts(self) -> int:
        """How many workloads would get new pods."""
        return sum(change.restarts for change in self.changes if change.verb in ACTING)


class ObjectVerdict(Part, frozen=True, kw_only=True):
    """What one gate says of an object."""

    gate: str
    outcome: str
    reason: str
    text: str


class FieldDifference(Part, frozen=True, kw_only=True):
    """A field as it is and as it is to be; null: it is not there."""

    field: str
    before: Any
    after: Any


class ObjectChange(Part, frozen=True, kw_only=True):
    """What becomes of one object, and why."""

    action: str
    cluster: str
    namespace: str
    kind: str
    name: str
    integration: str
    shard: str
    reason: str
    restarts: bool
    # Which image it keeps although another is wanted, and why; empty: it has the wanted one.
    held: str
    differences: tuple[FieldDifference, ...]
    verdicts: tuple[ObjectVerdict, ...]


class ObjectPlan(Document, frozen=True, kw_only=True):
    """What `plan` and `diff` answer."""

    changes: tuple[ObjectChange, ...]
    restarts: int
    # What is wrong with the bundle, a line each.
    problems: tuple[str, ...]
    failures: tuple[str, ...]
    notes: tuple[str, ...]


async def plan_changes(
    view: EstateView,
    find: FindCluster,
    request: PlanRequest,
    phase: Phase = lambda _words, _count: lambda _done: None,
) -> ChangePlan:
    """Read all clusters, plan, and have the servers say what each change results in."""
    spaces = view.namespaces()
    clusters, shut = open_clusters(spaces, find)
    surveys = await read_clusters(
        clusters,
        spaces,
        pods=request.read_pods,
        progress=phase("reading clusters", len(clusters)),
    )
    seen = {name: survey.seen for name, survey in surveys.items()}
    seen |= {name: ClusterReading(error=why) for name, why in shut.items()}
    wanted = ChangeRequest(
        selection=view.selection,
        adopt=request.adopt,
        allow_mass_delete=request.allow_mass_delete,
        sound=view.sound,
    )
    changes = changes_of(view.estate, seen, wanted)
    if request.brakes is not None:
        changes = braked(request.brakes, request.now, view.estate, changes)
    objects = {key: each for survey in surveys.values() for key, each in survey.objects.items()}
    executor = ObjectExecutor(
        clusters=clusters,
        objects=objects,
        concurrency_max=request.concurrency_max,
        consent=request.adopt,
    )
    failed: tuple[str, ...] = ()
    if request.ask_servers:
        progress = phase("asking servers", to_ask(changes))
        changes, failed = await preview(changes, executor, progress)
    return ChangePlan(
        view=view,
        changes=changes,
        failures=(*_failures(seen), *failed),
        notes=tuple(note for one in seen.values() for note in one.notes),
        executor=executor,
        objects=objects,
    )


def plan_document(plan: ChangePlan, *, differing: bool = False) -> ObjectPlan:
    """A plan as programs read it: every object, or those that differ."""
    chosen = (
        each for each in plan.changes if not differing or each.verb is not ObjectAction.UNCHANGED
    )
    return ObjectPlan(
        changes=tuple(map(change_part, chosen)),
        restarts=plan.restarts,
        problems=plan.view.problems,
        failures=plan.failures,
        notes=plan.notes,
    )


def change_part(change: PlannedChange) -> ObjectChange:
    """One change as programs read it."""
    return ObjectChange(
        action=change.verb.value,
        cluster=change.cluster,
        namespace=change.namespace,
        kind=change.kind,
        name=change.name,
        integration=change.integration,
        shard=change.shard,
        reason=change.reason,
        restarts=change.restarts,
        held=change.held,
        differences=tuple(
            FieldDifference(field=one.field, before=one.before, after=one.after)
            for one in change.differences
        ),
        verdicts=verdict_parts(change.verdicts),
    )


def verdict_parts(verdicts: Iterable[Verdict]) -> tuple[ObjectVerdict, ...]:
    """Verdicts as programs read them."""
    return tuple(
        ObjectVerdict(
            gate=each.gate.value,
            outcome=each.outcome.value,
            reason=each.reason.value,
            text=sentence(each),
        )
        for each in verdicts
    )


def _failures(seen: Mapping[str, ClusterReading]) -> list[str]:
    """What could not be read, once each."""
    found: dict[str, None] = {}
    for one in seen.values():
        found |= dict.fromkeys([one.error] if one.error else one.gaps.values())
    return list(found)
