"""The rules of rollouts, as the engine and every reader use them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import msgspec

from tidegate.app.documents import RolloutDates
from tidegate.engine.kind import Others, OthersThen, PlanRecord, Rules, UnderWay
from tidegate.engine.kind import Task as AnyTask
from tidegate.explain.notice import DueNotices
from tidegate.explain.pace import DatePace
from tidegate.explain.view import Counts, PartitionView
from tidegate.gates.ask import Ask, shut_now
from tidegate.gates.brakes import LISTS, Brakes, Coverages
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import SHARED_FACTS, Bound
from tidegate.journal.replay import Replayed
from tidegate.journal.shadow import Shadowed
from tidegate.kinds.rollouts.app.assumption import strategy_settings, with_settings
from tidegate.kinds.rollouts.app.dates import rollout_dates
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.explain.counts import count
from tidegate.kinds.rollouts.core.explain.notices import due
from tidegate.kinds.rollouts.core.explain.view import rollout_view
from tidegate.kinds.rollouts.core.journal import pending_tasks, record, replay, state
from tidegate.kinds.rollouts.core.journal.facts import (
    Decided,
    RolloutDeclared,
    RolloutTask,
    TargetsObserved,
)
from tidegate.kinds.rollouts.core.journal.shadow import shadow
from tidegate.kinds.rollouts.core.journal.state import RolloutState, target_names
from tidegate.kinds.rollouts.core.journal.stop import stopped_by
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.json_text import json_decoder
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict
from tidegate.store.port import TakenPlace

_decode = json_decoder(RolloutState)


class RolloutRules(Rules[RolloutState, RolloutWorld, RolloutPlan]):
    """A revision over ordered groups of targets."""

    word: ClassVar[str] = "rollouts"
    retries: ClassVar[bool] = True
    retries_groups: ClassVar[bool] = True
    noun: ClassVar[str] = "rollout"
    facts: ClassVar[tuple[type[Fact], ...]] = (
        RolloutDeclared,
        TargetsObserved,
        Decided,
        *SHARED_FACTS,
    )

    def empty(self) -> RolloutState:
        """Nothing is declared."""
        return RolloutState()

    def fold(self, known: RolloutState, at: Instant, fact: Fact, actor: str) -> RolloutState:
        """Take one fact into account."""
        return state.fold(known, at, fact, actor)

    def encode(self, known: RolloutState) -> bytes:
        """The state, to be kept."""
        return msgspec.json.encode(known)

    def decode(self, raw: bytes) -> RolloutState:
        """The state that was kept."""
        return _decode(raw)

    def under_way(self, known: RolloutState) -> UnderWay:
        """The revision under way, or the one that is declared."""
        declared = known.declared.revision if known.declared is not None else None
        current = known.rollout.revision
        return UnderWay(
            revision=current if current is not None else declared,
            since=known.began_at,
            responses=known.responses,
            brakes=known.brakes,
            frees=known.brakes is not None,
        )

    def world(
        self, known: RolloutState, brakes: Brakes, _now: Instant, _others: Others
    ) -> RolloutWorld | None:
        """The world under brakes; an empty list is recorded as none."""
        return state.world_of(known, effective(brakes))

    def decide(self, world: RolloutWorld, now: Instant) -> RolloutPlan:
        """The plan of a rollout."""
        return decide(world, now)

    def bound(self, known: RolloutState, world: RolloutWorld) -> Bound | None:
        """The brakes of a decision, where they are new."""
        return record.bound(known, world)

    def record(
        self,
        partition: str,
        seq: int,
        known: RolloutState,
        world: RolloutWorld,
        plan: RolloutPlan,
        now: Instant,
        mode: Mode,
    ) -> PlanRecord:
        """Tasks with keys, verdicts that changed, claims and places that are free again."""
        decided = record.record_plan(partition, seq, known, world, plan, now, mode)
        keys = {task.target: task.key for task in decided.tasks}
        claims = [
            TakenPlace(one.name, one.place, partition, keys[one.target], now) for one in plan.claims
        ]
        return PlanRecord(
            fact=decided,
            tasks=decided.tasks,
            is_news=_is_news(decided),
            recheck_at=plan.recheck_at,
            claims=claims,
            frees=sorted({claim.key for claim in plan.freed}),
        )

    def due(self, known: RolloutState, now: Instant) -> Sequence[Sequence[AnyTask]]:
        """Tasks without an outcome whose time has come."""
        return (pending_tasks.due_tasks(known, now),)

    def overdue(self, known: RolloutState, now: Instant) -> Sequence[AnyTask]:
        """Tasks that were not tried for too long."""
        return pending_tasks.overdue_tasks(known, now)

    def retry_at(self, known: RolloutState) -> Instant | None:
        """When the next pending task is tried."""
        return pending_tasks.next_retry(known)

    def withheld(
        self, known: RolloutState, tasks: Sequence[AnyTask], allow_mass_removal: bool
    ) -> Mapping[str, str]:
        """Removals of too many targets at once."""
        mine = [task for task in tasks if isinstance(task, RolloutTask)]
        return pending_tasks.withheld_removals(known, mine, allow_mass_removal)

    def unwanted(self, known: RolloutState, task: AnyTask) -> str:
        """Why a task is no longer wanted."""
        assert isinstance(task, RolloutTask)
        return pending_tasks.unwanted(known, task)

    def proposers(self, known: RolloutState, version: str) -> frozenset[str]:
        """The author of the revision that is declared."""
        declared = known.declared
        if declared is None or not declared.author or declared.revision != version:
            return frozenset()
        return frozenset((declared.author,))

    def labels(self, known: RolloutState) -> Mapping[str, Mapping[str, str]]:
        """The labels that are declared."""
        return known.declared.labels if known.declared is not None else {}

    def named(self, known: RolloutState) -> Iterable[str] | None:
        """The targets that are declared or reported."""
        return None if known.declared is None else target_names(known.declared, known.reports)

    def shut(
        self, _known: RolloutState, task: AnyTask, coverages: Coverages, now: Instant
    ) -> Verdict | None:
        """The brake that covers a task; whether it ends before a freeze was decided before."""
        assert isinstance(task, RolloutTask)
        ask = Ask(purpose=task.purpose, now=now, revision=task.change.revision, need=Duration(0))
        return shut_now(coverages.of(task.target), ask)

    def sent(self, known: RolloutState) -> Mapping[str, Instant]:
        """The keys of notices that were sent."""
        return known.told

    def notices(
        self,
        partition: str,
        known: RolloutState,
        world: RolloutWorld,
        plan: RolloutPlan,
        _now: Instant,
    ) -> DueNotices:
        """Start, stop, failures, approvals that are missing, and the end."""
        return due(partition, known.rollout, world, plan, known.told)

    def view(
        self,
        partition: str,
        known: RolloutState,
        world: RolloutWorld,
        plan: RolloutPlan,
        now: Instant,
    ) -> PartitionView:
        """The rows of a rollout."""
        origin = known.declared.origin if known.declared is not None else ""
        return rollout_view(partition, world, plan, now, origin, known.failed)

    def counts(
        self,
        _partition: str,
        _known: RolloutState,
        world: RolloutWorld,
        plan: RolloutPlan,
        _now: Instant,
    ) -> Counts:
        """A rollout in numbers; rows are not made for it."""
        return count(world, plan)

    def stopped_by(self, entries: Iterable[JournalEntry], plan: RolloutPlan) -> str:
        """The failures or the person that ended it."""
        return stopped_by(entries) if plan.summary is Summary.ABORTED else ""

    def dates(
        self,
        partition: str,
        known: RolloutState,
        world: RolloutWorld,
        now: Instant,
        entries: Iterable[JournalEntry],
        pace: DatePace,
        target: str | None,
    ) -> RolloutDates:
        """The rules, run ahead."""
        return rollout_dates(partition, known, world, now, entries, pace, target)

    def settings(self, known: RolloutState) -> Mapping[str, str]:
        """Soak, limits and deadline of its strategy."""
        return {} if known.declared is None else strategy_settings(known.declared.strategy)

    def assumed(self, known: RolloutState, settings: Mapping[str, str]) -> Fact:
        """The same declaration with another strategy."""
        assert known.declared is not None
        return with_settings(known.declared, settings)

    def shadow(self, entries: Iterable[JournalEntry], _others_then: OthersThen) -> Shadowed | None:
        """Every target that the other system started, beside our gates at the moment."""
        return shadow(entries)

    def no_shadow(self) -> str:
        """Another manager has its targets, and what it does is compared where they are adopted."""
        return (
            "`shadow` does not apply to this rollout: another manager has all its targets; for"
            " integrations, name their namespace: `tidegate shadow integrations/CLUSTER.NAMESPACE`"
        )

    def replay(
        self, entries: Iterable[JournalEntry], _others_then: OthersThen
    ) -> Iterable[Replayed]:
        """Every recorded decision, decided again."""
        return replay.replay(entries)


def effective(brakes: Brakes) -> Brakes | None:
    """The brakes, if there are any; None: nothing binds a rollout."""
    return brakes if brakes.claims or any(getattr(brakes, each) for each in LISTS) else None


def _is_news(decided: Decided) -> bool:
    """A round in which nothing changed and nothing is done is not worth a line.

    What is only observed follows from the verdicts, and would be the same in every round.
    """
    if decided.mode is Mode.OBSERVE:
        return bool(decided.changed)
    return bool(decided.changed or decided.tasks or decided.events or decided.forgotten)
