"""The rules of namespaces, as the engine and every reader use them: a partition is a namespace.

Images of integrations move by the rules of rollouts; this is everything else that Git declares of
their objects.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from tidegate.engine.kind import Others, OthersThen, Task
from tidegate.engine.plain.rules import PlainRules, PlainWorld
from tidegate.engine.plain.state import PlainPending, PlainState, PlainTask, PlanMade, tried_at
from tidegate.explain.notice import DueNotices, Notice, NoticeKind
from tidegate.explain.sentence import sentence
from tidegate.explain.view import PartitionView
from tidegate.gates.ask import shut_now
from tidegate.gates.brakes import Brakes, Coverages, confined
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted, Asked, TaskOutcome, Verb
from tidegate.journal.shadow import Shadowed
from tidegate.kinds.integrations.core.objects.decide import (
    ActAttempt,
    ObjectWorld,
    Repeats,
    ask_of,
    decide,
    labels_of,
    with_objects,
)
from tidegate.kinds.integrations.core.objects.facts import NamespaceTerms, ObjectsSeen
from tidegate.kinds.integrations.core.objects.shadow import shadow
from tidegate.kinds.integrations.core.objects.stand import REMOVE, ObjectStand
from tidegate.kinds.integrations.core.objects.view import namespace_view
from tidegate.model.plan import Plan
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

# So many times of one and the same thing are remembered.
REPEATS_MAX = 12
_ABORT = (
    "`abort` does not apply to the objects of a namespace: they are what Git declares;"
    " `pause` it, or change Git"
)
FAILED_BESIDE = "something else here went wrong, so nothing is removed"


class ActFailure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why the last attempt at a target failed."""

    detail: str
    refused: bool = False


class NamespaceState(PlainState):
    """What is known of a namespace."""

    seen: bool = False
    terms: NamespaceTerms = NamespaceTerms()
    objects: dict[str, ObjectStand] = msgspec.field(default_factory=dict)
    failures: dict[str, ActFailure] = msgspec.field(default_factory=dict)
    repeats: dict[str, Repeats] = msgspec.field(default_factory=dict)
    settled_at: dict[str, Instant] = msgspec.field(default_factory=dict)
    # What was carried out on targets since they were looked at, by its digest.
    accepted: dict[str, str] = msgspec.field(default_factory=dict)


