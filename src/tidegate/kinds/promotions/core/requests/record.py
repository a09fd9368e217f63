"""What closed merge requests of a pipeline show: which batches failed, what a person declined.

We write the cause into a request right before we close it. One that is closed and names no cause
was closed by a person, who does not want to see it offered again.
"""

from collections.abc import Iterable

import msgspec

from tidegate.kinds.promotions.core.requests.data_block import RequestData
from tidegate.kinds.promotions.core.requests.model import (
    CloseCause,
    DeclinedRequest,
    FailedBatch,
)

# The cause of a request that a person closed.
DECLINED = "declined"


class ClosedRequest(msgspec.Struct, frozen=True):
    """A request that was closed without a merge, and its data."""

    number: int
    data: RequestData
    # Empty: the forge does not say.
    by: str = ""


def failed_batches(closed: Iterable[ClosedRequest]) -> tuple[FailedBatch, ...]:
    """Contents that failed a check together."""
    return tuple(
        FailedBatch(_contents(each.data), each.number)
        for each in sorted(closed, key=lambda one: one.number)
        if each.data.closed is CloseCause.FAILED
    )


def declined_requests(closed: Iterable[ClosedRequest]) -> tuple[DeclinedRequest, ...]:
    """Contents that a person closed a request of."""
    return tuple(
        DeclinedRequest(_contents(each.data), each.number, each.by)
        for each in sorted(closed, key=lambda one: one.number)
        if each.data.closed is None
    )


def closing_causes(closed: Iterable[ClosedRequest]) -> tuple[tuple[int, str], ...]:
    """The number of each, and the cause in a word; one that names none was closed by a person."""
    words = ((each.number, each.data.closed) for each in sorted(closed, key=lambda e: e.number))
    return tuple((number, DECLINED if cause is None else cause.value) for number, cause in words)


def _contents(data: RequestData) -> frozenset[str]:
    return frozenset(each.content for each in data.holds)
