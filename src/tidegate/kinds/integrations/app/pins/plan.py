"""A pin in the bundle before it is written: lines, shards, restarts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

import msgspec

from tidegate.edit.edits import Edited
from tidegate.kinds.integrations.app.shards import in_order
from tidegate.kinds.integrations.core.review.aims import At, PinTarget
from tidegate.model.counted import counted
from tidegate.model.document import Document, Part
from tidegate.registry.image import is_same

# So many names are listed in a sentence.
NAMES_SHOWN = 5


class ShardPin(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become of one shard."""

    aim: PinTarget
    # What it runs, or what the bundle wants where clusters were not read.
    now: str
    # The image of its own it is to have; empty: none any more.
    image: str
    # What it is to run then.
    then: str

    @property
    def stays(self) -> bool:
        """Whether it keeps what it has."""
        return is_same(self.then, self.now) or is_same(self.now, self.then)


class PinnedImage(msgspec.Struct, frozen=True):
    """The image a shard is pinned to."""

    image: str
    # What is written beside it.
    note: str
    # A shard that is pinned to the same already keeps its note.
    as_it_is: bool


# What becomes of each shard; None: it is pinned no more.
PinEdits = Mapping[At, PinnedImage | None]


class PinLine(Part, frozen=True, kw_only=True):
    """A line that changes: of the file as it is, or, where it is new, of the file to come."""

    file: str
    line: int
    # Null: there is no such line on that side.
    old: str | None
    new: str | None


class PinPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a pin, or taking one away, changes; nothing is written yet."""

    integration: str
    pins: tuple[ShardPin, ...]
    edits: PinEdits
    edited: tuple[Edited, ...]
    lines: tuple[PinLine, ...]
    # Workloads whose pods are started anew once this is applied.
    restarting: tuple[str, ...]
    # Against what is counted: what runs, or what was wanted.
    looked: bool
    # Shards of the same places without an image of their own, and what they want now.
    others: tuple[tuple[str, str], ...]
    # What is odd and stops nothing.
    warnings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """`24 shards stay on f929a38, 0 restarts`."""
        stay = Counter(pin.then for pin in self.pins if pin.stays)
        move = Counter((pin.now, pin.then) for pin in self.pins if not pin.stays)
        parts = [f"{shards(n)} {_verb(n, 'stay')} on {image}" for image, n in stay.most_common()]
        parts += (
            f"{shards(n)} {_verb(n, 'move')} from {old} to {new}"
            for (old, new), n in move.most_common()
        )
        return f"{', '.join(parts)}, {counted(len(self.restarting), 'restart')}"

    @property
    def rest(self) -> str:
        """The shards that follow the default; empty: none."""
        if not self.others:
            return ""
        wants = Counter(image for _, image in self.others)
        words: list[str] = []
        for image, count in wants.most_common():
            names = listed(
                sorted((name for name, own in self.others if own == image), key=in_order)
            )
            who = str(count) if words else f"{shards(count)} without a pin"
            words.append(f"{who} {_verb(count, 'want')} {image}: {names}")
        return "; ".join(words)

    def document(self) -> "PinPlanReport":
        """The same for programs."""
        return PinPlanReport(
            integration=self.integration,
            lines=self.lines,
            shards=tuple(
                PlannedPin(
                    shard=pin.aim.unit.name,
                    environment=pin.aim.place.managed.namespace.environment,
                    now=pin.now,
                    image=pin.image or None,
                    then=pin.then,
                )
                for pin in self.pins
            ),
            restarts=self.restarting,
            against="running" if self.looked else "wanted",
            others=tuple(UnpinnedShard(shard=name, wants=image) for name, image in self.others),
            summary=self.sentence,
            rest=self.rest,
            warnings=self.warnings,
        )


class PlannedPin(Part, frozen=True, kw_only=True):
    """A shard, and the image it is to have."""

    shard: str
    environment: str
    now: str
    # Its own image; null: none any more.
    image: str | None
    then: str


class UnpinnedShard(Part, frozen=True, kw_only=True):
    """A shard without an image of its own."""

    shard: str
    wants: str


class PinPlanReport(Document, frozen=True, kw_only=True, tag="PinPlan"):
    """What `pin` and `unpin` answer for shards of a bundle."""

    integration: str
    lines: tuple[PinLine, ...]
    shards: tuple[PlannedPin, ...]
    # Workloads whose pods restart.
    restarts: tuple[str, ...]
    # What restarts are counted against: `running`, or `wanted` where clusters were not read.
    against: str
    others: tuple[UnpinnedShard, ...]
    # The result in a sentence; and of the shards that follow the default, empty: there are none.
    summary: str
    rest: str
    # What is odd and stops nothing.
    warnings: tuple[str, ...]


def _verb(count: int, verb: str) -> str:
    return f"{verb}s" if count == 1 else verb


def listed(names: Sequence[str]) -> str:
    """The first of some names, and how many there are more."""
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def shards(count: int) -> str:
    """`24 shards`."""
    return counted(count, "shard")


def changed_lines(file: str, before: bytes, after: bytes) -> Iterator[PinLine]:
    """Every line that changes, side by side where one takes the place of another."""
    old, new = before.decode().splitlines(), after.decode().splitlines()
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        pairs = min(j - i, m - k)
        for at in range(pairs):
            yield PinLine(file=file, line=i + at + 1, old=old[i + at], new=new[k + at])
        for at in range(i + pairs, j):
            yield PinLine(file=file, line=at + 1, old=old[at], new=None)
        for at in range(k + pairs, m):
            yield PinLine(file=file, line=at + 1, old=None, new=new[at])
