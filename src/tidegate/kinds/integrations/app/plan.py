"""What would be done on the clusters: read, planned, and checked by dry runs on their servers."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec import UNSET, UnsetType

from tidegate.explain.sentence import sentence
from tidegate.gates.brakes import Brakes
from tidegate.kinds.integrations.app.estate import EstateView, FindCluster, open_clusters
from tidegate.kinds.integrations.app.executor import ObjectExecutor, preview, to_ask
from tidegate.kinds.integrations.app.survey import read_clusters
from tidegate.kinds.integrations.core.objects.changes import changes_of
from tidegate.kinds.integrations.core.workloads.change import (
    ACTING,
    ClusterReading,
    Key,
    ObjectAction,
    PlannedChange,
)
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest
from tidegate.kinds.integrations.core.workloads.difference import ObjectDifference
from tidegate.kinds.integrations.core.workloads.workloads import Manifest
from tidegate.kubernetes.port import Object
from tidegate.model.document import Document, Part
from tidegate.model.limit import Limit
from tidegate.model.removal import REMOVALS
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

# Called with what is done and how many there are, and then with the number done since.
Phase = Callable[[str, int], Callable[[int], None]]


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How to plan."""

    # Objects of other managers may become ours.
    adopt: bool = False
    allow_mass_delete: bool = False
    # How many objects may be removed at once.
    removals: Limit = REMOVALS
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
    # It was made from this very manifest and changed since: what is put back was ours.
    drifted: bool
    differences: tuple[ObjectDifference, ...]
    verdicts: tuple[ObjectVerdict, ...]
    # Of what is created, in `diff`: all that it will be.
    manifest: Manifest | UnsetType = UNSET

    @property
    def where(self) -> str:
        """`deployment/name`."""
        return f"{self.kind.lower()}/{self.name}"

    @property
    def verb(self) -> ObjectAction:
        """What becomes of it."""
        return ObjectAction(self.action)


class ObjectPlan(Document, frozen=True, kw_only=True):
    """What `plan` and `diff` answer."""

    changes: tuple[ObjectChange, ...]
    # How many objects there are, by what becomes of them: those that `diff` leaves out, too.
    counts: dict[str, int]
    restarts: int
    # Whether everything could be read, and the bundle has no errors.
    ok: bool
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
        removals=request.removals,
        brakes=request.brakes,
        now=request.now,
        sound=view.sound,
    )
    changes = changes_of(view.estate, seen, wanted)
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
        changes=tuple(_change(each, whole=differing) for each in chosen),
        counts=dict(Counter(each.verb.value for each in plan.changes)),
        restarts=plan.restarts,
        ok=plan.view.sound and not plan.failures,
        problems=plan.view.problems,
        failures=plan.failures,
        notes=plan.notes,
    )


def _change(change: PlannedChange, *, whole: bool) -> ObjectChange:
    """One change; what is created in full, if wanted."""
    manifest = change.manifest if whole and change.verb is ObjectAction.CREATE else None
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
        drifted=change.drifted,
        differences=change.differences,
        verdicts=verdict_parts(change.verdicts),
        manifest=UNSET if manifest is None else manifest,
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
