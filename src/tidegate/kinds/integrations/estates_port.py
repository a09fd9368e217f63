"""Where the estate is read from."""

from typing import Protocol

from tidegate.kinds.integrations.core.workloads.estate import Estate


class Estates(Protocol):
    """A bundle, as it is now."""

    async def read(self) -> Estate:
        """Its estate; OutsideError if it cannot be read."""
        ...
