"""A lease: by which a process alone may write to a partition, wherever leases are kept."""

import msgspec

from tidegate.model.time import Duration, Instant

# A worker that leads nothing holds one of standby:0, standby:1, …, which are no partitions: so the
# journal says that it is there, and has no more of them than there ever were at once.
STANDBY = "standby:"


class Lease(msgspec.Struct, frozen=True):
    """The right to write to a partition, until a moment. The token grows with every new holder."""

    partition: str
    holder: str
    token: int
    until: Instant


class Look(msgspec.Struct, frozen=True):
    """The last look of a worker at a partition: facts say what changed, this says until when."""

    by: str
    # Whether it acts on what it decides, or only observes.
    acts: bool
    # When a round last ended, its own or of the worker before it; None: none did yet.
    at: Instant | None = None
    # Why nothing was seen since; empty: nothing went wrong.
    trouble: str = ""
    # How long it goes without a round at most; 0: no longer than a lease, as of old.
    every: Duration = Duration(0)
    # Whether it was left because its source lists it no more.
    left: bool = False


class LeaseRequest(msgspec.Struct, frozen=True):
    """A worker with fewer partitions asks the holder of a lease for it."""

    by: str
    # Whether it would act, or only observe.
    acts: bool
    # From then on it is void: the worker is gone, or has enough.
    until: Instant


class KeptLease(msgspec.Struct, frozen=True):
    """A lease as a journal keeps it, with the last look under it."""

    # An empty holder: it was given back.
    lease: Lease
    # How long it is given for at a time; 0: an older Tidegate did not say.
    term: Duration = Duration(0)
    # None: an older Tidegate did not say.
    look: Look | None = None
    wish: LeaseRequest | None = None

    def wished(self, now: Instant) -> LeaseRequest | None:
        """Which worker asks for it at this moment."""
        wish = self.wish
        return wish if wish is not None and wish.until > now else None

    def runs(self, now: Instant) -> bool:
        """Whether a holder has it at this moment."""
        return bool(self.lease.holder) and self.lease.until > now
