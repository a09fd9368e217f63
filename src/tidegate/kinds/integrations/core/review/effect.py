"""The effect of a change of a bundle: every workload it creates, changes or deletes.

Two estates are compared as what they would hand to a cluster, object by object. A line that moved
in a file is no effect; neither is a spelling that means the same. What an estate with a problem
does not have is not deleted: it is unknown, and counted as such.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from tidegate.kinds.integrations.core.workloads.difference import (
    ObjectDifference,
    differences,
    restarts,
)
from tidegate.kinds.integrations.core.workloads.estate import (
    Estate,
    ManagedPlace,
    Piece,
    manifest_of,
)
from tidegate.kinds.integrations.core.workloads.live import CONTAINER
from tidegate.kinds.integrations.core.workloads.workloads import image_of
from tidegate.registry.image import revision_of

Key = tuple[str, str, str, str]
_IMAGE = re.compile(rf"\.containers\[{CONTAINER}\]\.(image|env\[IMAGE_(TAG|DIGEST)\]\.value)$")


def is_image_field(field: str) -> bool:
    """Whether a field is the image of the container, or a variable that names it."""
    return _IMAGE.search(field) is not None


class Fate(StrEnum):
    """What becomes of an object."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one object, and in what it differs."""

    fate: Fate
    cluster: str
    namespace: str
    kind: str
    name: str
    environment: str
    # As rollouts call it; empty, like all below, of what is for a whole namespace.
    place: str = ""
    integration: str = ""
    # `terraform-resources/ter-int-dev`: sub-shards share it.
    unit: str = ""
    # The image as people speak of it; empty where there is no such object on that side.
    before: str = ""
    after: str = ""
    # Of what is changed, field by field.
    differences: tuple[ObjectDifference, ...] = ()
    # Whether pods that run now are replaced.
    restarts: bool = False

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return self.cluster, self.namespace, self.kind, self.name

    @property
    def where(self) -> str:
        """`deployment/name`."""
        return f"{self.kind.lower()}/{self.name}"

    @property
    def moves_image(self) -> bool:
        """Whether it gets another image than it had."""
        return self.fate is Fate.CHANGED and self.before != self.after

    @property
    def others(self) -> tuple[ObjectDifference, ...]:
        """What differs besides the image, and besides the variables that name its image."""
        return tuple(each for each in self.differences if not is_image_field(each.field))


class Effects(msgspec.Struct, frozen=True):
    """All effects of a change, by environment, cluster, namespace and name."""

    effects: tuple[Effect, ...] = ()
    # How many objects of the base a head with problems does not have: they are not known.
    unknown: int = 0

    def of(self, fate: Fate) -> tuple[Effect, ...]:
        """Those of one fate."""
        return tuple(each for each in self.effects if each.fate is fate)

    @property
    def environments(self) -> dict[str, tuple[Effect, ...]]:
        """All of them by environment, in order."""
        found: dict[str, list[Effect]] = {}
        for each in self.effects:
            found.setdefault(each.environment, []).append(each)
        return {name: tuple(some) for name, some in found.items()}

    @property
    def units(self) -> dict[tuple[str, str], tuple[Effect, ...]]:
        """Those of shards, by the name of the place and of the unit."""
        found: dict[tuple[str, str], list[Effect]] = {}
        for each in self.effects:
            if each.unit:
                found.setdefault((each.place, each.unit), []).append(each)
        return {name: tuple(some) for name, some in found.items()}


def effects_of(base: Estate, head: Estate) -> Effects:
    """What becomes of every object between two estates."""
    same = _same_places(base, head)
    old, new = _pieces(base, same), _pieces(head, same)
    spaces = _environments(base) | _environments(head)
    found: list[Effect] = []
    unknown = 0
    for key in {**old, **new}:
        before, after = old.get(key), new.get(key)
        if after is None and not head.complete:
            unknown += 1
            continue
        effect = _effect(before, after, base, head, spaces[key[0], key[1]])
        if effect is not None:
            found.append(effect)
    return Effects(tuple(sorted(found, key=_order)), unknown)


def _order(effect: Effect) -> tuple[str, Key]:
    return effect.environment, effect.key


def _same_places(base: Estate, head: Estate) -> frozenset[str]:
    """Places that say the same on both sides: there is no need to look into them."""
    if base.site != head.site:
        return frozenset()
    old: Mapping[str, ManagedPlace] = {place.name: place for place in base.places}
    return frozenset(place.name for place in head.places if old.get(place.name) == place)


def _pieces(estate: Estate, without: frozenset[str]) -> dict[Key, Piece]:
    return {
        piece.key: piece
        for piece in estate.pieces()
        if piece.place is None or piece.place.name not in without
    }


def _environments(estate: Estate) -> dict[tuple[str, str], str]:
    spaces = (place.managed.namespace for place in estate.places)
    return {(space.cluster, space.name): space.environment for space in spaces}


def _effect(
    before: Piece | None, after: Piece | None, base: Estate, head: Estate, environment: str
) -> Effect | None:
    """What becomes of one object; None: nothing."""
    found: tuple[ObjectDifference, ...] = ()
    replaced = False
    fate = Fate.CREATED if before is None else Fate.DELETED
    if before is not None and after is not None:
        old, new = manifest_of(before, base.site), manifest_of(after, head.site)
        found = differences(old, new)
        if not found:
            return None
        fate, replaced = Fate.CHANGED, restarts(old, found)
    piece = after or before
    assert piece is not None
    repository = piece.place.repository if piece.place is not None else ""
    return Effect(
        fate=fate,
        cluster=piece.cluster,
        namespace=piece.namespace,
        kind=piece.kind,
        name=piece.name,
        environment=environment,
        place=piece.place.name if piece.place is not None else "",
        integration=piece.shard.integration if piece.shard is not None else "",
        unit=piece.unit,
        before=_image(before, repository),
        after=_image(after, repository),
        differences=found,
        restarts=replaced,
    )


def _image(piece: Piece | None, repository: str) -> str:
    """What a piece runs; of another repository, by its whole name."""
    if piece is None or piece.place is None or piece.shard is None:
        return ""
    image = image_of(piece.shard, piece.place.managed, piece.place.ground)
    return revision_of(image, repository)
