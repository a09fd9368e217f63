"""What a merge request of a pipeline holds, written into its description for the next reader.

It is one comment of HTML at the end, which forges keep and do not show:

    <!-- tidegate-pipeline {"version":1,"pipeline":"web","batchable":true,"holds":[…]} -->

It is read strictly: exactly one block, this version, no field that is not known, sizes within
bounds. What it says is data of a page that people can edit: the commits of the branch, and not this
block, say whether the branch is ours.
"""

import re

import msgspec

from tidegate.explain.hidden_block import HiddenBlock
from tidegate.kinds.promotions.core.requests.model import CloseCause, HeldPromotion
from tidegate.model.json_text import decode_json

DATA_VERSION = 1
# What a forge shows is bounded, and so is what is read of it: 100 promotions of long names fit.
BLOCK_MAX = 32_768
HOLDS_MAX = 100

_BLOCK = HiddenBlock("tidegate-pipeline")
_CONTENT = re.compile(r"[0-9a-f]{32}")


class RequestData(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a merge request holds, and how it ended where we ended it."""

    version: int = DATA_VERSION
    pipeline: str
    holds: tuple[HeldPromotion, ...]
    batchable: bool
    # Why we closed it; written right before. None: it is open, or another closed it.
    closed: CloseCause | None = None


class DataBlockError(Exception):
    """A description whose block cannot be used; the text says why."""


def written_block(data: RequestData) -> str:
    """The block as a line; no name in it can end the comment early."""
    return _BLOCK.written(msgspec.json.encode(data).decode())


def with_block(text: str, data: RequestData) -> str:
    """A description for people with its block at the end; an earlier block is replaced."""
    return _BLOCK.added(text, msgspec.json.encode(data).decode())


def without_block(description: str) -> str:
    """What people read of a description."""
    return _BLOCK.removed(description)


def read_block(description: str) -> RequestData:
    """The data of a description; DataBlockError says why it cannot be used."""
    found = _BLOCK.found(description)
    if len(found) != 1:
        raise DataBlockError(f"it has {len(found)} data blocks, and not one")
    if len(found[0]) > BLOCK_MAX:
        raise DataBlockError(f"its data block is longer than {BLOCK_MAX} characters")
    try:
        data = decode_json(found[0], RequestData)
    except msgspec.DecodeError as error:
        raise DataBlockError(f"its data block is not one: {error}") from None
    _check(data)
    return data


def _check(data: RequestData) -> None:
    if data.version != DATA_VERSION:
        raise DataBlockError(f"its data is of version {data.version}, and not {DATA_VERSION}")
    if not 0 < len(data.holds) <= HOLDS_MAX:
        raise DataBlockError(f"it holds {len(data.holds)} promotions, and not 1 to {HOLDS_MAX}")
    for each in data.holds:
        if not each.channels or list(each.channels) != sorted(set(each.channels)):
            raise DataBlockError(f"its channels are not sorted names: {', '.join(each.channels)}")
        if not _CONTENT.fullmatch(each.content):
            raise DataBlockError("a content in it is not 32 hexadecimal digits")
    if len({each.channels for each in data.holds}) != len(data.holds):
        raise DataBlockError("it names the same channels twice")