class NamespaceRules(PlainRules[NamespaceState]):
    """The objects of a namespace are what Git declares."""

    word: ClassVar[str] = "namespaces"
    noun: ClassVar[str] = "namespace"
    target_noun: ClassVar[str] = "shard"
    state_type: ClassVar[type[PlainState]] = NamespaceState
    own_facts: ClassVar[tuple[type[Fact], ...]] = (ObjectsSeen,)

    def take(self, state: NamespaceState, at: Instant, fact: Fact) -> None:
        """Objects that stand otherwise than before."""
        assert isinstance(fact, ObjectsSeen)
        state.seen, state.terms = True, fact.terms
        state.accepted.clear()
        for name in fact.gone:
            known = state.objects.pop(name, None)
            if known is not None:
                state.settled_at.pop(known.target, None)
        for each in fact.objects:
            before = state.objects.get(each.object)
            changed = before is not None and (before.acts or not before.settled)
            if changed and each.settled and not each.acts:
                state.settled_at[each.target] = at
            state.objects[each.object] = each

    def fold(self, state: NamespaceState, at: Instant, fact: Fact, actor: str) -> NamespaceState:
        """Take one fact into account; of an outcome, why it failed, and how often it is done."""
        if isinstance(fact, Acted):
            _take_outcome(state, at, fact)
        elif isinstance(fact, PlanMade):
            # It is decided on what was seen, so what was accepted before was looked at.
            state.accepted.clear()
        return super().fold(state, at, fact, actor)

    def inner(
        self, state: NamespaceState, _now: Instant
    ) -> tuple[ObjectWorld, tuple[str, ...]] | None:
        """The objects as they were seen last."""
        if not state.seen:
            return None
        terms = state.terms
        objects = tuple(state.objects[name] for name in sorted(state.objects))
        attempts = {name: _attempt(state, name, each) for name, each in state.pending.items()}
        plain = ObjectWorld(
            managed=terms.managed,
            removing=sum(each.removes for each in objects),
            removals=terms.removals,
            allows_mass_delete=terms.allows_mass_delete,
            declared=terms.declared,
            waves=terms.waves,
            attempts=attempts,
            repeats=state.repeats,
            settled_at=state.settled_at,
        )
        world = with_objects(plain, objects)
        return world, world.targets

    def decide(self, world: PlainWorld, now: Instant) -> Plan:
        """What is done now, object by object."""
        return decide(_whole(world), now)

    def world(
        self, state: NamespaceState, brakes: Brakes, now: Instant, others: Others
    ) -> PlainWorld | None:
        """The namespace, under the brakes that may cover its shards."""
        mine = confined(brakes, self.named(state), self.labels(state))
        return super().world(state, mine, now, others)

    def world_then(
        self, state: NamespaceState, brakes: Brakes, now: Instant, others: Others
    ) -> PlainWorld | None:
        """As recorded: earlier versions kept brakes that cover nothing here, too."""
        return super().world(state, brakes, now, others)

    def due(self, state: NamespaceState, now: Instant) -> Sequence[Sequence[Task]]:
        """What is applied first, then what is removed."""
        (some,) = super().due(state, now)
        removing = [each for each in some if _removes(each)]
        return [each for each in some if not _removes(each)], removing

    def unwanted(self, state: NamespaceState, task: Task) -> str:
        """Whether another decision took its place; nothing is removed where something failed."""
        failing = any(each.tries and not _removes(each.task) for each in state.pending.values())
        if _removes(task) and failing:
            return FAILED_BESIDE
        return super().unwanted(state, task)

    def labels(self, state: NamespaceState) -> Mapping[str, Mapping[str, str]]:
        """The labels of shards."""
        return labels_of(state.objects.values())

    def named(self, state: NamespaceState) -> Iterable[str]:
        """The shards, and objects that are of none."""
        return {each.target for each in state.objects.values()}

    def shut(
        self, state: NamespaceState, task: Task, coverages: Coverages, now: Instant
    ) -> Verdict | None:
        """The brake that covers any object of a task."""
        coverage = coverages.of(task.target)
        mine = (each for each in state.objects.values() if each.target == task.target)
        found = (shut_now(coverage, ask_of(each, now)) for each in mine if each.acts)
        return next((each for each in found if each is not None), None)

    def view(
        self, partition: str, state: NamespaceState, world: PlainWorld, plan: Plan, now: Instant
    ) -> PartitionView:
        """A row for each shard."""
        problems = state.terms.problems
        return namespace_view(partition, _whole(world), plan, now, problems, state.accepted)

    def notices(
        self, partition: str, state: NamespaceState, world: PlainWorld, plan: Plan, now: Instant
    ) -> DueNotices:
        """Missing approvals, a pause, and what only a person can settle."""
        plain = super().notices(partition, state, world, plan, now)
        view = self.view(partition, state, world, plan, now)
        rows = {each.name: each for each in view.targets}
        failures = {f"failure/{name}": name for name in view.needs.failures}
        fresh = {key: name for key, name in failures.items() if key not in state.told}
        retired = tuple(key for key in plain.retired if key not in failures)
        if not fresh:
            return DueNotices(plain.notices, retired)
        shut = rows[next(iter(fresh.values()))].shut
        why = sentence(shut) if shut is not None else ""
        notice = Notice(partition, NoticeKind.FAILURE, "", tuple(fresh.values()), why, tuple(fresh))
        return DueNotices((*plain.notices, notice), retired)

    def asked(self, fact: Asked, _view: PartitionView) -> str:
        """Nothing goes back by itself: what is to be is what Git declares."""
        return _ABORT if fact.verb is Verb.ABORT else ""

    def no_dates(self) -> str:
        """Nothing here waits for a clock, but for waves whose end is not known."""
        return (
            "`when` does not apply to the objects of a namespace: they change as soon as Git does;"
            " use `why`"
        )

    def shadow(self, entries: Iterable[JournalEntry], _others_then: OthersThen) -> Shadowed | None:
        """What another manager did beside what we would have done."""
        return shadow(entries)

    def no_shadow(self) -> str:
        """All objects are ours, so no other manager decides about them."""
        return (
            "`shadow` does not apply to this namespace: no object here is of another manager;"
            " use `replay`"
        )


def _whole(world: PlainWorld) -> ObjectWorld:
    inner: ObjectWorld = world.inner
    return msgspec.structs.replace(inner, brakes=world.brakes, paused=world.paused)


def _removes(task: Any) -> bool:
    return isinstance(task, PlainTask) and task.change.startswith(f"{REMOVE} ")


def _attempt(state: NamespaceState, name: str, known: PlainPending) -> ActAttempt:
    failure = state.failures.get(name) if known.tries else None
    return ActAttempt(
        tries=known.tries,
        failure=failure.detail if failure is not None else "",
        refused=failure is not None and failure.refused,
        retry_at=tried_at(known) if known.tries else None,
        removes=_removes(known.task),
    )


def _take_outcome(state: NamespaceState, at: Instant, fact: Acted) -> None:
    known = state.pending.get(fact.target)
    if known is None or known.task.key != fact.key:
        return
    if fact.outcome is TaskOutcome.FAILED:
        state.failures[fact.target] = ActFailure(fact.detail, fact.refused)
        return
    state.failures.pop(fact.target, None)
    if fact.outcome is TaskOutcome.DONE:
        before = state.repeats.get(fact.target)
        times = before.at if before is not None and before.digest == known.task.change else ()
        state.accepted[fact.target] = known.task.change
        state.repeats[fact.target] = Repeats(known.task.change, (*times, at)[-REPEATS_MAX:])
