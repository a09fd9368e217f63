"""Where the estate is read from."""

from typing import Protocol

from tidegate.kinds.integrations.core.workloads.estate import Estate


class Estates(Protocol):
    """Somebody's bundle, as it is now."""

    async def read(self) -> Estate:
        """Everything it comes to; OutsideError if it cannot be read."""
        ...
