"""The rules of promotions, as the engine and every reader use them; a partition is a promotion."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from tidegate.engine.kind import Others, OthersThen, PlanRecord, Rules, UnderWay
from tidegate.engine.kind import Task as AnyTask
from tidegate.explain.notice import DueNotices
from tidegate.explain.view import PartitionView
from tidegate.gates.ask import Ask, Purpose, shut_now
from tidegate.gates.brakes import Brakes, Coverages
from tidegate.git.history import SHORT, Ancestry
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import SHARED_FACTS, Bound
from tidegate.journal.keys import task_key
from tidegate.journal.replay import Replayed
from tidegate.kinds.promotions.core.decide import KIND, PromotionDecision, decide
from tidegate.kinds.promotions.core.explain.notices import promotion_notices
from tidegate.kinds.promotions.core.explain.view import promotion_view
from tidegate.kinds.promotions.core.journal import record, replay, state, tasks
from tidegate.kinds.promotions.core.journal.facts import PROMOTION_FACTS, PromotionTask
from tidegate.kinds.promotions.core.journal.known import (
    PromotionReading,
    PromotionState,
    world_of,
)
from tidegate.kinds.promotions.core.world import PromotionWorld, RequestedVersion
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict
from tidegate.store.port import TakenPlace


class PromotionRules(Rules[PromotionState, PromotionWorld, PromotionDecision]):
    """The newest version of an artifact through environments, by merge requests."""

    word: ClassVar[str] = KIND
    retries: ClassVar[bool] = True
    noun: ClassVar[str] = "promotion"
    target_noun: ClassVar[str] = "environment"
    facts: ClassVar[tuple[type[Fact], ...]] = (*PROMOTION_FACTS, *SHARED_FACTS)

    def empty(self) -> PromotionState:
        """Nothing was read."""
        return PromotionState()

    def fold(self, known: PromotionState, at: Instant, fact: Fact, actor: str) -> PromotionState:
        """Take one fact into account."""
        return state.fold(known, at, fact, actor)

    def encode(self, known: PromotionState) -> bytes:
        """The state, to be kept."""
        return state.encode(known)

    def decode(self, raw: bytes) -> PromotionState:
        """The state that was kept."""
        return state.decode(raw)

    def under_way(self, known: PromotionState) -> UnderWay:
        """The newest version, since its first offer."""
        version = known.read.version if known.read is not None else ""
        offers = [each for each in known.offers.values() if each.version == version]
        return UnderWay(
            revision=version or None,
            since=min((each.offered_at for each in offers), default=None),
            responses=known.responses,
            brakes=known.brakes,
            frees=known.brakes is not None,
        )

    def world(
        self, known: PromotionState, brakes: Brakes, _now: Instant, _others: Others
    ) -> PromotionWorld | None:
        """The world under the brakes that cover an environment."""
        return world_of(known, brakes)

    def decide(self, world: PromotionWorld, now: Instant) -> PromotionDecision:
        """Which environments get the newest version now."""
        return decide(world, now)

    def bound(self, known: PromotionState, world: PromotionWorld) -> Bound | None:
        """The brakes of a decision, where they are new."""
        found = None if world.brakes == Brakes() else world.brakes
        return None if found == known.brakes else Bound(brakes=found)

    def record(
        self,
        partition: str,
        seq: int,
        known: PromotionState,
        world: PromotionWorld,
        plan: PromotionDecision,
        now: Instant,
        mode: Mode,
    ) -> PlanRecord:
        """The change with its key, verdicts that changed, claims and places that are free again."""
        decided = record.decided_fact(partition, seq, known, world, plan, now, mode)
        acts = mode is Mode.ACT
        return PlanRecord(
            fact=decided,
            tasks=decided.tasks,
            is_news=bool(decided.changed or (decided.tasks and acts)),
            recheck_at=decided.recheck_at,
            # A place is claimed for each environment: each is freed when its own way has ended.
            claims=[
                TakenPlace(
                    one.name, one.place, partition, task_key(partition, str(seq), one.target), now
                )
                for one in plan.claims
            ],
            frees=sorted({each.key for each in plan.freed}),
        )

    def due(self, known: PromotionState, now: Instant) -> Sequence[Sequence[AnyTask]]:
        """Changes without an outcome whose time has come."""
        return (tasks.due_tasks(known, now),)

    def overdue(self, known: PromotionState, now: Instant) -> Sequence[AnyTask]:
        """Changes that were not tried for too long."""
        return tasks.overdue_tasks(known, now)

    def retry_at(self, known: PromotionState) -> Instant | None:
        """When the next pending change is tried."""
        return tasks.next_retry(known)

    def unwanted(self, known: PromotionState, task: AnyTask) -> str:
        """Why a change is no longer wanted."""
        assert isinstance(task, PromotionTask)
        return tasks.unwanted(known, task)

    def proposers(self, known: PromotionState, version: str) -> frozenset[str]:
        """The authors of the commits that some environment does not have yet.

        Where there are more commits than a reading has, not all of them are known: so none is. A
        person who requests a version proposes it, too.
        """
        if known.read is None:
            return frozenset()
        mine = (one for one in known.read.requested.values() if one.version == version)
        read = next(mine, known.read)
        # A version behind what is written brings nothing there: its number is of what is lost.
        brings = (each for each in read.relations.values() if each.ancestry is not Ancestry.BEHIND)
        if any(each.commits > len(read.commits) for each in brings):
            return frozenset()
        asked = {one.by for one in known.requests.values() if _wants(known.read, one, version)}
        named = {name for each in read.commits for name in (each.email, each.author) if name}
        return frozenset(named | asked)

    def labels(self, known: PromotionState) -> Mapping[str, Mapping[str, str]]:
        """Environments have no labels: brakes name them."""
        if known.read is None:
            return {}
        return {each.name: {} for each in known.read.promotion.environments}

    def named(self, known: PromotionState) -> Iterable[str] | None:
        """The environments."""
        return None if known.read is None else self.labels(known)

    def shut(
        self, _known: PromotionState, task: AnyTask, coverages: Coverages, now: Instant
    ) -> Verdict | None:
        """The brake that covers any environment of a change."""
        assert isinstance(task, PromotionTask)
        version = task.change.version[:SHORT]
        ask = Ask(purpose=Purpose.ROLL_OUT, now=now, revision=version, need=Duration(0))
        found = (shut_now(coverages.of(name), ask) for name in task.change.environments)
        return next((each for each in found if each is not None), None)

    def sent(self, known: PromotionState) -> Mapping[str, Instant]:
        """The keys of notices that were sent."""
        return known.told

    def notices(
        self,
        partition: str,
        known: PromotionState,
        world: PromotionWorld,
        plan: PromotionDecision,
        now: Instant,
    ) -> DueNotices:
        """Offers, failures, missing approvals, a stop, and the end."""
        return promotion_notices(partition, world, plan, known.told, now)

    def view(
        self,
        partition: str,
        _known: PromotionState,
        world: PromotionWorld,
        plan: PromotionDecision,
        now: Instant,
    ) -> PartitionView:
        """The rows of a promotion."""
        return promotion_view(partition, world, plan, now)

    def replay(
        self, entries: Iterable[JournalEntry], _others_then: OthersThen
    ) -> Iterable[Replayed]:
        """Every recorded decision, decided again."""
        return replay.replay(entries)

    def no_dates(self) -> str:
        """A merge request waits for people, and so has no date."""
        return "`when` does not apply to promotions: they wait for a merge; use `why env/NAME`"


def _wants(read: PromotionReading, request: RequestedVersion, version: str) -> bool:
    found = read.requested.get(request.ident)
    return (request.ref if found is None else found.version) == version
