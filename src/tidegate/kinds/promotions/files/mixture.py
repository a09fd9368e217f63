"""Finds changes that move schemas and what needs them at once: neither can be reverted alone.

Schemas go first, in a change of their own; that is a rule of every app-interface.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

import msgspec

from tidegate.kinds.promotions.core.model import SCHEMAS, WrittenVersion
from tidegate.kinds.promotions.files.declared import promotions
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.versions import (
    WrittenVersions,
    find_versions,
    versions_at,
)
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

# So many places are named of each.
NAMED = 3


class MovedVersion(msgspec.Struct, frozen=True):
    """A version that changed."""

    file: str
    line: int
    # None: there was none, or is none now.
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.before or 'nothing'} → {self.after or 'nothing'}"


class Mixture(msgspec.Struct, frozen=True):
    """Schemas and an artifact that move in one change."""

    artifact: str
    schemas: tuple[MovedVersion, ...]
    others: tuple[MovedVersion, ...]

    def text(self) -> str:
        """What is mixed, where, and the remedy."""
        return (
            f"mixes schemas ({_some(self.schemas)}) with {self.artifact} ({_some(self.others)}); "
            "run `tidegate promote schemas` first, and offer the rest when that is merged"
        )


def mixtures(base: Files, head: Files) -> tuple[Mixture, ...]:
    """Every promotion of which a change moves schemas and artifact; UserError if unreadable."""
    found: list[Mixture] = []
    for promotion in promotions(head):
        if promotion.schemas is None:
            continue
        places = promotion.schemas.places
        before, after = (versions_at(each, SCHEMAS, places) for each in (base, head))
        schemas = tuple(_moved(before.values, after.values))
        unread = tuple(_unread(base, head, (before, after)))
        if not schemas and not unread:
            continue
        before, after = (find_versions(each, promotion) for each in (base, head))
        others = tuple(_moved(before.values, after.values))
        if schemas and others:
            found.append(Mixture(promotion.name, schemas, others))
            continue
        more = tuple(_unread(base, head, (before, after)))
        if (schemas or unread) and (others or more):
            raise UserError(tuple(dict.fromkeys((*unread, *more))))
    return tuple(found)


def _unread(
    base: Files, head: Files, found: tuple[WrittenVersions, WrittenVersions]
) -> Iterator[Problem]:
    """What a change made unreadable, or readable again: which versions moved is not known."""
    for written in found:
        for some in written.unread.values():
            for each in some:
                if not each.absent and base.raw(each.file) != head.raw(each.file):
                    yield Problem("", each.why)


def _moved(
    before: Iterable[WrittenVersion], after: Iterable[WrittenVersion]
) -> Iterator[MovedVersion]:
    """What differs, place by place; a value that only moved to another line does not."""
    old, new = _placed(before), _placed(after)
    for key in {**old, **new}:
        for one, other in zip_longest(old.get(key, ()), new.get(key, ())):
            values = tuple(None if each is None else each.value for each in (one, other))
            here = other or one
            if values[0] != values[1] and here is not None:
                yield MovedVersion(here.file, here.line, *values)


def _placed(written: Iterable[WrittenVersion]) -> dict[tuple[str, str, str], list[WrittenVersion]]:
    found: dict[tuple[str, str, str], list[WrittenVersion]] = {}
    for each in written:
        found.setdefault((each.environment, each.file, each.note), []).append(each)
    return found


def _some(moved: tuple[MovedVersion, ...]) -> str:
    more = f" and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
    return ", ".join(map(str, moved[:NAMED])) + more
