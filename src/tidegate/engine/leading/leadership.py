"""The leases of a worker: which partitions it leads, and what readers are told of it beside them.

All leases are renewed together, three times in a term. A worker that does not lead all that it
could reads every lease once a second, in one question, and takes, asks for or gives up some
(`share.py`).
"""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase

from tidegate.engine.batch import Batcher
from tidegate.engine.leading.share import ShareStep, ShareView, free_ones, share_step
from tidegate.journal.lease import STANDBY, KeptLease, Lease, LeaseRequest, Look
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Store

# Of an error, so much is kept beside a lease: it is told in full by the worker's own log.
TROUBLE_MAX = 300
# Leases are renewed so often in a term: one answer that fails to come loses none of them.
RENEWALS = 3
# Looks of a worker that follows are further apart by a second for every so many partitions.
LOOKED_A_SECOND = 5_000


class Leadership:
    """Takes, renews and gives back leases."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        holder: str,
        term: Duration,
        act: tuple[str, ...],
        every: Duration,
        shares: bool,
    ) -> None:
        """`every`: how long it goes without a round. `shares`: whether it asks others for some."""
        self._store = store
        self._clock = clock
        self._holder = holder
        self._term = term
        self._act = act
        self._every = every
        self._take: Batcher[str, Lease | None] = Batcher(self._took)
        self._release: Batcher[Lease, None] = Batcher(self._released)
        self._acted: dict[str, bool] = {}
        self._shares = shares
        # When a round of a partition last ended.
        self._looked_at: dict[str, Instant] = {}
        # Why the last round of a partition saw nothing.
        self._troubles: dict[str, str] = {}
        # Partitions that are listed no more.
        self._left: set[str] = set()
        # Partitions whose leader, another worker, was told.
        self._followed: set[str] = set()
        self._known: dict[str, KeptLease] = {}
        self._held: dict[str, Lease] = {}
        # Partitions that are ours to take, and ours to give up, since the last look.
        self._takes: set[str] = set()
        self._gives: set[str] = set()
        self._free_since: dict[str, Instant] = {}
        self._is_wished = False
        # By which the journal says that we stand by; None: we lead something.
        self._standing: Lease | None = None
        self._standbys: dict[str, KeptLease] = {}

    def acts(self, partition: str) -> bool:
        """Whether a partition is acted on; if not, it is only observed."""
        known = self._acted.get(partition)
        if known is None:
            known = any(fnmatchcase(partition, pattern) for pattern in self._act)
            self._acted[partition] = known
        return known

    def looked(self, partition: str) -> None:
        """A round that saw the outside has just ended."""
        self._looked_at[partition] = self._clock.now()
        self._troubles.pop(partition, None)

    def failed(self, partition: str, error: Exception) -> None:
        """A round ended by an error: what is known of the partition grows old."""
        if isinstance(error, StaleError):  # that another process wrote meanwhile is no trouble
            return
        self._troubles[partition] = (str(error) or type(error).__name__)[:TROUBLE_MAX]

    def _look(self, partition: str) -> Look:
        return Look(
            by=self._holder,
            acts=self.acts(partition),
            at=self._looked_at.get(partition),
            trouble=self._troubles.get(partition, ""),
            every=self._every,
            left=partition in self._left,
        )

    def leave(self, partition: str) -> None:
        """A partition is listed no more: readers are told so once its lease is given back."""
        self._left.add(partition)

    def held(self, partition: str) -> Lease | None:
        """The lease of a partition as it was renewed last; None: it is not ours."""
        return self._held.get(partition)

    def gives(self, partition: str) -> bool:
        """Whether a partition that we lead is to be given to another worker."""
        return partition in self._gives

    async def take(self, partition: str) -> Lease | None:
        """Take or renew a lease; None if another worker has it, or is to have it."""
        if partition not in self._held and partition not in self._takes:
            return None
        self._left.discard(partition)
        lease = await self._take(partition)
        self._takes.discard(partition)
        self._held.pop(partition, None)
        if lease is not None:
            self._held[partition] = lease
            self._followed.discard(partition)
        return lease

    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        self._held.pop(lease.partition, None)
        self._gives.discard(lease.partition)
        await self._release(lease)

    async def end(self, lease: Lease, report: Callable[[Exception], None]) -> None:
        """Give a lease back; where that fails, it expires."""
        try:
            await self.release(lease)
        except (OutsideError, StaleError, OSError) as error:
            report(error)

    async def _took(self, names: list[str]) -> list[Lease | None]:
        """Leases that are asked for at the same time are one transaction."""
        looks = {each: self._look(each) for each in names}
        now = self._clock.now()
        done = await asyncio.to_thread(self._store.take_many, self._holder, looks, now, self._term)
        return [done.get(each) for each in names]

    async def _released(self, leases: list[Lease]) -> list[None]:
        given = [(each, self._look(each.partition)) for each in leases]
        await asyncio.to_thread(self._store.release_many, given)
        return [None] * len(leases)

    def lasts(self, lease: Lease | None) -> bool:
        """Whether a lease need not be renewed yet: over half of its term is left."""
        if lease is None:
            return False
        return self._term // 2 < lease.until - self._clock.now() <= self._term

    def followed(self, partition: str) -> str:
        """The worker that leads a partition instead, the first time that is asked; else empty."""
        record = self._known.get(partition)
        leads = record is not None and record.runs(self._clock.now())
        if record is None or not leads or partition in self._followed:
            return ""
        if record.lease.holder == self._holder:
            return ""  # we have just given it back: who has it now is seen by the next look
        self._followed.add(partition)
        return record.lease.holder

    async def look(self, runs: Collection[str]) -> list[str]:
        """Read all leases; the partitions to take or to give up now, of those that we run."""
        every = await asyncio.to_thread(self._store.leases)
        self._known = {name: each for name, each in every.items() if not name.startswith(STANDBY)}
        self._standbys = {name: each for name, each in every.items() if name.startswith(STANDBY)}
        now = self._clock.now()
        free = free_ones(runs, self._known, now)
        self._free_since = {each: self._free_since.get(each, now) for each in free}
        mine = {each: self.acts(each) for each in sorted(runs)}
        step = share_step(ShareView(self._holder, mine, self._known, self._free_since, now))
        # A lease whose answer was lost is ours, too.
        lost = [each for each in runs if self._is_ours(each, now) and each not in self._held]
        self._takes = {*step.take, *lost}
        self._gives = set(step.give) & self._held.keys()
        await self._ask(step, now)
        return [*sorted(self._takes), *sorted(self._gives)]

    def _is_ours(self, partition: str, now: Instant) -> bool:
        record = self._known.get(partition)
        return record is not None and record.runs(now) and record.lease.holder == self._holder

    async def _ask(self, step: ShareStep, now: Instant) -> None:
        """Write down which partitions of others are wanted."""
        if step.wish and self._shares:
            for acts in (True, False):
                some = [each for each in step.wish if self.acts(each) is acts]
                wish = LeaseRequest(self._holder, acts, Instant(now + self._term))
                if some:
                    await asyncio.to_thread(self._store.wish, some, wish, now)

    async def renew(self) -> list[str]:
        """Renew all leases; the partitions that were lost."""
        before = dict(self._held)
        if not before:
            return []
        looks = {each: self._look(each) for each in before}
        now = self._clock.now()
        done = await asyncio.to_thread(self._store.renew, self._holder, looks, now, self._term)
        lost: list[str] = []
        for each, lease in before.items():
            if self._held.get(each) is not lease:
                continue  # it was taken anew or given back meanwhile
            if each in done:
                self._held[each] = done[each].lease
            else:
                del self._held[each]
                lost.append(each)
        self._is_wished = any(
            (wish := each.wished(now)) is not None and wish.by != self._holder
            for each in done.values()
        )
        return lost

    async def stand_by(self) -> None:
        """Have the journal say that we are there, if we lead nothing; and else no more."""
        if self._held:
            await self._rise()
            return
        now = self._clock.now()
        slot = self._standing.partition if self._standing is not None else self._free_slot(now)
        look = Look(by=self._holder, acts=bool(self._act), at=now, every=self._every)
        self._standing = await asyncio.to_thread(
            self._store.lease, slot, self._holder, now, self._term, look
        )

    def _free_slot(self, now: Instant) -> str:
        names = (f"{STANDBY}{number}" for number in itertools.count())
        taken = {name for name, each in self._standbys.items() if each.runs(now)}
        return next(name for name in names if name not in taken)

    async def _rise(self) -> None:
        """Stand by no more; where that cannot be written, it expires."""
        standing, self._standing = self._standing, None
        if standing is not None:
            with contextlib.suppress(OutsideError, StaleError, OSError):
                await asyncio.to_thread(self._store.release, standing)

    async def run(
        self,
        runs: Callable[[], Collection[str]],
        wake: Callable[[str], None],
        report: Callable[[Exception], None],
        follow_s: float,
    ) -> None:
        """Keep what is ours, and see that it is as much as others have; never ends."""
        try:
            await self._keep(runs, wake, report, follow_s)
        finally:
            await asyncio.shield(self._rise())

    async def _keep(
        self,
        runs: Callable[[], Collection[str]],
        wake: Callable[[str], None],
        report: Callable[[Exception], None],
        follow_s: float,
    ) -> None:
        renews_s = self._term / SECOND / RENEWALS
        loop = asyncio.get_running_loop()
        due = loop.time() + renews_s
        while True:
            follows = not runs() or len(self._held) < len(runs())
            left_s = max(0.0, due - loop.time())
            # Of 10,000 partitions a look takes a tenth of a second.
            look_s = follow_s + len(runs()) / LOOKED_A_SECOND
            await asyncio.sleep(min(look_s, left_s) if follows else left_s)
            try:
                changed: list[str] = []
                if loop.time() >= due:
                    due = loop.time() + renews_s
                    changed += await self.renew()
                    if runs() and self._shares:
                        await self.stand_by()
                if self._is_wished or len(self._held) < len(runs()):
                    changed += await self.look(runs())
            except (OutsideError, OSError) as error:
                report(error)
                await asyncio.sleep(min(follow_s, renews_s))
                continue
            for each in changed:
                wake(each)
