"""Lists of OpenShift Cluster Manager: the first page tells how many there are, the others at once.

An item that cannot be read is excluded. A list that changes while its pages are read is read
again, and if it keeps changing, it is reported as incomplete.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from tidegate.kinds.upgrades.ocm.client.http import OcmHttp
from tidegate.kinds.upgrades.ocm.documents import kind_name, owner_in
from tidegate.kinds.upgrades.ocm.port import OcmList, UnreadableDocument
from tidegate.kinds.upgrades.ocm.search import ADDRESS_MAX, both, chunks, encoded, one_of
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json, json_decoder
from tidegate.model.problem import shorten

T = TypeVar("T")

# What an address holds beside the list of values: the numbers of pages, and the words of a search.
_ROOM = 200


class _Page(msgspec.Struct, Generic[T], frozen=True):
    items: tuple[T, ...] = ()
    page: int = 1
    size: int = 0
    total: int = 0


class _Known(msgspec.Struct, frozen=True):
    """As much of a document as tells which one it is."""

    id: str = ""


async def listed(
    asking: OcmHttp, path: str, kind: type[T], query: Mapping[str, str], order: str = ""
) -> OcmList[T]:
    """All items of a list, each once; OutsideError if a page cannot be had.

    Long lists are read in the order of their ids, so that no page tells what another did: `order`
    is what the service calls that.
    """
    asked = {**query, order: "id"} if order else query
    reading: OcmList[T] = OcmList()
    for _ in range(asking.limits.rereads_max + 1):
        reading = await _read(asking, path, kind, asked)
        if reading.complete:
            break
    return reading


async def listed_by(
    asking: OcmHttp,
    path: str,
    kind: type[T],
    key: str,
    values: Iterable[str],
    *,
    search: str = "",
    query: Mapping[str, str] | None = None,
    order: str,
) -> OcmList[T]:
    """The items whose field is one of many values, asked for in as many pieces as it takes."""
    taken = len(asking.address(path, query)) + len(encoded(both(search, key))) + _ROOM
    pieces = chunks(values, taken, ADDRESS_MAX)
    readings = await asyncio.gather(
        *(
            listed(asking, path, kind, {**(query or {}), "search": asked}, order)
            for piece in pieces
            for asked in (both(one_of(key, piece), search),)
        )
    )
    return joined(readings)


def joined(readings: Iterable[OcmList[T]]) -> OcmList[T]:
    """Several readings as one."""
    every = tuple(readings)
    return OcmList(
        tuple(item for each in every for item in each.items),
        tuple(item for each in every for item in each.unreadable),
        all(each.complete for each in every),
    )


async def _read(asking: OcmHttp, path: str, kind: type[T], query: Mapping[str, str]) -> OcmList[T]:
    first, excluded = await _page(asking, path, kind, {**query, "size": str(asking.limits.page)})
    pages = [(first, excluded)]
    # As many as they give at a time, which may be fewer than we asked for.
    size = first.size or len(first.items)
    if first.total > size > 0:
        last = -(-first.total // size)
        if last > asking.limits.pages_max:
            most = asking.limits.pages_max * size
            raise OutsideError(f"{asking.host}: more than {most} answers to GET {path}")
        numbers = ({"size": str(size), "page": str(i)} for i in range(2, last + 1))
        pages += await asyncio.gather(
            *(_page(asking, path, kind, {**query, **number}) for number in numbers)
        )
    return _together(pages)


def _together(pages: list[tuple[_Page[T], tuple[UnreadableDocument, ...]]]) -> OcmList[T]:
    """Each item once; complete if all pages tell the same number, and that many were there."""
    totals = {page.total for page, _ in pages}
    found: dict[Any, T] = {}
    for page, _ in pages:
        for item in page.items:
            found.setdefault(getattr(item, "id", id(item)), item)
    excluded = tuple(each for _, unreadable in pages for each in unreadable)
    whole = len(totals) == 1 and len(found) + len(excluded) == totals.pop()
    return OcmList(tuple(found.values()), excluded, whole)


async def _page(
    asking: OcmHttp, path: str, kind: type[T], query: Mapping[str, str]
) -> tuple[_Page[T], tuple[UnreadableDocument, ...]]:
    answer = await asking.ask("GET", path, query)
    if answer.status < 300:
        try:
            page: _Page[T] = _decoder(kind)(answer.body)
        except msgspec.ValidationError:
            return _one_by_one(asking.read(answer, _Page[msgspec.Raw], f"GET {path}"), kind)
        except msgspec.DecodeError:
            pass
        else:
            return page, ()
    return asking.read(answer, _Page[kind], f"GET {path}"), ()  # type: ignore[valid-type]


def _one_by_one(
    page: _Page[msgspec.Raw], kind: type[T]
) -> tuple[_Page[T], tuple[UnreadableDocument, ...]]:
    """The items that can be read, and the others with what is wrong with them."""
    items: list[T] = []
    excluded: list[UnreadableDocument] = []
    for raw in page.items:
        try:
            items.append(decode_json(raw, kind))
        except msgspec.ValidationError as error:
            of = owner_in(decode_json(raw))
            excluded.append(UnreadableDocument(kind_name(kind), _id_of(raw), str(error), of))
    return _Page(tuple(items), page.page, page.size, page.total), tuple(excluded)


def _id_of(raw: msgspec.Raw) -> str:
    try:
        return shorten(decode_json(raw, _Known).id)
    except msgspec.ValidationError:
        return ""


def _decoder(kind: Any) -> Callable[[bytes], Any]:
    if kind not in _DECODERS:
        _DECODERS[kind] = json_decoder(_Page[kind])
    return _DECODERS[kind]


# One a kind of document; making one takes longer than using it.
_DECODERS: dict[Any, Callable[[bytes], Any]] = {}
