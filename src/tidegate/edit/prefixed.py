"""The value that follows a prefix on a line, for files that are no YAML: `export TAG=abc # why`.

The value may be in quotes, and keeps them; what follows it may only be a comment. Anything else,
two values, a `$(…)`, is refused, since what it means is decided by another program.

A prefix that sets a variable of a shell, `TAG=` or `export TAG=`, means that variable however it is
written: with `export` or without, indented or not.
"""

import re
from collections.abc import Iterator

import msgspec

from tidegate.edit import writer
from tidegate.edit.place import LinePlace
from tidegate.edit.splice import Splice
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shorten, shown

_WORD = r"[A-Za-z0-9_./:@%+,=-]*"
_REST = re.compile(
    rf"(?P<space>[ \t]*)(?:'(?P<single>[^'\n]*)'|\"(?P<double>[^\"\\$`\n]*)\"|(?P<bare>{_WORD}))"
    r"(?:[ \t]+#[^\n]*|[ \t]*)"
)
_LINE = re.compile(r"[^\r\n]*")
_VARIABLE = re.compile(r"[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=")
# What no shell and no reader of YAML gives a meaning of its own, within quotes.
_VALUE = re.compile(r"[A-Za-z0-9_./:@%+,= -]*")


class Prefixed(msgspec.Struct, frozen=True):
    """A value behind a prefix, and where it stands with its quotes."""

    line: int
    start: int
    end: int
    value: str
    quote: str


def find_lines(name: str, text: str, place: LinePlace) -> list[Prefixed]:
    """The value of every line that starts with the prefix; UserError for one that has none."""
    if not place.prefix or "\n" in place.prefix:
        what = f"{shown(place.prefix)} is no beginning of a line"
        raise UserError((Problem("", what, "write one like `export TAG=`"),))
    return [_read(name, number, line, at) for number, line, at in _with(text, place.prefix)]


def variable_in(prefix: str) -> str:
    """The variable that a line with this prefix sets in a shell; empty: it sets none."""
    found = _VARIABLE.fullmatch(prefix)
    return found["name"] if found else ""


def _with(text: str, prefix: str) -> Iterator[tuple[int, re.Match[str], int]]:
    """The lines with a prefix: their number, the line, and where the prefix ends."""
    variable = variable_in(prefix)
    number, at = 1, 0
    while at < len(text):
        found = _LINE.match(text, at)
        if found is None:
            return
        if not variable:
            end = found.start() + len(prefix) if found[0].startswith(prefix) else None
        else:
            set_here = _VARIABLE.match(text, found.start(), found.end())
            end = set_here.end() if set_here and set_here["name"] == variable else None
        if end is not None:
            yield number, found, end
        number, at = number + 1, text.find("\n", at) + 1 or len(text)


def _read(name: str, number: int, line: re.Match[str], at: int) -> Prefixed:
    rest = _REST.fullmatch(line.string, at, line.end())
    if rest is None:
        what = f"{shorten(line[0])} is more than one value"
        raise UserError((Problem(f"{name}:{number}", what, "leave one value on the line"),))
    group = next(each for each in ("single", "double", "bare") if rest[each] is not None)
    quote = {"single": "'", "double": '"', "bare": ""}[group]
    start, end = rest.span(group)
    return Prefixed(number, start - len(quote), end + len(quote), rest[group], quote)


def replacing_line(place: LinePlace, found: Prefixed, value: str, written: str | None) -> Splice:
    """One value for another, in the quotes it had, or in some if it needs them."""
    if not _VALUE.fullmatch(value):
        what = f"{shown(value)} is no value for {place}"
        raise UserError((Problem("", what, "use letters, digits and _./:@%+,=-"),))
    quote = found.quote
    yaml_like = place.prefix.rstrip().endswith(":")
    if " " in value or not value or (yaml_like and not writer.is_plain(value)):
        quote = quote or "'"
    new = f"{quote}{value}{quote}" if written is None else written
    return Splice(found.start, found.end, new)
