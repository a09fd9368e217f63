"""A lease: by which a process alone may write to a partition, wherever leases are kept."""

import msgspec

from tidegate.model.time import Instant


class Lease(msgspec.Struct, frozen=True):
    """The right to write to a partition, until a moment. The token grows with every new holder."""

    partition: str
    holder: str
    token: int
    until: Instant
