"""The edits by which a bundle's file gets a pin for a shard, or loses it.

An override that is there gets or changes its `imageRef`; where there is none, an item is added in
the way the others are written; where there is no list, the list. Taking a pin away takes along
what is left with nothing to say: an override with nothing but its shard, an empty list, a
`sharding` with nothing else in it. So a pin that is taken away leaves the file as it was.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from tidegate.bundle.finding import Path, path_text
from tidegate.documents.strict_yaml import lines_of, read_documents
from tidegate.edit.edit import edit, found, read_original
from tidegate.edit.edits import (
    AddField,
    AddItem,
    Edit,
    Edited,
    LineNote,
    Original,
    Remove,
    Replace,
)
from tidegate.edit.place import YamlPlace
from tidegate.kinds.integrations.bundle.amounts import overrides_in
from tidegate.kinds.integrations.bundle.canonical import spelt
from tidegate.kinds.integrations.bundle.section import INTEGRATION_SCHEMA
from tidegate.kinds.integrations.core.review.notes import MARK
from tidegate.kinds.integrations.core.sharding.model import Integration, Managed
from tidegate.kinds.integrations.core.sharding.strategies import STATIC
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

T = TypeVar("T")

IMAGE = "imageRef"
LIST = "shardSpecOverrides"
# The fields that name the shard of an override.
_WHOM = ("shard", "awsAccount", "awsAccounts")
_NAMING = frozenset((*_WHOM, "shardingStrategy"))


class ImagePin(msgspec.Struct, frozen=True, kw_only=True):
    """One shard to be pinned."""

    shard: str
    image: str
    # The file of what it is a shard of; empty: it goes by its name, or its number.
    ref: str = ""
    # What is written beside it; None: what is there stays.
    note: str | None = None


def pinned(
    read: Callable[[str], bytes], asked: Iterable[tuple[ManagedPlace, ImagePin]]
) -> list[Edited]:
    """The files in which these shards are pinned, as they should be written; unchanged ones not."""
    by_place: dict[str, tuple[ManagedPlace, list[ImagePin]]] = {}
    for place, pin in asked:
        by_place.setdefault(place.name, (place, []))[1].append(pin)
    return _edited(read, by_place.values(), pin_edits)


def unpinned(
    read: Callable[[str], bytes], asked: Iterable[tuple[ManagedPlace, str]]
) -> list[Edited]:
    """The files in which these shards are pinned no more; unchanged ones not."""
    by_place: dict[str, tuple[ManagedPlace, list[str]]] = {}
    for place, shard in asked:
        by_place.setdefault(place.name, (place, []))[1].append(shard)
    return _edited(read, by_place.values(), unpin_edits)


def _edited(
    read: Callable[[str], bytes],
    asked: Iterable[tuple[ManagedPlace, list[T]]],
    edits_of: Callable[[Original, Integration, Managed, Sequence[T]], list[Edit]],
) -> list[Edited]:
    """Every file once: edits in one entry of `managed` leave the numbers of the others alone."""
    originals: dict[str, Original] = {}
    edits: dict[str, list[Edit]] = {}
    raw: dict[str, bytes] = {}
    for place, wanted in asked:
        file = place.managed.where.rpartition(":")[0]
        if file not in originals:
            raw[file] = read(file)
            originals[file] = read_original(file, raw[file])
        more = edits_of(originals[file], place.integration, place.managed, wanted)
        edits.setdefault(file, []).extend(more)
    made = [edit(originals[file], edits[file]) for file in edits]
    return [each for each in made if each.data != raw[each.name]]


class _Item(msgspec.Struct, frozen=True):
    """One override as it stands."""

    path: Path
    written: dict[str, Any]
    # All it is for: nearly always one.
    shards: tuple[str, ...]


class _Entry:
    """One entry of `managed`, and where its overrides stand in the file."""

    def __init__(self, original: Original, integration: Integration, managed: Managed) -> None:
        self.name = original.name
        self.document, self.path, self.written = _standing(original, integration, managed)
        self._lines = lines_of(original.text)[self.document]
        one = spelt(self.written, self.path)
        self.sharding = one.sharding_at
        self.static = managed.sharding.strategy == STATIC
        named: dict[Path, list[str]] = {}
        for path, override in zip(one.overrides_at, managed.sharding.overrides, strict=True):
            named.setdefault(path, []).append(override.shard)
        self.items = [_Item(path, self.at(path), tuple(shards)) for path, shards in named.items()]
        every = overrides_in(self.written, self.path)
        lists = list(dict.fromkeys(path[:-1] for path, _ in every))
        if len(lists) > 1:
            first, second = map(path_text, lists[:2])
            raise self.wrong(lists[1], f"{first} and {second} list the same", "keep one of them")
        self.list = lists[0] if lists else self._empty_list()

    def _empty_list(self) -> Path | None:
        holder = self.at(self.sharding)
        if LIST not in holder:
            return None
        if holder[LIST] is None:
            raise self.wrong((*self.sharding, LIST), f"{LIST} has no value", "drop the line")
        return (*self.sharding, LIST)

    def at(self, path: Path) -> Any:
        """What stands at a path of the document."""
        found: Any = {"managed": {self.path[1]: self.written}}
        for step in path:
            found = found[step]
        return found

    def item(self, shard: str) -> _Item | None:
        """The override of a shard; None: it has none."""
        return next((item for item in self.items if shard in item.shards), None)

    def line(self, path: Path) -> int:
        """The line something stands on."""
        return self._lines[path_text(path)]

    def place(self, path: Path) -> YamlPlace:
        """A path as edits take it."""
        return YamlPlace(path_text(path), self.document)

    def is_in_brackets(self, original: Original, path: Path) -> bool:
        """Whether a list or an object is written in brackets, and not on lines of its own."""
        every = found(original, self.place(path))
        return all(each.written.startswith(("[", "{")) for each in every)

    def wrong(self, path: Path, what: str, remedy: str) -> UserError:
        """What keeps it from being edited."""
        line = self._lines.get(path_text(path), 1)
        return UserError((Problem(f"{self.name}:{line}", what, remedy),))

    def only_for(self, item: _Item, shards: Sequence[str]) -> None:
        """UserError if an override is for others, too."""
        others = [shown(each) for each in item.shards if each not in shards]
        if others:
            what = f"one override for several: {', '.join(others)} would change too"
            raise self.wrong(item.path, what, "write an override for each")


def _standing(
    original: Original, integration: Integration, managed: Managed
) -> tuple[int, Path, dict[str, Any]]:
    found: list[tuple[int, Path, dict[str, Any]]] = []
    for number, (document, _) in enumerate(read_documents(original.name, original.text)):
        data = document.data
        if data.get("$schema") != INTEGRATION_SCHEMA or data.get("name") != integration.name:
            continue
        for at, each in enumerate(data.get("managed") or ()):
            if each["namespace"]["$ref"] == managed.namespace.path:
                found.append((number, ("managed", at), each))
    if len(found) != 1:
        what = f"{integration.name} is {len(found)} times in {managed.namespace.path}"
        raise UserError((Problem(original.name, what, "keep one of them"),))
    return found[0]


def pin_edits(
    original: Original, integration: Integration, managed: Managed, pins: Sequence[ImagePin]
) -> list[Edit]:
    """What makes shards of one place keep their images."""
    entry = _Entry(original, integration, managed)
    edits: list[Edit] = []
    notes: list[Edit] = []
    fresh: list[ImagePin] = []
    for pin in pins:
        item = entry.item(pin.shard)
        if item is None:
            fresh.append(pin)
            continue
        entry.only_for(item, [each.shard for each in pins if each.image == pin.image])
        image = (*item.path, IMAGE)
        if IMAGE not in item.written:
            edits.append(AddField(entry.place(item.path), IMAGE, pin.image))
        elif item.written[IMAGE] != pin.image:
            edits.append(Replace(entry.place(image), pin.image))
        if pin.note is not None:
            notes.append(LineNote(entry.place(image), MARK, pin.note))
    added, at = _adding(entry, fresh)
    notes += (
        LineNote(entry.place((*at, number, IMAGE)), MARK, pin.note)
        for number, pin in enumerate(fresh, start=len(entry.items))
        if pin.note is not None
    )
    # A field beside the dash may be two: an item of several shards is edited once.
    return list({_key(each): each for each in (*edits, *added, *notes)}.values())


def _key(each: Edit) -> tuple[str, str, str]:
    value = str(each.value) if isinstance(each, AddItem) else ""
    return type(each).__name__, str(each.place), value


def _adding(entry: _Entry, pins: Sequence[ImagePin]) -> tuple[list[Edit], Path]:
    """Overrides for those who have none, and the path of the list they stand in then."""
    way = _way(entry.items)
    items = [_item(pin, way, static=entry.static) for pin in pins]
    if entry.list is not None:
        return [AddItem(entry.place(entry.list), item) for item in items], entry.list
    if entry.sharding != entry.path:
        holder, at = entry.place(entry.sharding), (*entry.sharding, LIST)
        return [AddField(holder, LIST, items)] if items else [], at
    sharding = AddField(entry.place(entry.path), "sharding", {LIST: items})
    return [sharding] if items else [], (*entry.path, "sharding", LIST)


class _Way(msgspec.Struct, frozen=True):
    """How a list names the shards of its overrides."""

    field: str = "shard"
    by_file: bool = True
    # Of the years in which each override named it.
    strategy: str | None = None


def _way(items: Sequence[_Item]) -> _Way:
    """As the last one is written that is for one shard; by file where none is."""
    for item in reversed(items):
        field = next(name for name in _WHOM if name in item.written)
        if field != "awsAccounts":
            by_file = any(isinstance(each.written.get(field), dict) for each in items)
            return _Way(field, by_file, item.written.get("shardingStrategy"))
    return _Way()


def _item(pin: ImagePin, way: _Way, *, static: bool) -> dict[str, Any]:
    item: dict[str, Any] = {}
    if way.strategy is not None:
        item["shardingStrategy"] = way.strategy
    if pin.ref and way.by_file:
        item[way.field] = {"$ref": pin.ref}
    else:
        item["shard"] = int(pin.shard) if static else pin.shard
    return {**item, IMAGE: pin.image}


def image_lines(original: Original, integration: Integration, managed: Managed) -> dict[str, int]:
    """The line on which each shard of a place has its image, by what overrides call it."""
    entry = _Entry(original, integration, managed)
    return {
        shard: entry.line((*item.path, IMAGE))
        for item in entry.items
        if IMAGE in item.written
        for shard in item.shards
    }


def unpin_edits(
    original: Original, integration: Integration, managed: Managed, shards: Sequence[str]
) -> list[Edit]:
    """What takes their own images away from shards of one place."""
    entry = _Entry(original, integration, managed)
    pinned = [item for item in entry.items if IMAGE in item.written]
    going = [item for item in pinned if any(shard in shards for shard in item.shards)]
    for item in going:
        entry.only_for(item, shards)
    kept = {entry.line((*item.path, IMAGE)) for item in pinned if item not in going}
    edits: list[Edit] = [
        LineNote(entry.place(image), MARK, "")
        for image in ((*item.path, IMAGE) for item in going)
        if entry.line(image) not in kept
    ]
    bare = [item for item in going if item.written.keys() <= {*_NAMING, IMAGE}]
    if bare and len(bare) == len(entry.items) and entry.list is not None:
        holder = entry.list[:-1]
        # On lines of its own a first pin begins lines; a list in brackets there was there before.
        was_there = entry.is_in_brackets(original, entry.list)
        if entry.is_in_brackets(original, holder) or not was_there:
            alone = holder != entry.path and len(entry.at(holder)) == 1
            return [*edits, Remove(entry.place(holder if alone else entry.list))]
    # From the last to the first: the numbers of those before stay what they are.
    for item in reversed(going):
        path = item.path if item in bare else (*item.path, IMAGE)
        edits.append(Remove(entry.place(path)))
    return edits
