"""Simulated leases: records that several processes see, each with a memory of its own."""

import msgspec

from tidegate.journal.lease import Lease
from tidegate.model.time import SECOND, Duration, Instant, after


class LeaseRecord(msgspec.Struct, frozen=True):
    """The public record of a lease; `holder` is empty once it was given back."""

    version: int
    holder: str
    token: int
    term: Duration


class SimulatedLeases:
    """The leases of a cluster as one process sees them; the records are shared."""

    def __init__(self, records: dict[str, LeaseRecord]) -> None:
        self._records = records
        # The version of a record, and when this process saw it first.
        self._seen: dict[str, tuple[int, Instant]] = {}
        self._held: dict[str, Lease] = {}

    async def lease(self, name: str, holder: str, now: Instant, term: Duration) -> Lease | None:
        """Take or renew a lease; None if another holds it."""
        record = self._records.get(name)
        if record is None:
            return self._write(LeaseRecord(1, holder, 1, term), name, now)
        held = self._held.get(name)
        if held is not None and (held.holder, held.token) == (record.holder, record.token):
            taken = held.holder == holder and now < held.until
            token = record.token + (0 if taken else 1)
            if held.holder == holder:
                return self._write(LeaseRecord(record.version + 1, holder, token, term), name, now)
        if record.holder and not self._expired(name, record, now):
            return None
        fresh = LeaseRecord(record.version + 1, holder, record.token + 1, term)
        return self._write(fresh, name, now)

    async def release(self, lease: Lease) -> None:
        """Give a lease back; the token stays used."""
        record = self._records.get(lease.partition)
        held = self._held.pop(lease.partition, None)
        if held is None or record is None:
            return
        if (record.holder, record.token) == (lease.holder, lease.token):
            given = LeaseRecord(record.version + 1, "", record.token, record.term)
            self._records[lease.partition] = given

    async def close(self) -> None:
        """Nothing is held open."""

    def _expired(self, name: str, record: LeaseRecord, now: Instant) -> bool:
        seen = self._seen.get(name)
        if seen is None or seen[0] != record.version:
            self._seen[name] = (record.version, now)
            return False
        # Whole seconds, as a record keeps them.
        return now >= seen[1] - (-record.term // SECOND) * SECOND

    def _write(self, record: LeaseRecord, name: str, now: Instant) -> Lease:
        self._records[name] = record
        self._seen[name] = (record.version, now)
        lease = Lease(name, record.holder, record.token, after(now, record.term))
        self._held[name] = lease
        return lease
