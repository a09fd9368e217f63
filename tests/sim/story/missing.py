"""A witness is shown able to see: with one rule missing, some story fails in words that say which.

The faults are planted one at a time, each where a rule is. `first` is a seed whose story found it,
and soon, when it was planted; later seeds are tried, too, since another change may move it.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest


class Missing(msgspec.Struct, frozen=True):
    """A rule that is taken out."""

    # Where it is, and what is there instead.
    where: Any
    what: str
    instead: Any
    # What the witness says, as an expression.
    words: str
    first: int = 0


def nothing(*_: Any) -> tuple[()]:
    """No verdict, no option, no notice."""
    return ()


def never_asks(*args: Any) -> list[str]:
    """A worker that acts without asking whether it still leads, and whether a brake is on."""
    return ["" for _ in args[-1]]


def find(
    missing: Missing,
    live_through: Callable[[int], object],
    patch: pytest.MonkeyPatch,
    seeds_max: int,
) -> int:
    """Take a rule out; the seed of the story that breaks, in words that say which it is."""
    patch.setattr(missing.where, missing.what, missing.instead)
    said: list[str] = []
    for seed in range(missing.first, missing.first + seeds_max):
        try:
            live_through(seed)
        except AssertionError as error:
            said.append(str(error).partition("\n\nseed")[0])
            if re.search(missing.words, said[-1]):
                return seed
    raise AssertionError("\n".join(said) or "nothing was said at all")
