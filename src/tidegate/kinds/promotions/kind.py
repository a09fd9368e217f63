"""Promotions as a worker runs them: the bundle and the forge are read, changes are offered.

The result of an offer is recorded at the end of the round that made it. A crash in between only
repeats the offer, which finds its merge request again.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tidegate.engine.kind import ACTOR, ActRefusedError, Kind
from tidegate.forge.port import Forge
from tidegate.gates.brakes import Brakes
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.kinds.promotions.app.observation import (
    WantedRevision,
    offer,
    partitions,
    read_promotion,
    requests_seen,
    wanted_revisions,
)
from tidegate.kinds.promotions.app.ports import PromotionPorts
from tidegate.kinds.promotions.core.decide import PromotionDecision
from tidegate.kinds.promotions.core.journal.facts import (
    MergeRequestSeen,
    Offered,
    PromotionRefused,
    PromotionTask,
)
from tidegate.kinds.promotions.core.journal.known import PromotionReading, PromotionState
from tidegate.kinds.promotions.core.journal.record import read_fact, verified_fact
from tidegate.kinds.promotions.core.journal.requested import still_requested
from tidegate.kinds.promotions.core.verification import EnvironmentRuns
from tidegate.kinds.promotions.core.world import (
    OfferState,
    PromotionWorld,
    RequestedVersion,
    VersionOffer,
)
from tidegate.kinds.promotions.rules import PromotionRules
from tidegate.machine.clock import Clock
from tidegate.model.errors import StaleError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.net.picture_links import PictureLinks

if TYPE_CHECKING:
    from tidegate.engine.round import Round

# A reading that is this old is read again.
EVERY = Duration(60 * SECOND)


class PromotionObservation(msgspec.Struct, frozen=True):
    """One reading of a promotion, of what runs, and of the merge requests of its open offers."""

    at: Instant
    reading: PromotionReading
    requests: tuple[MergeRequestSeen, ...] = ()
    runs: tuple[EnvironmentRuns, ...] = ()


class PromotionKind(Kind[PromotionState, PromotionWorld, PromotionDecision, PromotionObservation]):
    """The promotions that a bundle declares."""

    def __init__(
        self,
        ports: PromotionPorts,
        forge: Forge,
        clock: Clock,
        *,
        every: Duration = EVERY,
        pictures: PictureLinks | None = None,
    ) -> None:
        super().__init__(PromotionRules())
        self._pictures = pictures or PictureLinks()
        self._ports, self._forge, self._clock = ports, forge, clock
        self._every = every
        self._last: dict[str, PromotionObservation] = {}
        # Open offers as of the last round, and the results of acts that are not recorded yet.
        self._open: dict[str, tuple[VersionOffer, ...]] = {}
        # The versions that people requested, as of the last round.
        self._wanted: dict[str, dict[str, WantedRevision]] = {}
        self._made: dict[str, list[Offered | PromotionRefused]] = {}
        # Partitions with open offers whose merge requests were not read yet.
        self._unread: set[str] = set()
        self._woken: asyncio.Queue[str] = asyncio.Queue()
        # The repositories are used by one call at a time.
        self._lock = asyncio.Lock()

    async def partitions(self) -> list[str]:
        """One for each promotion."""
        async with self._lock:
            return list(await partitions(self._ports))

    async def changes(self) -> AsyncIterator[str]:
        """Promotions of which something was offered or refused."""
        while True:
            yield await self._woken.get()

    async def observe(self, partition: str) -> PromotionObservation:
        """The last reading, or a new one if that is too old."""
        last = self._last.get(partition)
        if last is not None and self._clock.now() - last.at < self._every:
            return last
        async with self._lock:
            wanted = self._wanted.get(partition)
            reading, runs = await read_promotion(self._ports, partition, wanted)
            requests = await requests_seen(self._forge, self._open.get(partition, ()))
        found = PromotionObservation(self._clock.now(), reading, tuple(requests), runs)
        self._last[partition] = found
        return found

    def news(
        self, state: PromotionState, seen: PromotionObservation, now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """What was offered since, and what the reading shows that is not known."""
        partition = f"{self.rules.word}/{seen.reading.promotion.name}"
        facts: list[Fact] = [*self._made.pop(partition, ())]
        known = {each.branch: each.state for each in state.offers.values()}
        # The first reading of a worker does not know yet what people requested.
        requested = still_requested(state, seen.reading.requested)
        if (read := read_fact(state, replace(seen.reading, requested=requested))) is not None:
            facts.append(read)
        facts += [each for each in seen.requests if known.get(each.branch) is OfferState.OPEN]
        if (verified := verified_fact(state, seen.reading.version, seen.runs)) is not None:
            facts.append(verified)
        self._expect(partition, state)
        return [(now, fact) for fact in facts]

    def _expect(self, partition: str, state: PromotionState) -> None:
        """Read what was requested and the merge requests of open offers next time.

        Soon, if some of it was not read yet.
        """
        offers = state.offers.values()
        found = tuple(each for each in offers if each.state is OfferState.OPEN)
        unread = {each.name for each in found} - {e.name for e in self._open.get(partition, ())}
        wanted, before = wanted_revisions(state), self._wanted.get(partition, {})
        unread |= {each.ident for each in wanted.values()} - {e.ident for e in before.values()}
        self._open[partition], self._wanted[partition] = found, wanted
        self._unread.discard(partition)
        if unread:
            self._unread.add(partition)
            self.observe_soon(partition)
            self._woken.put_nowait(partition)

    def rests(self, result: Any) -> bool:
        """Whether nothing more happens by itself: no merge request is still to be read."""
        return super().rests(result) and result.partition not in self._unread

    def observe_soon(self, partition: str) -> None:
        """Read again in the next round."""
        self._last.pop(partition, None)

    async def act(self, partition: str, state: PromotionState, task: Any) -> str:
        """Offer a change as a merge request; brakes are checked by the engine right before."""
        assert isinstance(task, PromotionTask)
        async with self._lock:
            made = await offer(
                self._ports,
                self._forge,
                partition,
                task.change,
                Brakes(),
                self._clock.now(),
                picture=self._pictures.of_task(partition, task.key),
                reason=_why(state, task),
                backward=_goes_back(state, task),
            )
        self._made.setdefault(partition, []).append(made)
        self.observe_soon(partition)
        self._woken.put_nowait(partition)
        if isinstance(made, Offered):
            return made.url or made.branch
        why = f"{made.by}: {made.why}"
        raise StaleError(why) if made.until is not None else ActRefusedError(why)

    async def after_round(self, round_: "Round") -> Mapping[str, str]:
        """Record what was offered or refused."""
        made = self._made.pop(round_.part.partition, [])
        if made:
            notes = [JournalNote(round_.clock.now(), ACTOR, fact) for fact in made]
            await asyncio.to_thread(round_.part.write, notes, token=round_.lease.token)
        return {}

    def on_lease_lost(self, partition: str) -> None:
        """Another worker leads it, and reads it anew."""
        self._last.pop(partition, None)
        self._open.pop(partition, None)
        self._wanted.pop(partition, None)
        self._unread.discard(partition)
        self._made.pop(partition, None)


def _requests(state: PromotionState, task: PromotionTask) -> Iterable[RequestedVersion]:
    """What people requested of the environments of a task."""
    found = (state.requests.get(each) for each in task.change.environments)
    return (each for each in found if each is not None and each.ident == task.change.request)


def _goes_back(state: PromotionState, task: PromotionTask) -> bool:
    return any(each.backward for each in _requests(state, task))


def _why(state: PromotionState, task: PromotionTask) -> str:
    """Why it was requested, and by which actor; empty: it was not."""
    return next((f"{each.reason} ({each.by})" for each in _requests(state, task)), "")
