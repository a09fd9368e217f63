"""The leases of a worker: which partitions it leads, and what readers are told of it beside them.

A worker that follows asks for each lease once a second, which only reads; which worker leads is
looked up when it first finds that another does.
"""

import asyncio
from fnmatch import fnmatchcase

from tidegate.journal.lease import KeptLease, Lease, Look
from tidegate.machine.clock import Clock
from tidegate.model.errors import StaleError
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.port import Store

# Of an error, so much is kept beside a lease: it is told in full by the worker's own log.
TROUBLE_MAX = 300


class Leadership:
    """Takes, renews and gives back leases."""

    def __init__(
        self, store: Store, clock: Clock, holder: str, term: Duration, act: tuple[str, ...]
    ) -> None:
        self._store = store
        self._clock = clock
        self._holder = holder
        self._term = term
        self._act = act
        # When a round of a partition last ended.
        self._looked_at: dict[str, Instant] = {}
        # Why the last round of a partition saw nothing.
        self._troubles: dict[str, str] = {}
        # Partitions whose leader, another worker, was told.
        self._followed: set[str] = set()
        self._leases: tuple[Instant, dict[str, KeptLease]] = (Instant(0), {})

    def acts(self, partition: str) -> bool:
        """Whether a partition is acted on; if not, it is only observed."""
        return any(fnmatchcase(partition, pattern) for pattern in self._act)

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
        )

    async def take(self, partition: str) -> Lease | None:
        """Take or renew a lease; None if another worker has it."""
        now, look = self._clock.now(), self._look(partition)
        lease = await asyncio.to_thread(
            self._store.lease, partition, self._holder, now, self._term, look
        )
        if lease is not None:
            self._followed.discard(partition)
        return lease

    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        await asyncio.to_thread(self._store.release, lease, self._look(lease.partition))

    def lasts(self, lease: Lease | None) -> bool:
        """Whether a lease need not be renewed yet: over half of its term is left."""
        if lease is None:
            return False
        return self._term // 2 < lease.until - self._clock.now() <= self._term

    async def followed(self, partition: str) -> str:
        """The worker that leads a partition instead, the first time that is asked; else empty."""
        if partition in self._followed:
            return ""
        now = self._clock.now()
        read_at, known = self._leases
        # Partitions that find out together that another worker leads share one reading.
        if partition not in known or now - read_at > SECOND:
            known = await asyncio.to_thread(self._store.leases)
            self._leases = (now, known)
        record = known.get(partition)
        leader = record.lease.holder if record is not None and record.runs(now) else ""
        if leader:
            self._followed.add(partition)
        return leader
