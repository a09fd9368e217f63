"""Upgrades as a worker tends them: an organisation a partition, a round when it was looked at.

Observe, decide, record, act: what was read is written down with what is decided on it, before
anything is asked of OpenShift Cluster Manager. A round is called for by a look, by time, and by
whoever sets a brake; it acts only on a look that is fresh, and asks for one where it is not.
"""

from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any

import msgspec

from tidegate.engine.acting import ACTOR
from tidegate.engine.brake_book import BrakeBook
from tidegate.engine.desk import AnyDesk
from tidegate.engine.kind import Ended
from tidegate.gates.brakes import Brakes
from tidegate.journal.chain import Note
from tidegate.journal.facts import Mode, Outcome
from tidegate.kinds.upgrades.app.acting import Hands, UpgradeDesk
from tidegate.kinds.upgrades.app.ledgers import Ledgers, upgrade_desk
from tidegate.kinds.upgrades.app.noticing import notice
from tidegate.kinds.upgrades.app.recording import Made, Recorded, decide_and_record
from tidegate.kinds.upgrades.app.sight import Look, Sight
from tidegate.kinds.upgrades.app.telling import tell
from tidegate.kinds.upgrades.core.journal.facts import Job, Planned
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.legacy_plan import Theirs
from tidegate.kinds.upgrades.core.rules.agreeing import worth_telling
from tidegate.kinds.upgrades.core.rules.plan import Telling, UpgradePlan
from tidegate.kinds.upgrades.core.upcoming import upcoming
from tidegate.kinds.upgrades.core.world import World
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Lease, Store

# So old may a look be on which something is done.
FRESH = Duration(60 * SECOND)
# How long a round waits for a first look.
SOON = Duration(5 * SECOND)


class UpgradeRound(Ended, frozen=True, kw_only=True):
    """What came of a round: what was written down, and what it was decided from."""

    planned: Planned | None = None
    world: World | None = None
    plan: UpgradePlan | None = None
    agreeing: UpgradePlan | None = None
    # Where the existing service's rules decided.
    theirs: Theirs | None = None
    outcomes: tuple[tuple[Job, Outcome], ...] = ()
    # How long the look it was decided on took, and how old it is.
    look_s: float = 0.0
    age_s: float = 0.0
    # Requests made of its OpenShift Cluster Manager so far, by method.
    calls: Mapping[str, int] = {}


