"""What is asked of a file and what comes of it: edits, the file as read, the file to be written."""

import hashlib

import msgspec

from tidegate.edit.place import KeyPlace, Place, YamlPlace
from tidegate.edit.tree import Data, Scalar
from tidegate.model.errors import StaleError


class Replace(msgspec.Struct, frozen=True):
    """Another single value at a place; every one of them, if the place names several."""

    place: Place
    value: Scalar
    # How exactly to write it, as `FoundValue` has it, to restore it to the byte, even where
    # readers disagree about what it means; None is in the quotes that are there.
    written: str | None = None


class AddField(msgspec.Struct, frozen=True):
    """One more field for the object at a place, after its last one."""

    place: YamlPlace
    name: str
    value: Data


class AddItem(msgspec.Struct, frozen=True):
    """One more item for the list at a place, after its last one."""

    place: YamlPlace
    value: Data


class Remove(msgspec.Struct, frozen=True):
    """The field or item at a place goes, with its name or dash."""

    place: YamlPlace | KeyPlace


class LineNote(msgspec.Struct, frozen=True):
    """A comment at the end of the line a single value stands on, known again by its first word.

    Other comments on that line stay; the one with this mark is replaced. No data changes.
    """

    place: YamlPlace
    mark: str
    # Empty: the comment goes.
    text: str


Edit = Replace | AddField | AddItem | Remove | LineNote


class Original(msgspec.Struct, frozen=True):
    """A file as it was read: its text, and what tells its bytes from any others."""

    name: str
    text: str
    identity: str
    bom: bool


class FoundValue(msgspec.Struct, frozen=True):
    """What stands at a place: the line, from 1; the value, and how it is written."""

    line: int
    value: str
    written: str


class EditedLine(msgspec.Struct, frozen=True):
    """What an edit did, and the first line it did it on, as lines were just before."""

    line: int
    old: str
    new: str


class Edited(msgspec.Struct, frozen=True):
    """A file as it should be written, and what it was made from."""

    name: str
    data: bytes
    made_from: str
    changes: tuple[EditedLine, ...]

    def onto(self, current: bytes) -> bytes:
        """What to write over a file that has these bytes now; StaleError if they are others."""
        now = identity(current)
        if now == self.made_from:
            return self.data
        what = f"{self.name} changed since it was read: {self.made_from[:12]} is {now[:12]} now"
        raise StaleError(f"{what}; read it and edit it again")


def identity(data: bytes) -> str:
    """What tells these bytes from any others."""
    return hashlib.sha256(data).hexdigest()
