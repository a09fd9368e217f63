"""Which shards of an integration are to keep which image, and what that restarts.

A pin is an override with an image of its own. To pin what a shard runs changes nothing that
reaches a pod; that is worked out from the objects before and after.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.sharding.inventory import MIXED
from tidegate.kinds.integrations.core.sharding.model import Override
from tidegate.kinds.integrations.core.sharding.selection import names_of
from tidegate.kinds.integrations.core.sharding.shards import Inventories
from tidegate.kinds.integrations.core.sharding.strategies import ALIASES, STRATEGIES
from tidegate.kinds.integrations.core.workloads.difference import differences, restarts
from tidegate.kinds.integrations.core.workloads.estate import (
    Estate,
    ManagedPlace,
    Piece,
    Unit,
    manifest_of,
    pieces_of,
)
from tidegate.model.problem import Problems, nearest_or_all

# A unit of a place, by their names.
At = tuple[str, str]
# Why a shard cannot be pinned to what it runs.
_OTHERWISE = "write --image REF, or --wanted for what the bundle wants"


class PinTarget(msgspec.Struct, frozen=True):
    """One shard that is meant, where it runs."""

    place: ManagedPlace
    unit: Unit
    # What overrides call it: an item of an inventory, or a number.
    shard: str
    # The file of the item it is of, as overrides name it; empty: it has none of its own.
    ref: str = ""

    @property
    def at(self) -> At:
        """What tells it from all others."""
        return self.place.name, self.unit.name

    @property
    def override(self) -> Override | None:
        """What is different for it; None: nothing."""
        return self.unit.shards[0].override

    @property
    def image(self) -> str:
        """The image of its own; empty: it has none."""
        return (self.override.image_ref or "") if self.override is not None else ""


def aims_of(
    estate: Estate,
    inventories: Inventories,
    integration: str = "",
    environments: Sequence[str] = (),
) -> list[PinTarget]:
    """Every shard of an integration, or of all, in some environments, or in all."""
    return [
        PinTarget(place, unit, *_called(place, unit, inventories))
        for place in estate.places
        if integration in ("", place.integration.name)
        and (not environments or place.managed.namespace.environment in environments)
        for unit in place.units
    ]


def _called(place: ManagedPlace, unit: Unit, inventories: Inventories) -> tuple[str, str]:
    """What overrides call a shard, and its file."""
    first = unit.shards[0]
    if not first.key:
        return str(first.index or 0), ""
    strategy = place.managed.sharding.strategy
    row = STRATEGIES[ALIASES.get(strategy, strategy)]
    key = next(key for key in inventories[row.inventory] if key.key == first.key)
    return key.name, f"/{key.file}" if key.file and key.alone else ""


def chosen(
    aims: Sequence[PinTarget], names: Sequence[str], problems: Problems, flag: str
) -> list[PinTarget]:
    """Those of some names; a problem for each name that does not exist."""
    known = {name: aim for aim in aims for name in _names(aim)}
    for name in names:
        if name not in known:
            short = sorted({aim.shard for aim in aims})
            problems.add(flag, f'no shard "{name}"', nearest_or_all(name, short))
    return [aim for aim in aims if any(name in names for name in _names(aim))]


def _names(aim: PinTarget) -> Iterator[str]:
    yield aim.shard
    for piece in pieces_of(aim.place, aim.unit):
        yield from names_of(piece)


def image_to_keep(aim: PinTarget, runs: str, problems: Problems) -> str:
    """What to write for a shard that runs something; empty, and a problem, if nothing can be."""
    if runs == MIXED:
        problems.add(aim.unit.name, "its sub-shards run different images", _OTHERWISE)
    elif not runs:
        problems.add(aim.unit.name, "what it runs is not known", _OTHERWISE)
    elif "/" in runs:
        what = f"it runs {runs}, which is not of {aim.place.repository}"
        problems.add(aim.unit.name, what, "an override names a tag or a digest; write --image REF")
    else:
        return runs
    return ""


def restarted(
    before: Estate, after: Estate, running: Mapping[At, str], meant: Iterable[At]
) -> list[Piece]:
    """The workloads of some shards whose pods are started anew once `after` is applied.

    Against what each runs, where it was read (`running`); else against what it was to run.
    """
    wanted = set(meant)
    old = {piece.key: piece for piece in before.pieces()}
    found: list[Piece] = []
    for piece in after.pieces():
        if piece.place is None or (at := (piece.place.name, piece.unit)) not in wanted:
            continue
        was = manifest_of(old[piece.key], before.site, revision=running.get(at) or None)
        if restarts(was, differences(was, manifest_of(piece, after.site))):
            found.append(piece)
    return found


def touched(before: Estate, after: Estate, meant: Iterable[At]) -> list[str]:
    """Every object that would change, and every note, although it is not selected."""
    wanted = set(meant)
    effects = effects_of(before, after).effects
    found = [each.where for each in effects if (each.place, each.unit) not in wanted]
    old, new = _notes(before), _notes(after)
    found += [f"the note of {at[1]}" for at in old if at not in wanted and old[at] != new.get(at)]
    return found


def _notes(estate: Estate) -> dict[At, str]:
    """What is noted beside images of their own: a line that several share belongs to none."""
    overrides = (
        ((place.name, unit.name), unit.shards[0].override)
        for place in estate.places
        for unit in place.units
    )
    return {at: override.note for at, override in overrides if override is not None}
