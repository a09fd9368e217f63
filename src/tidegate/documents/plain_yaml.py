"""The plain part of YAML, line by line: most files have nothing else, and are read far faster.

Fields, lists, texts, numbers and block texts, each on lines of its own. The strict reader decides
the meaning of a value, once for each different text, so that there is one meaning; everything that
is not plain, or not allowed, is declined, and the strict reader reads the whole. Hence one law:
**what is read here is what the strict reader reads**, without an error.
"""

import re
from contextlib import suppress
from itertools import islice
from operator import length_hint
from sys import intern
from typing import Any

import msgspec

from tidegate.documents.strict_yaml import WORDS, meaning, read_value

# Lines whose meaning is remembered; more than a large bundle has of those that come again.
REMEMBERED_MAX = 1 << 15
# The same of blocks, which weigh more; of longer ones few come again.
BLOCKS_MAX, BLOCK_CHARS_MAX = 1 << 13, 512
# Deeper or more nested than this is not plain; far within what the strict reader takes.
DEPTH_MAX, BRACKETS_MAX = 20, 20

_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$./-]*")
# A scalar without quotes beyond doubt: no colon or hash in it starts anything.
_SCALAR = re.compile(
    r"(?:--?[A-Za-z0-9]|[A-Za-z0-9/_$+~])[A-Za-z0-9_./@$+-]*(?:[ :][A-Za-z0-9_./@$+(*-]"
    r"[A-Za-z0-9_./@$+()*,;=-]*)*"
)
# A text in quotes without escapes.
_QUOTED = re.compile(r"\"[^\"\\]*\"|'[^']*'")
# What most lines are: a field, perhaps the first of an item, with such a value or none.
_SIMPLE = re.compile(
    rf"( *)(- +)?({_KEY.pattern}):(?: (?:({_SCALAR.pattern})|({_QUOTED.pattern})))?"
)
# What begins something that goes on over lines, or has a meaning only in its document.
_REFUSED = ("|", ">", "&", "*", "!", "%", "@", "`", "---", "...", "- ", "? ", ": ")
# No value on this line: it follows on the next ones, or is null.
_LATER = object()
_REF = intern("$ref")
# The break before a line that belongs to no block above: it is neither indented nor an item.
_BETWEEN = re.compile(r"\n(?![ -])")


class DeclinedError(Exception):
    """Not plain: the strict reader has to read it."""


class _UnblockedError(Exception):
    """Not in whole blocks: it is read line by line."""


class Plain(msgspec.Struct, frozen=True):
    """A document, and the values of its fields `$ref` by the names of the fields around them."""

    data: dict[str, Any]
    # None: there may be more, in values of one line or in comments.
    refs: list[tuple[str, str]] | None


class _Literal:
    """A block text follows, line for line; what it ends in."""

    def __init__(self, ending: str) -> None:
        self.ending = ending


# Values that need more than to be put into their field.
_ODD = (_Literal, dict, list)
_LITERALS = {"|": _Literal("\n"), "|-": _Literal("")}


# How far a line is indented; how far the fields of its item are (0: it starts none); the name of
# its field (None: the item is a value); the value; whether that needs more than to be put there.
_Line = tuple[int, int, str | None, Any, bool]
# The name of a field, its value, the references in it, how often `$ref` is written in it, and how
# deep it nests.
_Block = tuple[str, Any, list[tuple[str, str]] | None, int, int]


def read_plain(text: str, lines_of: dict[str, int] | None = None) -> Plain:
    """The data of a text that is one plain document of fields; DeclinedError if it is not.

    `lines_of` receives the line of every object and list, by path, `managed[0].spec`; of those in a
    value on one line, only that of the value.

    Equal values may be one object: what was read is never changed.
    """
    if not text.endswith("\n"):
        raise DeclinedError
    if lines_of is None:
        with suppress(_UnblockedError):
            return _read_blocks(text)
    if not text.replace("\n", " ").isprintable():
        raise DeclinedError
    lines = text.split("\n")
    root, refs, deepest = _read_lines(lines, _start(lines), lines_of)
    return _plain(root, refs, text.count(_REF), deepest)


def _plain(root: dict[str, Any], refs: list[tuple[str, str]], written: int, deepest: int) -> Plain:
    if not root or deepest > DEPTH_MAX:
        raise DeclinedError
    return Plain(root, refs if len(refs) == written else None)


