"""A place names what is to be changed in a file: by a path, by a key anywhere, or by a line.

    resourceTemplates[url==X].targets[name=='Y'].ref     a path with selectors
    managed[0].spec.imageRef                             an item by its number, from 0
    shardSpecOverrides[shard==/aws/a.yml && disabled==true]
    parameters.'a.b'                                     a name with a dot in it
    targets[*].ref                                       every item

A selector looks at the fields of each item; a field that is a reference, `{$ref: X}`, equals X. A
path may lead to several values, and then means all of them.
"""

import re

import msgspec

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown


class FieldIs(msgspec.Struct, frozen=True):
    """A field of an item has this text."""

    fields: tuple[str, ...]
    value: str

    def __str__(self) -> str:
        return f"{'.'.join(self.fields)}=={self.value}"


class FieldStep(msgspec.Struct, frozen=True):
    """One step: into a field."""

    name: str


class Item(msgspec.Struct, frozen=True):
    """One step: into an item by its number; None is every item."""

    number: int | None


class Matching(msgspec.Struct, frozen=True):
    """One step: into every item that passes all the tests."""

    tests: tuple[FieldIs, ...]


Step = FieldStep | Item | Matching


class YamlPlace(msgspec.Struct, frozen=True):
    """What a path leads to, in every document of a file; the empty path is the document itself."""

    path: str
    # Which document of the file, from 0; None is every one.
    document: int | None = None

    def __str__(self) -> str:
        return self.path or "the document"


class KeyPlace(msgspec.Struct, frozen=True):
    """Every value of a key, wherever it stands in a YAML file."""

    key: str

    def __str__(self) -> str:
        return f"every {self.key}"


class LinePlace(msgspec.Struct, frozen=True):
    """What follows a prefix, on every line that starts with it: `export RECONCILE_IMAGE_TAG=`."""

    prefix: str

    def __str__(self) -> str:
        return f"the line {shown(self.prefix)}"


Place = YamlPlace | KeyPlace | LinePlace

_QUOTED = r"'(?:[^']|'')*'|\"[^\"]*\""
_NAME = rf"(?:{_QUOTED}|[^\s.\[\]'\"=&]+)"
_FIELDS = rf"{_NAME}(?:\.{_NAME})*"
_TEST = re.compile(rf"\s*(?P<fields>{_FIELDS})\s*==\s*(?P<value>{_QUOTED}|[^\]'\"&\s]+)\s*")
_STEP = re.compile(
    rf"\[(?:(?P<number>[0-9]{{1,9}}|\*)|(?P<tests>(?:{_QUOTED}|[^\]'\"])+))\]|(?P<name>{_NAME})"
)
_REMEDY = "write it like a.b[0].c or a[name=='x'].b"


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path; UserError if it is none."""
    steps: list[Step] = []
    at = 0
    while at < len(path):
        if path[at] == "." and steps and not path.startswith(".[", at):
            at += 1
        elif steps and path[at] != "[":
            raise _wrong(path, at)
        found = _STEP.match(path, at)
        if found is None:
            raise _wrong(path, at)
        steps.append(_step(path, found))
        at = found.end()
    return tuple(steps)


def _step(path: str, found: re.Match[str]) -> Step:
    if (name := found["name"]) is not None:
        return FieldStep(_unquoted(name))
    if (number := found["number"]) is not None:
        return Item(None if number == "*" else int(number))
    tests: list[FieldIs] = []
    text, at = found["tests"], 0
    while True:
        test = _TEST.match(text, at)
        if test is None:
            raise _wrong(path, found.start("tests") + at)
        fields = tuple(_unquoted(each) for each in re.findall(_NAME, test["fields"]))
        tests.append(FieldIs(fields, _unquoted(test["value"])))
        at = test.end()
        if at == len(text):
            return Matching(tuple(tests))
        if not text.startswith("&&", at):
            raise _wrong(path, found.start("tests") + at)
        at += 2


def _unquoted(text: str) -> str:
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    return text[1:-1] if text[0] == '"' else text


def _wrong(path: str, at: int) -> UserError:
    what = f"{shown(path)} is no path from its character {at + 1} on"
    return UserError((Problem("", what, _REMEDY),))
