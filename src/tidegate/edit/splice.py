"""The one stretch of a text that an edit replaces, worked out from where things stand.

In a block, a field or an item is whole lines: they go in after the last line of the last one, and
come out as they are; comments around them stay. Within brackets it is a stretch of a line with its
comma. What shares its lines with something else is refused, with what to do instead. A comment goes
to the end of a line, after all that stands there.
"""

import re

import msgspec

from tidegate.edit import writer
from tidegate.edit.tree import (
    BREAK,
    Data,
    Node,
    Scalar,
    content_end,
    content_start,
    line_end,
    line_start,
    lines_end,
)

_DASH = re.compile(r"^( *)-(?=[ \t\r\n\x85\u2028\u2029]|\Z)", re.MULTILINE)
_DEEPER = re.compile(r"( +)#")
_COMMENT = re.compile(r"(?:^|[ \t])#", re.MULTILINE)


class Splice(msgspec.Struct, frozen=True):
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str

    def onto(self, text: str) -> str:
        """The text with this stretch replaced."""
        return text[: self.start] + self.new + text[self.end :]


class SpliceRefusal(msgspec.Struct, frozen=True):
    """Why there is no such stretch, and what to do instead."""

    what: str
    remedy: str


def replacing(text: str, node: Node, value: Scalar, written: str | None) -> Splice | SpliceRefusal:
    """A single value for another, in the quotes it had; `written` is taken as it is."""
    if node.kind in {"list", "object"}:
        return SpliceRefusal("a list or an object, no single value", "name a value in it")
    start = content_start(text, node)
    if node.style in {"|", ">"} or BREAK.search(text, start, node.end):
        return SpliceRefusal("a text over several lines", "write it on one line first")
    new = writer.scalar(value, node.style) if written is None else written
    if start == node.end and new and text[start - 1 : start] not in {" ", "\t", ""}:
        new = " " + new
    elif not new and text[start - 1 : start] == " " and start != node.end:
        start -= 1
    return Splice(start, node.end, new)


def adding_field(text: str, node: Node, key: str, data: Data, step: int) -> Splice | SpliceRefusal:
    """One more field for an object."""
    if node.flow:
        new = f"{writer.scalar(key)}: {writer.flow(data)}"
        return _into_brackets(text, node, new)
    first = node.keys[0]
    if text[first.start - first.column : first.start].rstrip(" ").endswith("?"):
        return SpliceRefusal("an object with `?` before its names", "write name: value")
    lines = writer.pair(key, data, step)
    return _after(text, node, first.column, lines)


def adding_item(text: str, node: Node, data: Data, step: int) -> Splice | SpliceRefusal:
    """One more item for a list."""
    if node.flow:
        return _into_brackets(text, node, writer.flow(data))
    last = len(node.children) - 1
    dash = _dash(text, node, last)
    if dash is None:
        return SpliceRefusal("a list whose dashes cannot be found", "write one item a line")
    between = text[dash + 1 : node.children[last].start]
    gap = len(between) if between and not between.strip(" ") else 1
    lines = writer.item(data, gap, step)
    return _after(text, node, dash - line_start(text, dash), lines)


def removing(text: str, parent: Node, index: int) -> Splice | SpliceRefusal:
    """One field or item less."""
    if parent.flow:
        return _out_of_brackets(text, parent, index)
    if len(parent.children) == 1:
        return SpliceRefusal("the last one there", "remove what it stands in instead")
    entry, child = parent.entry(index), parent.children[index]
    start = entry.start if parent.keys else _dash(text, parent, index)
    if start is None:
        return SpliceRefusal("an item whose dash cannot be found", "write one item a line")
    begin, end = line_start(text, start), lines_end(text, child)
    if text[begin:start].strip(" "):
        return _first_on_line(text, parent, index, start)
    if end == len(text) and not _breaks_at(text, end):
        begin = _before_break(text, begin)
    return Splice(begin, end, "")


def noted(text: str, node: Node, mark: str) -> tuple[int, int, str]:
    """Where the comment of a mark stands, or would, on the line a value ends on; and its text."""
    stop = BREAK.search(text, node.end)
    end = stop.start() if stop else len(text)
    found = re.compile(rf" {{0,2}}# {re.escape(mark)}(?: (?P<text>.*))?").search(
        text, node.end, end
    )
    if found is None:
        return end, end, ""
    return found.start(), end, found["text"] or ""


def noting(text: str, node: Node, mark: str, note: str) -> Splice | SpliceRefusal:
    """A comment at the end of a value's line, in place of the one with the same mark."""
    if node.kind in {"list", "object"} or node.style in {"|", ">"}:
        return SpliceRefusal("no single value on one line", "name a value in it")
    start, end, _ = noted(text, node, mark)
    return Splice(start, end, f"  # {mark} {note}" if note else "")


def _first_on_line(text: str, parent: Node, index: int, start: int) -> Splice | SpliceRefusal:
    """`- name: x` loses its name: the field after it comes up beside the dash."""
    shared = SpliceRefusal(
        "something that shares its line with what is around it", "write it apart"
    )
    if not parent.keys or index or text[:start].endswith("? "):
        return shared
    after = parent.entry(index + 1).start
    if _COMMENT.search(text, content_end(parent.children[index]), after):
        return SpliceRefusal("followed by a comment that would go too", "move the comment first")
    return Splice(start, after, "")


def _after(text: str, node: Node, column: int, lines: list[str]) -> Splice:
    """Lines after the last one of a block; the last line of a file keeps its lack of an end."""
    at = lines_end(text, node.children[-1])
    lines = [" " * column + line for line in lines]
    # A comment that stands deeper belongs to what is above it.
    while (comment := _DEEPER.match(text, at)) and len(comment[1]) > column:
        at = line_end(text, comment.end())
    begin = line_start(text, node.start)
    found = BREAK.search(text, begin) or BREAK.search(text)
    newline = found[0] if found else "\n"
    if at == len(text) and not _breaks_at(text, at):
        return Splice(at, at, newline + newline.join(lines))
    return Splice(at, at, newline.join(lines) + newline)


def _into_brackets(text: str, node: Node, new: str) -> Splice:
    if node.children:
        at = node.children[-1].end
        return Splice(at, at, f", {new}")
    at = content_start(text, node) + 1
    return Splice(at, at, new)


def _out_of_brackets(text: str, parent: Node, index: int) -> Splice | SpliceRefusal:
    start, end = parent.entry(index).start, parent.children[index].end
    if index:
        start, kept = parent.children[index - 1].end, start
        loose = text[start:kept]
    elif len(parent.children) > 1:
        end, kept = parent.entry(1).start, end
        loose = text[kept:end]
    else:
        rest = text[end : parent.end - 1]
        loose = rest[: rest.index(",") + 1] if rest.lstrip().startswith(",") else ""
        end += len(loose)
    if _COMMENT.search(loose):
        return SpliceRefusal("beside a comment that would go too", "move the comment first")
    return Splice(start, end, "")


def _dash(text: str, node: Node, index: int) -> int | None:
    """Where the dash of an item stands; None if it cannot be found."""
    if index == 0:
        start = content_start(text, node)
        return start if text[start : start + 1] == "-" else None
    begin = content_end(node.children[index - 1])
    column = node.children[index]
    last = None
    for found in _DASH.finditer(text, begin, column.start):
        last = found.end(1)
    return last


def _breaks_at(text: str, at: int) -> bool:
    return at == 0 or BREAK.fullmatch(text, at - 1, at) is not None


def _before_break(text: str, at: int) -> int:
    if text[at - 2 : at] == "\r\n":
        return at - 2
    return max(at - 1, 0)