def _read_blocks(text: str) -> Plain:
    """The same, block by block: a field that is not indented, with all that belongs to it.

    Files of one kind share half of their blocks, and each is read once.
    """
    blocks = _BETWEEN.split(text.removeprefix("---\n"))
    root: dict[str, Any] = {}
    refs: list[tuple[str, str]] = []
    written = deepest = 0
    for key, value, named, count, depth in filter(None, map(_blocks.__getitem__, blocks)):
        if key in root:
            raise DeclinedError
        root[key] = value
        if named is not None:
            refs += named
            written += count
            if depth > deepest:
                deepest = depth
    return _plain(root, refs, written, deepest)


def _read_lines(
    lines: list[str], first: int = 0, lines_of: dict[str, int] | None = None
) -> tuple[dict[str, Any], list[tuple[str, str]], int]:
    """The fields from a line on, their references, and how deep they nest; the last is empty.

    Open levels are kept on a stack, the innermost in variables: this loop is where a cold start
    spends its time.
    """
    root: dict[str, Any] = {}
    refs: list[tuple[str, str]] = []
    stack: list[tuple[int, Any, str]] = []
    # How far the open level is indented, what it fills, and the field it is the value of.
    into: Any = root
    now, name = 0, ""
    is_list, deepest = False, 0
    # The field whose value may follow on the next lines.
    pending: str | None = None
    source = iter(lines)
    for _ in islice(source, first):
        pass
    for indent, inner, key, value, odd in filter(None, map(_lines.__getitem__, source)):
        if inner:
            if pending is not None and indent >= now:
                stack.append((now, into, name))
                items: list[Any] = []
                into[pending] = items
                now, into, name, is_list = indent, items, pending, True
                if lines_of is not None:
                    lines_of[_path(stack, name)] = len(lines) - length_hint(source)
            else:
                while now > indent or not is_list:
                    if not stack:
                        raise DeclinedError
                    now, into, name = stack.pop()
                    is_list = into.__class__ is list
                if now != indent:
                    raise DeclinedError
            if key is None:
                into.append(value)
                pending = None
                if lines_of is not None:
                    place = f"{_path(stack, name)}[{len(into) - 1}]"
                    lines_of[place] = len(lines) - length_hint(source)
                continue
            fields: dict[str, Any] = {}
            into.append(fields)
            stack.append((now, into, name))
            if len(stack) > deepest:
                deepest = len(stack)
            now, into, name, is_list = inner, fields, "", False
            if lines_of is not None:
                lines_of[_path(stack, name)] = len(lines) - length_hint(source)
        elif indent != now or is_list:
            if pending is not None and indent > now:
                stack.append((now, into, name))
                if len(stack) > deepest:
                    deepest = len(stack)
                into[pending] = fields = {}
                now, into, name = indent, fields, pending
                if lines_of is not None:
                    lines_of[_path(stack, name)] = len(lines) - length_hint(source)
            else:
                while now > indent or is_list:
                    if now < indent or not stack:
                        raise DeclinedError
                    now, into, name = stack.pop()
                    is_list = into.__class__ is list
                if now != indent:
                    raise DeclinedError
        if key in into:
            raise DeclinedError
        if value is _LATER:
            into[key], pending = None, key
            continue
        pending = None
        if odd:
            if value.__class__ is _Literal:
                after = len(lines) - length_hint(source)
                value, end = _literal(lines, after, now, value.ending)
                for _ in islice(source, end - after):
                    pass
            elif key is _REF and value.__class__ is str:
                names = (*(each[2] for each in stack), name)
                refs.append((".".join(filter(None, names)), value))
            elif lines_of is not None:
                place = _path([*stack, (now, into, name)], key or "")
                lines_of[place] = len(lines) - length_hint(source)
        into[key] = value
    return root, refs, deepest


def _path(stack: list[tuple[int, Any, str]], name: str) -> str:
    """The path of what is the value of a field, or the last item of a list, on top of a stack."""
    text = ""
    for at, (_, _, step) in enumerate([*stack[1:], (0, None, name)]):
        if step:
            text += f".{step}" if text else step
        elif stack[at][1].__class__ is list:
            text += f"[{len(stack[at][1]) - 1}]"
    return text


def _start(lines: list[str]) -> int:
    """Behind the mark a document may start with."""
    for at, line in enumerate(lines):
        if line and line[0] != "#":
            return at + 1 if line == "---" else at
    raise DeclinedError


def _literal(lines: list[str], at: int, indent: int, ending: str) -> tuple[str, int]:
    """A block text, line for line, and the line behind it."""
    first = lines[at]
    inner = len(first) - len(first.lstrip(" "))
    if inner <= indent or inner == len(first):
        raise DeclinedError
    margin, kept = " " * inner, []
    while at < len(lines) and (not lines[at] or lines[at].startswith(margin)):
        line = lines[at][inner:]
        if line.isspace() or (lines[at] and not line):
            raise DeclinedError
        kept.append(line)
        at += 1
    return "\n".join(kept).rstrip("\n") + ending, at


