"""The search language of OpenShift Cluster Manager: a text, to a question about one document.

    key like 'sre-capabilities.aus.%' and type='Subscription'
    id in ('a', 'it''s') and (managed='true' or not status = 'Active')

A text in quotes doubles the quotes within it. A field that is not there is null, and null fits
nothing but `is null`, as in SQL.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tidegate.model.time import parse_instant

Fits = Callable[[Mapping[str, Any]], bool]

# Deeper searches are refused: recursion must have a bound.
DEPTH_MAX = 32
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^']|'')*')
  | (?P<op><=|>=|<>|!=|=|<|>|\(|\)|,)
  | (?P<word>[A-Za-z0-9_][\w.\-/:+]*)
)""",
    re.VERBOSE,
)


class SearchError(ValueError):
    """A search that cannot be understood."""


def compile_search(text: str) -> Fits:
    """The question a text asks; SearchError says what is wrong with it."""
    if not text.strip():
        return lambda _: True
    parser = _Parser(_tokens(text), text)
    fits = parser.either(0)
    if parser.peek() is not None:
        raise parser.odd()
    return fits


def field_of(document: Mapping[str, Any], dotted: str) -> Any:
    """A field by its dotted name; None: it is not there."""
    value: Any = document
    for name in dotted.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def as_text(value: object) -> str | None:
    """A value as it is compared; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise SearchError(f"Failed to parse search query: {text}")
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class _Parser:
    """One text, read from left to right."""

    def __init__(self, tokens: list[tuple[str, str]], text: str) -> None:
        self._tokens = tokens
        self._text = text
        self._at = 0

    def peek(self) -> tuple[str, str] | None:
        """What comes next; None: nothing does."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def odd(self) -> SearchError:
        """What is said when nothing else can be."""
        return SearchError(f"Failed to parse search query: {self._text}")

    def either(self, depth: int) -> Fits:
        """Alternatives."""
        if depth > DEPTH_MAX:
            raise self.odd()
        parts = [self._both(depth)]
        while self._word("or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else lambda doc: any(part(doc) for part in parts)

    def _both(self, depth: int) -> Fits:
        parts = [self._one(depth)]
        while self._word("and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else lambda doc: all(part(doc) for part in parts)

    def _one(self, depth: int) -> Fits:
        if self._word("not"):
            inner = self._one(depth + 1) if depth < DEPTH_MAX else self._fail()
            return lambda doc: not inner(doc)
        if self._op("("):
            inner = self.either(depth + 1)
            self._need(")")
            return inner
        return self._term()

    def _term(self) -> Fits:
        kind, key = self._next()
        if kind != "word":
            raise self.odd()
        if self._word("is"):
            return self._null(key)
        denied = self._word("not")
        fits = self._listed(key) or self._like(key) or (None if denied else self._compared(key))
        if fits is None:
            raise self.odd()
        return _denied(key, fits) if denied else fits

    def _null(self, key: str) -> Fits:
        denied = self._word("not")
        if not self._word("null"):
            raise self.odd()
        return lambda doc: (field_of(doc, key) is None) != denied

    def _listed(self, key: str) -> Fits | None:
        if not self._word("in"):
            return None
        self._need("(")
        values = {self._value()}
        while self._op(","):
            values.add(self._value())
        self._need(")")
        return lambda doc: as_text(field_of(doc, key)) in values

    def _like(self, key: str) -> Fits | None:
        for word, flags in (("like", re.DOTALL), ("ilike", re.DOTALL | re.IGNORECASE)):
            if self._word(word):
                matches = re.compile(_pattern(self._value()), flags).fullmatch
                return lambda doc: (
                    (text := as_text(field_of(doc, key))) is not None and bool(matches(text))
                )
        return None

    def _compared(self, key: str) -> Fits:
        _, op = self._next()
        if op not in _COMPARE:
            raise self.odd()
        holds, value = _COMPARE[op], self._value()
        return lambda doc: (text := as_text(field_of(doc, key))) is not None and holds(text, value)

    def _value(self) -> str:
        kind, text = self._next()
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "word":
            return text
        raise self.odd()

    def _next(self) -> tuple[str, str]:
        token = self.peek()
        if token is None:
            raise self.odd()
        self._at += 1
        return token

    def _word(self, word: str) -> bool:
        token = self.peek()
        found = token is not None and token[0] == "word" and token[1].lower() == word
        self._at += found
        return found

    def _op(self, op: str) -> bool:
        found = self.peek() == ("op", op)
        self._at += found
        return found

    def _need(self, op: str) -> None:
        if not self._op(op):
            raise self.odd()

    def _fail(self) -> Fits:
        raise self.odd()


def _denied(key: str, fits: Fits) -> Fits:
    return lambda doc: field_of(doc, key) is not None and not fits(doc)


def _pattern(like: str) -> str:
    """A LIKE pattern as a regular expression; a backslash takes the next character as it is."""
    parts, escaped = [], False
    for char in like:
        if escaped:
            parts.append(re.escape(char))
        elif char == "%":
            parts.append(".*")
        elif char == "_":
            parts.append(".")
        elif char != "\\":
            parts.append(re.escape(char))
        escaped = char == "\\" and not escaped
    return "".join(parts)


def _order(a: str, b: str) -> int:
    """Before (-1), at (0) or after (1): as times, where both are."""
    try:
        left, right = parse_instant(a), parse_instant(b)
    except ValueError:
        return (a > b) - (a < b)
    return (left > right) - (left < right)


_COMPARE: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: _order(a, b) < 0,
    "<=": lambda a, b: _order(a, b) <= 0,
    ">": lambda a, b: _order(a, b) > 0,
    ">=": lambda a, b: _order(a, b) >= 0,
}
