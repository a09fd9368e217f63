"""One edit at one of the things its place names: what to splice, and what must come of it."""

from tidegate.edit.edits import AddField, AddItem, Edit, LineNote, Remove, Replace
from tidegate.edit.finder import Trail, chain
from tidegate.edit.place import KeyPlace, Place
from tidegate.edit.splice import (
    Splice,
    SpliceRefusal,
    adding_field,
    adding_item,
    noted,
    noting,
    removing,
    replacing,
)
from tidegate.edit.tree import Node, Scalar, Shape, lexeme, shape, shape_of, walk, written
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

# The tag that says a value is a text, which a text in its place still is. To readers of `!` alone a
# number in quotes may be a number.
_TEXT_TAG = "tag:yaml.org,2002:str"


class EditTurn:
    """One edit at one of the things its place names."""

    def __init__(self, name: str, text: str, each: Edit, roots: list[Node], trail: Trail) -> None:
        self._name, self._text, self._edit = name, text, each
        self._roots, self._index = roots, trail[-1]
        self._chain = chain(roots, trail)
        self.node = self._chain[-1]
        self._is_root = len(trail) == 1

    def old(self) -> str:
        """What the change takes away, as it is written."""
        if isinstance(self._edit, AddField | AddItem):
            return ""
        if isinstance(self._edit, LineNote):
            start, end, _ = noted(self._text, self.node, self._edit.mark)
            return self._text[start:end].strip()
        return written(self._text, self.node)

    def splice(self) -> Splice:
        """The stretch of text that this turn replaces; UserError if there is none."""
        self._refuse_if_seen_elsewhere()
        made = self._made()
        if isinstance(made, SpliceRefusal):
            raise self._wrong(made.what, made.remedy)
        return made

    def _made(self) -> Splice | SpliceRefusal:
        text, node = self._text, self.node
        match self._edit:
            case Replace(value=value, written=exactly):
                if node.tag and not (node.tag == _TEXT_TAG and isinstance(value, str)):
                    return SpliceRefusal(f"tagged {node.tag}", "drop the tag first")
                if exactly is not None and not _says(exactly, value):
                    return SpliceRefusal(
                        f"{shown(exactly)} is not {shown(value)}", "write it alike"
                    )
                return replacing(text, node, value, exactly)
            case AddField(name=key, value=value):
                if node.kind != "object":
                    return SpliceRefusal(f"no object to add {shown(key)} to", "name an object")
                if node.index_of(key) is not None:
                    return SpliceRefusal(f"{shown(key)} is there already", "replace its value")
                return adding_field(text, node, key, value, self._list_step())
            case AddItem(value=value):
                if node.kind != "list":
                    return SpliceRefusal("no list to add an item to", "name a list")
                return adding_item(text, node, value, self._list_step())
            case Remove():
                if self._is_root:
                    return SpliceRefusal("the whole document", "remove the file")
                return removing(text, self._chain[-2], self._index)
            case LineNote(mark=mark, text=note):
                return noting(text, node, mark, note)

    def intended(self) -> list[Shape]:
        """What every document has to be afterwards."""
        node = self.node
        instead: dict[int, Shape]
        match self._edit:
            case LineNote():
                instead = {}
            case Replace(value=value, written=exactly):
                instead = {id(node): shape_of(value, node.tag, node.anchor)}
                if exactly is not None and (alone := lexeme(exactly)) is not None:
                    alone.tag, alone.anchor = node.tag, node.anchor
                    instead = {id(node): shape(alone)}
            case AddField(name=key, value=value):
                kind, tag, anchor, names, parts = shape(node)
                more = (*names, shape_of(key)), (*parts, shape_of(value))
                instead = {id(node): (kind, tag, anchor, *more)}
            case AddItem(value=value):
                kind, tag, anchor, names, parts = shape(node)
                instead = {id(node): (kind, tag, anchor, names, (*parts, shape_of(value)))}
            case Remove():
                kind, tag, anchor, names, parts = shape(self._chain[-2])
                at = self._index
                less = names[:at] + names[at + 1 :], parts[:at] + parts[at + 1 :]
                instead = {id(self._chain[-2]): (kind, tag, anchor, *less)}
        return [shape(root, instead) for root in self._roots]

    def _refuse_if_seen_elsewhere(self) -> None:
        """What an alias elsewhere stands for cannot change here alone."""
        if isinstance(self._edit, LineNote):
            return
        place = self._edit.place
        gone = {id(part) for part in walk(self.node)}
        if isinstance(self._edit, Remove) and not self._is_root and self._chain[-2].keys:
            gone.add(id(self._chain[-2].keys[self._index]))
        around = set() if isinstance(place, KeyPlace) else {id(node) for node in self._chain[:-1]}
        for root in self._roots:
            for holder in walk(root):
                for part in (*holder.keys, *holder.children):
                    if id(part) in gone or id(part.target) not in gone | around:
                        continue
                    if isinstance(place, KeyPlace) and _is_named(holder, part, place.key):
                        continue
                    what = f"*{part.value} on line {part.line} would change too"
                    raise self._wrong(what, f"write out what *{part.value} stands for there")

    def _list_step(self) -> int:
        """How far lists in objects are indented in this document."""
        for holder in walk(self._chain[0]):
            for key, part in zip(holder.keys, holder.children, strict=False):
                if part.kind == "list" and not (part.flow or part.anchor or part.tag):
                    return max(part.column - key.column, 0)
        return 0

    def _wrong(self, what: str, remedy: str) -> UserError:
        where = f"{self._name}:{self.node.line}"
        return UserError((Problem(where, f"{self._edit.place}: {what}", remedy),))

    def unlike(self) -> UserError:
        """What came out is not what was meant."""
        match self._edit:
            case Remove():
                value: object = self.old()
            case LineNote(text=note):
                value = note
            case Replace() | AddField() | AddItem():
                value = self._edit.value
        return unlike(self._name, self.node.line, self._edit.place, value)


def _says(written: str, value: Scalar) -> bool:
    alone = lexeme(written)
    return alone is not None and (alone.value == value or shape(alone) == shape_of(value))


def _is_named(holder: Node, part: Node, key: str) -> bool:
    pairs = zip(holder.keys, holder.children, strict=False)
    return any(each is part and name.value == key for name, each in pairs)


def unlike(name: str, line: int, place: Place, value: object) -> UserError:
    """What came out is not what was meant."""
    what = f"{place}: with {shown(value)} the file would not read as it should"
    return UserError((Problem(f"{name}:{line}", what, "edit this line by hand"),))
