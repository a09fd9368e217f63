"""Reads a document field by field, typing each value where it enters and collecting every problem.

A reader is at one object of a document and knows its path, so that each problem names its place,
shows the value, and says what to write. Nothing raises: a field that cannot be used yields its
default, and the caller checks the problems once, at the end.
"""

import enum
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from tidegate.model.json_text import decode_json
from tidegate.model.limit import REMEDY as LIMIT_REMEDY
from tidegate.model.limit import Limit, parse_limit
from tidegate.model.problem import Problems, nearest, shown
from tidegate.model.time import Duration, Instant, parse_duration, parse_instant

T = TypeVar("T")
E = TypeVar("E", bound=enum.Enum)

_NOUNS = {
    "int": "a whole number",
    "str": "a text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
# Of a document that is another one altogether, so many are named.
UNKNOWN_MAX = 100
DURATION_REMEDY = 'write a duration like "90s", "30m" or "1h30m"'
INSTANT_REMEDY = 'write a time like "2026-01-31T12:00:00Z"'


class Reader:
    """One object of a document, with its path."""

    def __init__(self, value: object, path: str, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self._asked: set[str] = set()
        self._fields: Mapping[str, Any] = {}
        if isinstance(value, Mapping):
            self._fields = value
        elif value is not None:
            problems.add(path, f"{shown(value)} is not an object", "write its fields")

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.undecoded(name) is not None

    def known(self) -> set[str]:
        """The names of the fields that were read so far."""
        return self._asked

    def names(self) -> list[str]:
        """The names of all fields, in their order."""
        return list(self._fields)

    def raw(self, name: str) -> Any:
        """The field as it is; None if absent."""
        value = self.undecoded(name)
        if not isinstance(value, msgspec.Raw):
            return value
        try:
            return decode_json(value)
        except msgspec.DecodeError as error:  # a number beyond what a float can be
            self.problems.add(self.at(name), f"cannot be read: {error}", "write a smaller one")
            return None

    def undecoded(self, name: str) -> Any:
        """The field, still as JSON text if it arrived so (lists too long to decode twice)."""
        self._asked.add(name)
        value = self._fields.get(name)
        is_null = isinstance(value, msgspec.Raw) and bytes(value) == b"null"
        return None if is_null else value

    def text(self, name: str) -> str | None:
        """A text; None if absent."""
        value = self.raw(name)
        if value is None or isinstance(value, str):
            return value
        self.problems.add(self.at(name), f"{shown(value)} is not a text", "put it in quotes")
        return None

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self.raw(name)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.problems.add(self.at(name), f"{shown(value)} is neither true nor false", "write one")
        return default

    def whole(self, name: str) -> int | None:
        """A whole number of 0 or more; None if absent."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.problems.add(
            self.at(name), f"{shown(value)} is not a whole number", "write 0 or a number above it"
        )
        return None

    def limit(self, name: str) -> Limit | None:
        """A number of targets or a percentage; None if absent."""
        value = self.raw(name)
        if value is None:
            return None
        try:
            return parse_limit(value)
        except ValueError as error:
            self.problems.add(self.at(name), f"{shown(value)} is {error}", LIMIT_REMEDY)
            return None

    def duration(self, name: str, remedy: str = DURATION_REMEDY) -> Duration | None:
        """A duration of 0 or more; None if absent."""
        value = self.raw(name)
        if value is None:
            return None
        try:
            duration = parse_duration(value) if isinstance(value, str) else Duration(-1)
            if duration >= 0:
                return duration
            wrong = "negative" if isinstance(value, str) else "not a text"
        except ValueError as error:
            wrong = str(error)
        self.problems.add(self.at(name), f"{shown(value)}: {wrong}", remedy)
        return None

    def span(self, name: str, low: Duration, high: Duration) -> tuple[Duration, Duration]:
        """A duration, or one drawn `from` … `to`; what is absent is as it was."""
        value = self.raw(name)
        if isinstance(value, dict):
            span = self.child(name)
            low = span.duration("from") or low
            high = max(low, span.duration("to") or low)
            span.close()
        elif value is not None:
            low = high = self.duration(name) or low
        return low, high

    def instant(self, name: str) -> Instant | None:
        """A moment; None if absent."""
        value = self.raw(name)
        if value is None:
            return None
        try:
            if isinstance(value, str):
                return parse_instant(value)
            wrong = "not a text"
        except ValueError as error:
            wrong = str(error)
        self.problems.add(self.at(name), f"{shown(value)}: {wrong}", INSTANT_REMEDY)
        return None

    def choice(self, name: str, choices: type[E], default: E) -> E:
        """One of an enum's values."""
        value = self.raw(name)
        if value is None:
            return default
        for member in choices:
            if member.value == value:
                return member
        words = [str(member.value) for member in choices]
        hint = nearest(value, words) if isinstance(value, str) else ""
        offer = ", ".join(words)
        remedy = hint or f"write one of {offer}"
        self.problems.add(self.at(name), f"{shown(value)} is not known here", remedy)
        return default

    def child(self, name: str) -> "Reader":
        """The object in a field; an empty one if absent."""
        return Reader(self.raw(name), self.at(name), self.problems)

    def children(self, name: str) -> list["Reader"]:
        """The objects of a list; none if absent."""
        return [
            Reader(item, f"{self.at(name)}[{i}]", self.problems)
            for i, item in enumerate(self._list(name))
        ]

    def texts(self, name: str) -> list[str]:
        """The texts of a list; none if absent."""
        found: list[str] = []
        for i, item in enumerate(self._list(name)):
            if isinstance(item, str):
                found.append(item)
            else:
                path = f"{self.at(name)}[{i}]"
                self.problems.add(path, f"{shown(item)} is not a text", "put it in quotes")
        return found

    def _list(self, name: str) -> list[Any]:
        value = self.raw(name)
        if value is None or isinstance(value, list):
            return value or []
        self.problems.add(self.at(name), f"{shown(value)} is not a list", "write a list")
        return []

    def typed_list(self, name: str, item: type[T]) -> list[T]:
        """The records of a long list, without their positions."""
        return [one for _, one in self.typed_items(name, item)]

    def typed_items(self, name: str, item: type[T]) -> Iterable[tuple[int, T]]:
        """A long list of plain records with their positions, decoded in one go.

        Item by item only where that fails: to find every problem, and go on with the others.
        """
        value = self.undecoded(name)
        if value is None:
            return ()
        try:
            if isinstance(value, msgspec.Raw):
                found = decode_json(value, list[item])  # type: ignore[valid-type]
                return enumerate(found)
            return enumerate(msgspec.convert(value, list[item]))  # type: ignore[valid-type]
        except msgspec.ValidationError:
            return self._typed_one_by_one(name, item)

    def _typed_one_by_one(self, name: str, item: type[T]) -> list[tuple[int, T]]:
        found: list[tuple[int, T]] = []
        for i, value in enumerate(self._list(name)):
            try:
                found.append((i, msgspec.convert(value, item)))
            except msgspec.ValidationError as error:
                what, _, where = str(error).partition(" - at `$")
                self._explain(f"{self.at(name)}[{i}]", value, what, where.rstrip("`"))
        return found

    def _explain(self, path: str, item: Any, what: str, where: str) -> None:
        """A decoder's complaint about one item, in our words."""
        words = what.split("`")
        if "missing required field" in what:
            self.problems.add(f"{path}{where}.{words[1]}", "missing", f"write {words[1]}")
            return
        for key in re.findall(r"[^.\[\]]+", where):
            item = item[int(key)] if isinstance(item, list) else item.get(key)
        wanted = [_NOUNS.get(each, each) for each in words[1].split(" | ") if each != "null"]
        noun = " or ".join(wanted)
        self.problems.add(f"{path}{where}", f"{shown(item)} is not {noun}", f"write {noun}")

    def close(self, *, fatal: bool = True) -> None:
        """A field that was not read is misspelt: an error, or a warning if not fatal."""
        unknown = sorted(self._fields.keys() - self._asked)
        note = self.problems.add if fatal else self.problems.warn
        for name in unknown[:UNKNOWN_MAX]:
            hint = nearest(name, self._asked) or f"known here: {', '.join(sorted(self._asked))}"
            note(self.at(name), "unknown field", hint)
        if len(unknown) > UNKNOWN_MAX:
            note(self.path, f"{len(unknown) - UNKNOWN_MAX} more unknown fields")