class Upgrades:
    """The organisations that are served."""

    def __init__(self, sight: Sight, hands: Hands, fresh: Duration = FRESH) -> None:
        self._sight = sight
        self._hands = hands
        self._fresh = fresh
        # One for each store a desk was made for; in practice one.
        self._ledgers: dict[int, Ledgers] = {}
        # What each was decided on last: as long as that is so, there is nothing to decide.
        self._last: dict[str, _Basis] = {}

    async def partitions(self) -> list[str]:
        """Everybody who is served."""
        return sorted(self._sight.served)

    def changes(self) -> AsyncIterator[str]:
        """Whoever was looked at."""
        return self._sight.changes()

    def desk(self, store: Store, partition: str, book: BrakeBook) -> AnyDesk[UpgradeState]:
        """The desk of an organisation."""
        desk = upgrade_desk(store, partition, book)
        known = self._ledgers.get(id(book))
        self._ledgers[id(book)] = known or Ledgers(store, book, self._sight.served)
        return desk

    async def round(
        self, desk: UpgradeDesk, clock: Clock, lease: Lease, mode: Mode
    ) -> UpgradeRound:
        """Observe, decide, record, act."""
        look = self._sight.look(desk.partition)
        now = clock.now()
        if look is None:
            return UpgradeRound(recheck_at=Instant(now + SOON))
        head = await to_thread(desk.catch_up)
        brakes = await to_thread(desk.book.read, now)
        last = self._last.pop(desk.partition, None)
        if last is not None and last.holds(look, brakes, head.seq, now):
            self._last[desk.partition] = last
            return UpgradeRound(recheck_at=last.recheck_at)
        if _is_new(desk.state, look):
            registration = self._sight.served[desk.partition]
            news = await to_thread(notice, desk.state, look, registration, look.ended_at)
            desk.stage([Note(look.ended_at, ACTOR, news)])
        troubles = await desk.book.gather_for(None, None, now, desk.wake)
        fresh = now - look.ended_at <= self._fresh
        acting = Mode.ACT if mode is Mode.ACT and fresh else Mode.OBSERVE
        ledgers = self._ledgers[id(desk.book)]
        recorded = await to_thread(decide_and_record, desk, ledgers, lease, head, now, acting)
        if recorded is None:
            return UpgradeRound(recheck_at=Instant(now + SOON))
        if mode is Mode.ACT and not fresh and recorded.planned.tasks:
            self._sight.ask(desk.partition)
        outcomes: tuple[tuple[Job, Outcome], ...] = ()
        if acting is Mode.ACT:
            manager = self._sight.manager_of(desk.partition)
            outcomes = tuple(await self._hands.carry_out(desk, manager, clock, lease))
            told = self._tellings(recorded.made, outcomes, now, desk.partition)
            troubles |= await tell(desk, manager, clock, lease, told)
        ended = self._ended(recorded, look, now, outcomes, troubles, desk.partition)
        seq, again = desk.next_seq - 1, recorded.planned.recheck_at
        self._last[desk.partition] = _Basis(look.ended_at, brakes, seq, again)
        return ended

    def _tellings(
        self,
        made: Made,
        outcomes: tuple[tuple[Job, Outcome], ...],
        now: Instant,
        partition: str,
    ) -> tuple[Telling, ...]:
        """What owners can mend, and what starts soon where they want to know."""
        told = tuple(worth_telling(made.plan, made.agreeing))
        if not self._sight.served[partition].notice:
            return told
        done = [(job.target, job.change) for job, outcome in outcomes if outcome is Outcome.DONE]
        return (*told, *upcoming(made.plan, done, now))

    def _ended(
        self,
        recorded: Recorded,
        look: Look,
        now: Instant,
        outcomes: tuple[tuple[Job, Outcome], ...],
        troubles: dict[str, str],
        partition: str,
    ) -> UpgradeRound:
        made = recorded.made
        return UpgradeRound(
            planned=recorded.planned,
            world=made.world,
            plan=made.plan,
            agreeing=made.agreeing,
            theirs=made.theirs,
            outcomes=outcomes,
            recheck_at=recorded.planned.recheck_at,
            troubles=troubles,
            frees=recorded.frees,
            look_s=look.took_s,
            age_s=(now - look.ended_at) / SECOND,
            calls=dict(self._sight.manager_of(partition).calls()),
        )

    async def told(self, _desk: UpgradeDesk, _clock: Clock, _lease: Lease, _ended: Any) -> None:
        """Owners were told in the round itself."""

    def left(self, partition: str) -> None:
        """Somebody else leads it, and looks."""
        self._sight.forget(partition)

    def beside(self, _wake: Callable[[str], None]) -> Coroutine[Any, Any, None] | None:
        """Looking goes on through `changes`."""
        return None

    def stop(self) -> None:
        """Ask for nothing more."""
        self._hands.stopping = True


class _Basis(msgspec.Struct, frozen=True):
    """What a decision rests on."""

    looked_at: Instant
    brakes: Brakes
    seq: int
    recheck_at: Instant | None

    def holds(self, look: Look, brakes: Brakes, seq: int, now: Instant) -> bool:
        """Whether nothing has changed since, and time alone changes nothing either."""
        shares = brakes.budgets or brakes.mutexes or brakes.health
        later = self.recheck_at is not None and now >= self.recheck_at
        same = (look.ended_at, seq) == (self.looked_at, self.seq) and brakes is self.brakes
        return same and not shares and not later


def _is_new(state: UpgradeState, look: Look) -> bool:
    return state.surveyed_at is None or look.ended_at > state.surveyed_at
