"""What every fact of a journal has, and the table of facts that can be read.

A fact knows the line that `journal show` prints of it and the targets and gates it is about, so
that shared code reads journals of every kind and knows none of them. A kind adds its facts with
`register`; an entry is decoded by its tag.
"""

import enum
from collections.abc import Callable, Iterable

import msgspec

from tidegate.model.errors import TidegateError
from tidegate.model.json_text import json_decoder
from tidegate.model.time import Instant, format_second

# A line names this many; the others are counted.
NAMES_MAX = 3


class Fact(msgspec.Struct, frozen=True, tag_field="is", kw_only=True, omit_defaults=True):
    """Something that happened. `v` is the version of its form."""

    v: int = 1

    def line(self) -> str:
        """What happened, on one line."""
        raise NotImplementedError

    def line_of(self, target: str, gate: str) -> str:  # noqa: ARG002
        """The same where a target or a gate is named: what is said of it."""
        return self.line()

    def names(self, target: str) -> bool:
        """Whether it is about a target."""
        return bool(target) and getattr(self, "target", "") == target

    def is_news(self) -> bool:
        """Whether anything changed by it; a look that found all as before is recorded, too."""
        return True

    def asks(self, gate: str, target: str) -> bool:  # noqa: ARG002
        """Whether a verdict of a gate changed, for a target if one is named."""
        return False


class Mode(enum.Enum):
    """Whether a plan is carried out."""

    OBSERVE = "observe"  # it is recorded what would have been done
    ACT = "act"


class UnknownFactError(TidegateError):
    """An entry whose fact this program cannot read."""


_DECODERS: dict[str, Callable[[bytes], Fact]] = {}
_TYPES: dict[str, type[Fact]] = {}


def tag_of(fact: Fact | type[Fact]) -> str:
    """The tag under which a fact is written."""
    return str(fact.__struct_config__.tag)


def register(*types: type[Fact]) -> None:
    """Add facts that can be read; each tag names one fact."""
    for each in types:
        tag = tag_of(each)
        if tag in _DECODERS:
            raise TypeError(f"two facts are tagged {tag}")
        _DECODERS[tag] = json_decoder(each)
        _TYPES[tag] = each


def tags(package: str = "") -> tuple[str, ...]:
    """The tags of all facts that can be read, or of those that a package brings."""
    return tuple(tag for tag, each in _TYPES.items() if each.__module__.startswith(package))


def decode(tag: str, body: bytes) -> Fact:
    """The fact of an entry; UnknownFactError if no kind that is installed has it."""
    known = _DECODERS.get(tag)
    if known is None:
        what = f'an entry of kind "{tag}" cannot be read'
        raise UnknownFactError(f"{what}: a newer version of Tidegate, or another kind, wrote it")
    return known(body)


def some_names(names: Iterable[str]) -> str:
    """Some names and how many more: "a, b, c and 4 more"."""
    every = list(names)
    named = ", ".join(every[:NAMES_MAX])
    return named if len(every) <= NAMES_MAX else f"{named} and {len(every) - NAMES_MAX} more"


def because(reason: str) -> str:
    """The reason a person gave, behind a colon."""
    return f": {reason}" if reason else ""


def moment_text(instant: Instant) -> str:
    """A moment as people compare them: by the second."""
    return format_second(instant)
