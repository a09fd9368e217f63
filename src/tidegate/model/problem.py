"""A problem says where, what is written there, and what to write instead.

Documents are checked as a whole: a `Problems` collector is handed down while a document is read,
and every problem is reported together, so that all mistakes can be fixed in one pass.
"""

import difflib
from collections.abc import Iterable

import msgspec

# Longer values are cut in messages: the reader needs to recognise the value, not to read it all.
VALUE_LENGTH_MAX = 60


class Problem(msgspec.Struct, frozen=True, gc=False):
    """One thing that is wrong in a document, and its remedy."""

    path: str
    message: str
    remedy: str = ""

    def text(self) -> str:
        """The problem on one line: the thing first, then the value, then what to do."""
        start = f"{self.path}: {self.message}" if self.path else self.message
        return f"{start}; {self.remedy}" if self.remedy else start


class Problems:
    """Collects problems and warnings while a document is read."""

    def __init__(self) -> None:
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []

    def add(self, path: str, message: str, remedy: str = "") -> None:
        """Note something that makes the document unusable."""
        self.errors.append(Problem(path, message, remedy))

    def warn(self, path: str, message: str, remedy: str = "") -> None:
        """Note something that is probably a mistake but has one safe meaning."""
        self.warnings.append(Problem(path, message, remedy))


def shown(value: object) -> str:
    """A value as it would be written in JSON, cut to a recognisable length."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        text = repr(value)
    return shorten(text)


def shorten(text: str) -> str:
    """A text cut to a recognisable length."""
    return text if len(text) <= VALUE_LENGTH_MAX else text[: VALUE_LENGTH_MAX - 1] + "…"


def nearest(name: str, choices: Iterable[str]) -> str:
    """`did you mean "x"?` if some choice is close to the name, else an empty text."""
    close = closest(name, choices)
    return f'did you mean "{close}"?' if close else ""


def closest(name: str, choices: Iterable[str]) -> str:
    """The choice that is spelt most like the name; empty where none is close.

    The same letters in another order are nearest: "gte" is "get", and not "gates".
    """
    known = sorted(set(choices))
    turned = (each for each in known if sorted(each) == sorted(name))
    return next(turned, "") or next(iter(difflib.get_close_matches(name, known, n=1)), "")


def nearest_or_all(name: str, choices: Iterable[str], none: str = "none") -> str:
    """What to offer in place of a name that is not there: the nearest, or all there are."""
    every = list(choices)
    return nearest(name, every) or f"there are {', '.join(every) or none}"
