"""Edits a file so that exactly the lines meant change, or refuses and says why.

`edit` takes a file as it was read and some edits, and returns the file as it should be written. The
edits are made one after the other, all or none. After each the text is read again and must be the
old data with just that change, so that a wrong edit is refused. To write the file, use
`Edited.onto`, which refuses if the file changed since it was read.

    original = read_original("saas.yml", path.read_bytes())
    edited = edit(original, [Replace(YamlPlace("managed[0].spec.imageRef"), "1234567")])
    path.write_bytes(edited.onto(path.read_bytes()))
"""

from collections.abc import Sequence

from msgspec.structs import replace

from tidegate.edit import writer
from tidegate.edit.edits import (
    AddField,
    Edit,
    Edited,
    EditedLine,
    FoundValue,
    LineNote,
    Original,
    Remove,
    Replace,
    identity,
)
from tidegate.edit.finder import chain, exact, find
from tidegate.edit.place import KeyPlace, LinePlace, Place, YamlPlace
from tidegate.edit.prefixed import find_lines, replacing_line
from tidegate.edit.splice import Splice
from tidegate.edit.tree import BREAK, Node, documents, lexeme, shape, written
from tidegate.edit.turn import EditTurn, unlike
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

_BOM = "\ufeff"


def read_original(name: str, data: bytes) -> Original:
    """A file to be edited; UserError if it is no text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise UserError((Problem(f"{name}:{line}", what, "save it as UTF-8"),)) from None
    bare = text.removeprefix(_BOM)
    if bare.startswith(_BOM):
        raise UserError((Problem(f"{name}:1", "two byte order marks", "keep one at most"),))
    return Original(name=name, text=bare, identity=identity(data), bom=bare != text)


def found(original: Original, place: Place) -> tuple[FoundValue, ...]:
    """Everything a place names: nothing perhaps for keys and lines; UserError for a path."""
    text = original.text
    if isinstance(place, LinePlace):
        lines = find_lines(original.name, text, place)
        return tuple(
            FoundValue(each.line, each.value, text[each.start : each.end]) for each in lines
        )
    if isinstance(place, KeyPlace) and place.key not in text:
        return ()
    roots = documents(original.name, text)
    nodes = (chain(roots, trail)[-1] for trail in find(original.name, roots, place))
    return tuple(
        FoundValue(node.line, (node.target or node).value, written(text, node)) for node in nodes
    )


def located(
    original: Original, place: YamlPlace | KeyPlace
) -> tuple[tuple[YamlPlace, FoundValue], ...]:
    """The same, each with a place that names it alone; for edits of only some of them."""
    if isinstance(place, KeyPlace) and place.key not in original.text:
        return ()
    roots = documents(original.name, original.text)
    each_found = []
    for trail in find(original.name, roots, place):
        node = chain(roots, trail)[-1]
        value = (node.target or node).value
        stated = FoundValue(node.line, value, written(original.text, node))
        each_found.append((exact(roots, trail), stated))
    return tuple(each_found)


def edit(original: Original, edits: Sequence[Edit]) -> Edited:
    """The file with every edit made in turn; UserError, and nothing, if one cannot be made."""
    text, changes = original.text, []
    for each in edits:
        try:
            text, made = _made(original.name, text, each)
        except UserError as error:
            named = (replace(p, path=p.path or original.name) for p in error.problems)
            raise UserError(tuple(named)) from None
        changes += made
    data = (_BOM * original.bom + text).encode("utf-8")
    return Edited(original.name, data, original.identity, tuple(changes))


def _made(name: str, text: str, each: Edit) -> tuple[str, list[EditedLine]]:
    _check(each)
    if isinstance(each.place, LinePlace):
        return _edit_lines(name, text, each)
    return _edit_tree(name, text, each, each.place)


def _check(each: Edit) -> None:
    if isinstance(each, Remove):
        return
    if isinstance(each, LineNote):
        _check_note(each)
        return
    writer.check(each.value, str(each.place))
    if isinstance(each, AddField):
        writer.check(each.name, str(each.place))
    if isinstance(each, Replace):
        _check_single(each)


def _check_note(each: LineNote) -> None:
    writer.check(each.text, str(each.place))
    if not (each.mark + each.text).isprintable():
        what = f"{each.place}: {shown(each.text)} is no comment"
        raise UserError((Problem("", what, "write it on one line"),))


def _check_single(each: Replace) -> None:
    value: object = each.value
    if isinstance(value, dict | list):
        remedy = "remove it and add the new one"
        raise UserError((Problem("", f"{each.place}: the value is no single one", remedy),))
    if each.written is None:
        return
    writer.check(each.written, str(each.place))
    alone = isinstance(each.place, LinePlace) or lexeme(each.written) is not None
    if BREAK.search(each.written) or not alone:
        what = f"{each.place}: {shown(each.written)} is no single value"
        raise UserError((Problem("", what, "write it as `found` tells it"),))


def _edit_lines(name: str, text: str, each: Edit) -> tuple[str, list[EditedLine]]:
    place = each.place
    if not isinstance(place, LinePlace) or not isinstance(each, Replace):
        raise UserError((Problem(name, f"{place} can only be replaced", "edit it by hand"),))
    lines = find_lines(name, text, place)
    if not lines:
        what = f"no line starts with {shown(place.prefix)}"
        raise UserError((Problem(name, what, "write the line once by hand"),))
    value = writer.scalar(each.value) if not isinstance(each.value, str) else each.value
    for line in reversed(lines):
        text = replacing_line(place, line, value, each.written).onto(text)
    after = find_lines(name, text, place)
    if [(line.line, line.value) for line in after] != [(line.line, value) for line in lines]:
        raise unlike(name, lines[0].line, place, value)
    return text, [EditedLine(line.line, line.value, value) for line in lines]


def _edit_tree(
    name: str, text: str, each: Edit, place: YamlPlace | KeyPlace
) -> tuple[str, list[EditedLine]]:
    roots = documents(name, text)
    trails = find(name, roots, place)
    if not trails:
        raise UserError((Problem(name, f"{place}: there is none", "name one that is there"),))
    changes: list[EditedLine] = []
    # From the last to the first: the places of those before are not moved.
    for trail in sorted(trails, reverse=True):
        turn = EditTurn(name, text, each, roots, trail)
        splice, intended = turn.splice(), turn.intended()
        line = _line(text, splice)
        text = splice.onto(text)
        roots = _read_again(name, text, turn)
        if [shape(root) for root in roots] != intended:
            raise turn.unlike()
        changes.append(EditedLine(line, turn.old(), splice.new.strip()))
    return text, changes[::-1]


def _read_again(name: str, text: str, turn: EditTurn) -> list[Node]:
    try:
        return documents(name, text)
    except UserError:
        raise turn.unlike() from None


def _line(text: str, splice: Splice) -> int:
    """The first line that a splice changes."""
    begun = BREAK.match(splice.new) is not None
    return sum(1 for _ in BREAK.finditer(text, 0, splice.start)) + 1 + begun
