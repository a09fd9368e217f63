"""A change that moves schemas and what needs them at once: neither can be reverted by itself.

Schemas go first, in a change of their own; that is a rule of whoever runs an app-interface.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

import msgspec

from tidegate.kinds.promotions.core.model import SCHEMAS, Held
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.finding import spots_at, standing
from tidegate.kinds.promotions.files.reading import promotions

# So many places are named of each.
NAMED = 3


class Moved(msgspec.Struct, frozen=True):
    """A version that is another one than before."""

    file: str
    line: int
    # None: there was, or is, none.
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.before or 'nothing'} → {self.after or 'nothing'}"


class Mixture(msgspec.Struct, frozen=True):
    """Schemas and an artifact that move in one change."""

    artifact: str
    schemas: tuple[Moved, ...]
    others: tuple[Moved, ...]

    def text(self) -> str:
        """What is mixed, where, and what to do."""
        return (
            f"mixes schemas ({_some(self.schemas)}) with {self.artifact} ({_some(self.others)}); "
            "run `tidegate promote schemas` first, and offer the rest when that is merged"
        )


def mixtures(base: Files, head: Files) -> tuple[Mixture, ...]:
    """Every promotion of which a change moves both; UserError if one cannot be read."""
    found: list[Mixture] = []
    for promotion in promotions(head):
        if promotion.schemas is None:
            continue
        places = promotion.schemas.places
        before, after = (spots_at(each, SCHEMAS, places).held for each in (base, head))
        schemas = tuple(_moved(before, after))
        if not schemas:
            continue
        before, after = (standing(each, promotion).held for each in (base, head))
        others = tuple(_moved(before, after))
        if others:
            found.append(Mixture(promotion.name, schemas, others))
    return tuple(found)


def _moved(before: Iterable[Held], after: Iterable[Held]) -> Iterator[Moved]:
    """What differs, place by place; one that only stands on another line does not."""
    old, new = _placed(before), _placed(after)
    for key in {**old, **new}:
        for one, other in zip_longest(old.get(key, ()), new.get(key, ())):
            values = tuple(None if each is None else each.value for each in (one, other))
            here = other or one
            if values[0] != values[1] and here is not None:
                yield Moved(here.file, here.line, *values)


def _placed(held: Iterable[Held]) -> dict[tuple[str, str, str], list[Held]]:
    found: dict[tuple[str, str, str], list[Held]] = {}
    for each in held:
        found.setdefault((each.environment, each.file, each.note), []).append(each)
    return found


def _some(moved: tuple[Moved, ...]) -> str:
    more = f" and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
    return ", ".join(map(str, moved[:NAMED])) + more