class _Lines(dict[str, _Line | None]):
    """The meaning of lines that were read before; None for an empty one or a comment."""

    def __missing__(self, line: str) -> _Line | None:
        found = _line(line)
        if len(self) >= REMEMBERED_MAX:
            self.clear()
        self[line] = found
        return found


class _Blocks(dict[str, _Block | None]):
    """The meaning of blocks that were read before; None for an empty line or a comment."""

    def __missing__(self, block: str) -> _Block | None:
        found: _Block | None = None
        simple = None if "\n" in block else _SIMPLE.fullmatch(block)
        # The pattern takes nothing that is not printable, but for a text in quotes.
        is_checked = simple is not None and not simple[5]
        if not is_checked and not block.replace("\n", " ").isprintable():
            raise DeclinedError
        if block and block[0] not in "#- \n":
            found = _block(block, simple)
        elif block and (block[0] != "#" or "\n" in block or _REF in block):
            # What goes on behind an empty line or a comment is the rest of a block.
            raise _UnblockedError
        if len(block) <= BLOCK_CHARS_MAX:
            if len(self) >= BLOCKS_MAX:
                self.clear()
            self[block] = found
        return found


_lines, _blocks = _Lines(), _Blocks()
_keys: set[str] = set()


def forget() -> None:
    """Forget everything that was seen, as if nothing had been read yet."""
    _lines.clear()
    _keys.clear()
    _blocks.clear()


def _block(block: str, simple: "re.Match[str] | None") -> _Block:
    written = block.count(_REF)
    if simple is not None and not written:
        _, _, key, scalar, quoted = simple.groups()
        value = _scalar(scalar) if scalar else quoted[1:-1] if quoted else None
        return intern(key), value, None, 0, 0
    root, refs, deepest = _read_lines([*block.split("\n"), ""])
    ((key, value),) = root.items()
    return key, value, refs, written, deepest


def _line(line: str) -> _Line | None:
    """The meaning of a line by itself."""
    simple = _SIMPLE.fullmatch(line)
    if simple is not None:
        blank, hyphen, key, scalar, quoted = simple.groups()
        indent = len(blank)
        inner = indent + len(hyphen) if hyphen else 0
        key = intern(key)
        value = _scalar(scalar) if scalar else quoted[1:-1] if quoted else _LATER
        return indent, inner, key, value, key is _REF
    body = line.lstrip(" ")
    indent = len(line) - len(body)
    found: _Line | None = None
    if body and body[0] == "-":
        rest = body[1:].lstrip(" ")
        if not rest or body[1] != " " or rest[0] in "#-":
            raise DeclinedError
        inner = indent + len(body) - len(rest)
        if rest[0] not in "\"'[{" and (": " in rest or rest[-1] == ":"):
            found = _told(indent, inner, *_field(rest))
        else:
            found = _told(indent, inner, None, _value(rest))
            if found[3] is _LATER:
                raise DeclinedError
    elif body and body[0] != "#":
        found = _told(indent, 0, *_field(body))
    return found


def _told(indent: int, inner: int, key: str | None, value: Any) -> _Line:
    odd = key is _REF or value.__class__ in _ODD
    return indent, inner, key, value, odd


def _field(body: str) -> tuple[str, Any]:
    """The name and the value of a field."""
    key, colon, written = body.partition(": ")
    if not colon:
        if body[-1] != ":":
            raise DeclinedError
        key = body[:-1]
    if key not in _keys:
        _note_key(key)
    if not written:
        return intern(key), _LATER
    literal = _LITERALS.get(written)
    return intern(key), _value(written) if literal is None else literal


def _note_key(key: str) -> None:
    if _KEY.fullmatch(key) is None:
        raise DeclinedError
    if len(_keys) >= REMEMBERED_MAX:
        _keys.clear()
    _keys.add(key)


def _scalar(written: str) -> Any:
    if written[0].isalpha() and written not in WORDS:
        return written
    known, wrong, _ = meaning(written)
    if wrong:
        raise DeclinedError
    return known


def _value(written: str) -> Any:
    """The value that is written behind a field or a hyphen."""
    if _SCALAR.fullmatch(written):
        return _scalar(written)
    if _QUOTED.fullmatch(written):
        return written[1:-1]
    text = written.lstrip(" ")
    if not text or text[0] == "#":
        return _LATER
    if text.startswith(_REFUSED) or text.count("[") + text.count("{") > BRACKETS_MAX:
        raise DeclinedError
    sound, known = read_value(text)
    if not sound:
        raise DeclinedError
    return known
