"""Which part of the estate is selected: integrations, shards, environments, clusters by name."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tidegate.kinds.integrations.core.workloads.estate import Estate, Piece, label_text, pieces_of
from tidegate.model.problem import Problems, nearest_or_all

# A hint that lists more than so many names does not help.
_LISTED_MAX = 12


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What is meant; nothing named means everything."""

    integrations: tuple[str, ...] = ()
    shards: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Whether nothing is named."""
        return self == Selection()

    def takes(self, piece: Piece, environment: str) -> bool:
        """Whether a piece is selected; that of a whole namespace is if no part is named."""
        if self.clusters and piece.cluster not in self.clusters:
            return False
        if self.environments and environment not in self.environments:
            return False
        if piece.shard is None:
            return not (self.integrations or self.shards)
        if self.integrations and piece.shard.integration not in self.integrations:
            return False
        return not self.shards or any(name in self.shards for name in names_of(piece))

    def takes_left(self, left: "LeftoverObject") -> bool:
        """Whether something that is to be no more is meant."""
        return (
            left.cluster in (self.clusters or (left.cluster,))
            and left.environment in (self.environments or (left.environment,))
            and (not self.integrations or left.label in map(label_text, self.integrations))
            and left.name in (self.shards or (left.name,))
        )


class LeftoverObject(NamedTuple):
    """What is known of an object that no piece asks for any more."""

    cluster: str
    environment: str  # empty: no place of the bundle is in its namespace
    label: str  # of its integration
    name: str


def names_of(piece: Piece) -> Iterator[str]:
    """What people call the shard of a piece."""
    if piece.shard is None:
        return
    shard = piece.shard
    yield shard.workload
    yield from filter(None, (shard.key, shard.name, shard.uid))
    unit = f"{shard.integration}/{shard.name}" if shard.name else shard.integration
    yield unit
    yield f"shard/{unit}"
    if shard.key and shard.index is not None:
        yield f"{unit}-{shard.index}"


def check_names(selection: Selection, estate: Estate, problems: Problems) -> None:
    """Every name must be there; the nearest is offered for one that is not."""
    places = estate.every_place
    pieces = [piece for place in places for piece in pieces_of(place)]
    integrations = {place.integration.name for place in places}
    environments = {place.managed.namespace.environment for place in places}
    shards = {name for piece in pieces for name in names_of(piece)}
    clusters = {piece.cluster for piece in pieces}
    _check("--integration", selection.integrations, integrations, problems)
    _check("--environment", selection.environments, environments, problems)
    _check("--cluster", selection.clusters, clusters, problems)
    _check("--shard", selection.shards, shards, problems)


def _check(flag: str, names: Iterable[str], known: set[str], problems: Problems) -> None:
    for name in names:
        if name not in known:
            hint = nearest_or_all(name, sorted(known))
            if len(known) > _LISTED_MAX and hint.startswith("there are"):
                hint = f"there are {len(known)}; `tidegate plan -o name` lists what is there"
            problems.add(flag, f'nothing is called "{name}"', hint)
