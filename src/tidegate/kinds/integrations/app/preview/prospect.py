"""What a change would do once merged: workloads, images, dates, brakes, and what is wrong with it.

Everything here is worked out from two revisions of a bundle, the brakes and the journal, as far as
there are any; no cluster is asked.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from tidegate.bundle.finding import BundleFinding
from tidegate.kinds.integrations.app.check.comparison import RevisionComparison
from tidegate.kinds.integrations.app.preview.parts import (
    PreviewEnvironment,
    PreviewImages,
    PreviewNote,
    PreviewPin,
    counted_images,
)
from tidegate.kinds.integrations.app.preview.schedule import RolloutSchedule
from tidegate.kinds.integrations.core.review.effect import Effect, Effects, Fate
from tidegate.kinds.integrations.core.waves.outset import Move, reshapes_between
from tidegate.kinds.integrations.core.workloads.estate import Estate, Unit
from tidegate.model.removal import why_kept
from tidegate.model.time import Instant

# So many rollouts are named in one warning.
NAMED = 3


class Prospect(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a change would do."""

    # Which revisions are comparison, in words; and the commits, None for a working tree.
    words: str
    base: str | None
    head: str | None
    # Where in its repository the bundle is: before the paths of all files.
    prefix: str
    files: tuple[str, ...]
    # The moment it is merged.
    at: Instant
    effects: Effects
    environments: tuple[PreviewEnvironment, ...]
    moves: tuple[Move, ...]
    schedules: tuple[RolloutSchedule, ...]
    pinned: tuple[PreviewPin, ...]
    warnings: tuple[PreviewNote, ...]
    findings: tuple[BundleFinding, ...]
    fixed: int

    @property
    def errors(self) -> int:
        """How many findings make a part of the bundle unusable."""
        return sum(each.severity == "error" for each in self.findings)


def prospect_of(
    comparison: RevisionComparison,
    moves: tuple[Move, ...],
    schedules: Iterable[RolloutSchedule],
    at: Instant,
) -> Prospect:
    """What is known of a change."""
    base, head = comparison.base, comparison.head
    effects = comparison.effects
    return Prospect(
        words=comparison.words,
        base=base.commit,
        head=head.commit,
        prefix=base.tree.prefix,
        files=comparison.changed,
        at=at,
        effects=effects,
        environments=tuple(_environments(base.estate, head.estate, effects)),
        moves=moves,
        schedules=tuple(schedules),
        pinned=tuple(_pinned(moves)),
        warnings=tuple(_warnings(comparison)),
        findings=comparison.new_findings,
        fixed=len(comparison.fixed_findings),
    )


def _environments(base: Estate, head: Estate, effects: Effects) -> Iterator[PreviewEnvironment]:
    before, after = _shards(base), _shards(head)
    for name, some in effects.environments.items():
        units = {(each.place, each.unit) for each in some if each.unit}
        fates = Counter(each.fate for each in some)
        yield PreviewEnvironment(
            name=name,
            shards_before=before[name],
            shards_after=after[name] if head.complete else None,
            shards_touched=len(units),
            created=fates[Fate.CREATED],
            changed=fates[Fate.CHANGED],
            deleted=fates[Fate.DELETED],
            restarts=sum(each.restarts for each in some),
            images=images_of(some),
        )


def _shards(estate: Estate) -> Counter[str]:
    found: Counter[str] = Counter()
    for place in estate.places:
        found[place.managed.namespace.environment] += len(place.units)
    return found


def images_of(effects: Iterable[Effect]) -> tuple[PreviewImages, ...]:
    """Which images take the place of which, those of most workloads first."""
    return counted_images((each.before, each.after) for each in effects if each.moves_image)


def _pinned(moves: Iterable[Move]) -> Iterator[PreviewPin]:
    for move in moves:
        for unit in move.kept:
            image = move.place.wanted(unit)
            yield PreviewPin(move.place.name, unit.name, image, unit.pinned_by)


def _warnings(comparison: RevisionComparison) -> Iterator[PreviewNote]:
    base, head = comparison.base.estate, comparison.head.estate
    if comparison.effects.unknown:
        count = comparison.effects.unknown
        text = f"{count} workloads are not known: the bundle has errors, so they stay unchanged"
        yield PreviewNote("unknown", text)
    for trouble in comparison.head.troubles:
        yield PreviewNote("registry", trouble.text())
    yield from (PreviewNote("mixed", text) for text in comparison.mixed)
    if comparison.mixed_trouble:
        yield PreviewNote("promotion", comparison.mixed_trouble)
    yield from _removals(base, head, comparison.effects)
    for name in head.emptied:
        if name not in base.emptied:
            text = "no shard is left; what runs is kept until its inventory is filled or it is gone"
            yield PreviewNote("emptied", f"{name}: {text}")
    for reshape in reshapes_between(base, head):
        of = f" of {reshape.key}" if reshape.key else ""
        text = f"{len(reshape.old)} old workloads{of} end before {_many(reshape.units)} start"
        yield PreviewNote("resharding", f"{reshape.place.name}: {reshape.words}: {text}")


def _many(units: tuple[Unit, ...]) -> str:
    return "1 new shard" if len(units) == 1 else f"{len(units)} new shards"


def _removals(base: Estate, head: Estate, effects: Effects) -> Iterator[PreviewNote]:
    """What is gone in greater numbers than is ever removed without a word."""
    if not head.complete:
        return
    deleted = len(effects.of(Fate.DELETED))
    why = why_kept(deleted, sum(1 for _ in base.pieces()), complete=True) if deleted else ""
    if why:
        yield PreviewNote("removal", f"workloads removed by apply: {why}")
    kept: dict[str, list[str]] = {}
    after = {place.name: {unit.name for unit in place.units} for place in head.places}
    for place in base.places:
        left = after.get(place.name)
        if place.managed.rollout is None or left is None:
            continue
        gone = sum(unit.name not in left for unit in place.units)
        why = why_kept(gone, len(place.units), complete=True) if gone else ""
        if why:
            kept.setdefault(why, []).append(place.name)
    for why, names in kept.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        text = f"shards removed by the rollout of {', '.join(names[:NAMED])}{more}: {why}"
        yield PreviewNote("removal", text)
