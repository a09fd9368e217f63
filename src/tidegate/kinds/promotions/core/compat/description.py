"""Descriptions of merge requests, in which the existing manager keeps its state.

Behind a separator stands one `key: value` a line. What cannot be read is closed with a comment that
says why, and opened again by a later run.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from tidegate.kinds.promotions.core.compat.batches import OpenRequest

VERSION = "2.3.0"
LABEL = "SAPM"
SEPARATOR = "**SAPM Data - DO NOT MANUALLY CHANGE ANYTHING BELOW THIS LINE**"
# What stands before the separator, and behind it.
_PARTS = 2
_BATCHER = "batcher"
# Requests of a scheduler are known by their kind, and then neither used nor closed.
_KINDS = (_BATCHER, "scheduler")
_ITEM_SEPARATOR = ","
_KEYS = ("sapm_version", "kind", "content_hashes", "channels", "is_batchable")
_VALUES = {key: re.compile(f"{key}: (.*)$", re.MULTILINE) for key in _KEYS}
_TWIN = "Closing this MR because there is already another MR open with identical content."


class FoundRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An open merge request as a forge shows it."""

    description: str
    labels: tuple[str, ...] = (LABEL,)
    has_conflicts: bool = False
    # Whether its last check failed.
    failed: bool = False


class ParsedRequests(msgspec.Struct, frozen=True):
    """The requests that can be used, and the comments the others are closed with, by position."""

    usable: tuple[tuple[int, OpenRequest], ...]
    closed: tuple[tuple[int, str], ...]


def parse_requests(requests: Sequence[FoundRequest]) -> ParsedRequests:
    """The manager's own requests among the open ones; those without its label are left alone."""
    closed: list[tuple[int, str]] = []
    batches: list[tuple[int, str]] = []
    for at, each in enumerate(requests):
        if LABEL not in each.labels:
            continue
        data = each.description.split(SEPARATOR)
        refused = _refused(data)
        if refused:
            closed.append((at, refused))
        elif _value("kind", data[1]) == _BATCHER:
            batches.append((at, data[1]))
    found: list[tuple[int, OpenRequest]] = []
    seen: set[tuple[str, str]] = set()
    for at, text in batches:
        read = _read(requests[at], text, seen)
        if isinstance(read, str):
            closed.append((at, read))
        else:
            found.append((at, read))
    return ParsedRequests(tuple(found), tuple(closed))


def render_description(
    message: str, channels: Iterable[str], hashes: Iterable[str], *, batchable: bool
) -> str:
    """A description that the existing manager reads back; names sorted, so that it is one text."""
    values = {
        "channels": _ITEM_SEPARATOR.join(sorted(channels)),
        "content_hashes": _ITEM_SEPARATOR.join(sorted(hashes)),
        "is_batchable": str(batchable),
        "kind": _BATCHER,
        "sapm_version": VERSION,
    }
    lines = (f"{key}: {value}" for key, value in values.items())
    return "\n\n".join((message, SEPARATOR, *lines))


def _refused(data: list[str]) -> str:
    """Why a description is no state of this version; empty if it is."""
    if len(data) != _PARTS:
        return "Closing this MR because of bad data separator format."
    version = _value("sapm_version", data[1])
    if not version:
        return _bad("sapm_version")
    if version != VERSION:
        return f"Closing this MR because it has an outdated SAPM version {version}."
    return "" if _value("kind", data[1]) in _KINDS else _bad("kind")


def _read(request: FoundRequest, data: str, seen: set[tuple[str, str]]) -> OpenRequest | str:
    """The state of a request, or the comment it is closed with."""
    if request.has_conflicts:
        return "Closing this MR because of a merge-conflict."
    hashes, channels = _value("content_hashes", data), _value("channels", data)
    if not hashes or not channels:
        return _bad("channels" if hashes else "content_hashes")
    if (channels, hashes) in seen:
        return _TWIN
    seen.add((channels, hashes))
    batchable = _value("is_batchable", data)
    if batchable not in ("True", "False"):
        return _bad("is_batchable")
    return OpenRequest(
        hashes=frozenset(hashes.split(_ITEM_SEPARATOR)),
        channels=frozenset(channels.split(_ITEM_SEPARATOR)),
        failed=request.failed,
        batchable=batchable == "True",
    )


def _value(key: str, data: str) -> str:
    found = _VALUES[key].search(data)
    return found[1] if found else ""


def _bad(key: str) -> str:
    return f"Closing this MR because of bad {key} format."
