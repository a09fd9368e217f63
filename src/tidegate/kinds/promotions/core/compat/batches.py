"""Which merge requests the existing manager closes and opens for the promotions it wants.

In order: a batch that failed its check is taken apart into requests of one promotion each, which
are never batched again; a request with content that is not wanted any more is closed; what no open
request holds is put together, up to the limit, with the open batch that still has room.
"""

import enum
from collections.abc import Iterable, Sequence

import msgspec

BATCH_LIMIT = 5


class CloseReason(enum.Enum):
    """Why a request is closed."""

    MISSING_UNBATCHING = "MISSING_UNBATCHING"
    OUTDATED_CONTENT = "OUTDATED_CONTENT"
    NEW_BATCH = "NEW_BATCH"


class WantedPromotion(msgspec.Struct, frozen=True):
    """Content that shall be promoted, by its hashes, and the channels it is for."""

    hashes: frozenset[str]
    channels: frozenset[str]


class OpenRequest(msgspec.Struct, frozen=True):
    """An open merge request of the manager."""

    hashes: frozenset[str]
    channels: frozenset[str]
    failed: bool = False
    batchable: bool = True


class NewRequest(msgspec.Struct, frozen=True):
    """A merge request to open."""

    hashes: frozenset[str]
    channels: frozenset[str]
    batchable: bool


class RequestChanges(msgspec.Struct, frozen=True):
    """What is closed, with the reason, and what is opened, both in order."""

    closed: tuple[tuple[OpenRequest, CloseReason], ...]
    opened: tuple[NewRequest, ...]


def batch(
    wanted: Sequence[WantedPromotion], requests: Sequence[OpenRequest], limit: int = BATCH_LIMIT
) -> RequestChanges:
    """The changes that make the open requests hold exactly what is wanted."""
    closed: list[tuple[OpenRequest, CloseReason]] = []
    remaining: list[OpenRequest] = []
    for each in requests:
        if each.batchable and each.failed:
            closed.append((each, CloseReason.MISSING_UNBATCHING))
        else:
            remaining.append(each)
    alone = _hashes(each for each in requests if not each.batchable)
    apart = _hashes(each for each, _ in closed)
    opened: list[NewRequest] = []
    rest: list[WantedPromotion] = []
    for one in wanted:
        if one.hashes <= apart and not one.hashes <= alone:
            opened.append(NewRequest(one.hashes, one.channels, batchable=False))
        else:
            rest.append(one)

    current = _hashes(rest)
    kept: list[OpenRequest] = []
    for each in remaining:
        if each.hashes <= current:
            kept.append(each)
        else:
            closed.append((each, CloseReason.OUTDATED_CONTENT))

    offered = _hashes(kept)
    missing = [one for one in rest if not one.hashes <= offered]
    if missing:
        room = next((one for one in kept if one.batchable and len(one.hashes) < limit), None)
        if room is not None:
            closed.append((room, CloseReason.NEW_BATCH))
            missing.append(WantedPromotion(room.hashes, room.channels))
        opened += _batches(missing, limit)
    return RequestChanges(tuple(closed), tuple(opened))


def _batches(promotions: Iterable[WantedPromotion], limit: int) -> list[NewRequest]:
    found: list[NewRequest] = []
    hashes: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    for each in promotions:
        hashes, channels = hashes | each.hashes, channels | each.channels
        if len(hashes) >= limit:
            found.append(NewRequest(hashes, channels, batchable=True))
            hashes = channels = frozenset()
    if hashes:
        found.append(NewRequest(hashes, channels, batchable=True))
    return found


def _hashes(holders: Iterable[WantedPromotion | OpenRequest]) -> frozenset[str]:
    return frozenset().union(*(each.hashes for each in holders))
