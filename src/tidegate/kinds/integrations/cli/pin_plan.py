"""A pin in the bundle as somebody reads it before it is written: lines, shards, restarts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import msgspec

from tidegate.edit.edits import Edited
from tidegate.kinds.integrations.app.shards import in_order
from tidegate.kinds.integrations.core.review.aims import Aim, At
from tidegate.model.counted import counted
from tidegate.registry.image import is_same

# So many names are listed in a sentence.
NAMES_SHOWN = 5


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become of one shard."""

    aim: Aim
    # What it runs, or is to run where nobody looked.
    now: str
    # The image of its own it is to have; empty: none any more.
    image: str
    # What it is to run then.
    then: str

    @property
    def stays(self) -> bool:
        """Whether it keeps what it has."""
        return is_same(self.then, self.now) or is_same(self.now, self.then)


class Said(msgspec.Struct, frozen=True):
    """The image a shard is pinned to."""

    image: str
    # What is written beside it.
    note: str
    # Whoever is pinned to the same already keeps their own note.
    as_it_is: bool


# What becomes of each shard; None: it is pinned no more.
Doing = Mapping[At, Said | None]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line that changes: of the file as it is, or, where it is new, of the file to come."""

    file: str
    line: int
    # None: there is no such line on that side.
    old: str | None
    new: str | None


class PinPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to say before anything is written."""

    integration: str
    wishes: tuple[Wish, ...]
    doing: Doing
    edited: tuple[Edited, ...]
    lines: tuple[Line, ...]
    # Workloads whose pods are started anew once this is applied.
    restarting: tuple[str, ...]
    # Against what is counted: what runs, or what was wanted.
    looked: bool
    # Shards of the same places without an image of their own, and what they want now.
    others: tuple[tuple[str, str], ...]

    @property
    def sentence(self) -> str:
        """`24 shards stay on f929a38, 0 restarts`."""
        stay = Counter(wish.then for wish in self.wishes if wish.stays)
        move = Counter((wish.now, wish.then) for wish in self.wishes if not wish.stays)
        parts = [f"{shards(n)} {_verb(n, 'stay')} on {image}" for image, n in stay.most_common()]
        parts += (
            f"{shards(n)} {_verb(n, 'move')} from {old} to {new}"
            for (old, new), n in move.most_common()
        )
        return f"{', '.join(parts)}, {counted(len(self.restarting), 'restart')}"

    @property
    def rest(self) -> str:
        """Who goes wherever the default goes; empty: nobody."""
        if not self.others:
            return ""
        wants = Counter(image for _, image in self.others)
        told: list[str] = []
        for image, count in wants.most_common():
            names = listed(
                sorted((name for name, own in self.others if own == image), key=in_order)
            )
            who = str(count) if told else f"{shards(count)} without a pin"
            told.append(f"{who} {_verb(count, 'want')} {image}: {names}")
        return "; ".join(told)

    def document(self) -> dict[str, Any]:
        """The same for programs; these names are API."""
        return {
            "kind": "PinPlan",
            "integration": self.integration,
            "lines": [msgspec.structs.asdict(line) for line in self.lines],
            "shards": [
                {
                    "shard": wish.aim.unit.name,
                    "environment": wish.aim.place.managed.namespace.environment,
                    "now": wish.now,
                    "image": wish.image or None,
                    "then": wish.then,
                }
                for wish in self.wishes
            ],
            "restarts": list(self.restarting),
            "against": "running" if self.looked else "wanted",
            "others": [{"shard": name, "wants": image} for name, image in self.others],
        }


def _verb(count: int, verb: str) -> str:
    return f"{verb}s" if count == 1 else verb


def listed(names: Sequence[str]) -> str:
    """The first of some names, and how many there are more."""
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def shards(count: int) -> str:
    """`24 shards`."""
    return counted(count, "shard")


def changed_lines(file: str, before: bytes, after: bytes) -> Iterator[Line]:
    """Every line that changes, side by side where one takes the place of another."""
    old, new = before.decode().splitlines(), after.decode().splitlines()
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        pairs = min(j - i, m - k)
        for at in range(pairs):
            yield Line(file=file, line=i + at + 1, old=old[i + at], new=new[k + at])
        for at in range(i + pairs, j):
            yield Line(file=file, line=at + 1, old=old[at], new=None)
        for at in range(k + pairs, m):
            yield Line(file=file, line=at + 1, old=None, new=new[at])
