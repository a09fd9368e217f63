"""Who leads, where there is no journal that several processes share: a lease with a token."""

from typing import Protocol

from tidegate.journal.lease import Lease
from tidegate.model.time import Duration, Instant


class Leases(Protocol):
    """Leases by name, as one process sees them: its memory is its own, even under one name.

    Every call may take long, or fail with OutsideError: then nothing is known of the lease, and
    its holder keeps it until its end.
    """

    async def lease(self, name: str, holder: str, now: Instant, term: Duration) -> Lease | None:
        """Take or renew a lease, in whole seconds; None if another holds it.

        The token grows with every new holder, and when a holder comes back too late. The lease
        of another ends a term after *this* process saw it change last: no clocks are compared.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Give a lease back; the token stays used. An old one gives nothing back."""
        ...

    async def close(self) -> None:
        """Let go of whatever it holds open."""
        ...
