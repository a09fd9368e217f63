"""Which images an estate names by tag, where each stands, and the estate once a registry spoke.

An image that a registry does not have is not used: a shard pinned to it is left out, and a whole
place whose default it is; the estate is then not complete, so nothing is concluded from the gap.
"""

from collections.abc import Collection, Mapping

import msgspec

from tidegate.kinds.integrations.core.workloads.estate import Estate, ManagedPlace, Unit
from tidegate.kinds.integrations.core.workloads.workloads import image_as_written
from tidegate.registry.image import digest_of


def images_of(estate: Estate) -> dict[str, tuple[str, ...]]:
    """Every image that is named by its tag alone, and everywhere it is written."""
    found: dict[str, dict[str, None]] = {}
    for place in estate.places:
        named = [(_written(place, unit), _where(place, unit)) for unit in place.units]
        for image, where in (*named, (_default(place), _where(place, None))):
            if not digest_of(image):
                found.setdefault(image, {})[where] = None
    return {image: tuple(wheres) for image, wheres in found.items()}


def with_digests(estate: Estate, digests: Mapping[str, str]) -> Estate:
    """The estate in which every tag whose digest is known has it."""
    if not digests:
        return estate
    places = tuple(
        msgspec.structs.replace(
            place, ground=msgspec.structs.replace(place.ground, digests=digests)
        )
        for place in estate.places
    )
    return msgspec.structs.replace(estate, places=places)


def without(estate: Estate, images: Collection[str]) -> Estate:
    """The estate without the shards that want one of these images."""
    if not images:
        return estate
    places: list[ManagedPlace] = []
    for place in estate.places:
        units = tuple(unit for unit in place.units if _written(place, unit) not in images)
        if units and _default(place) not in images:
            places.append(msgspec.structs.replace(place, units=units))
    return msgspec.structs.replace(estate, places=tuple(places), complete=False)


def _written(place: ManagedPlace, unit: Unit) -> str:
    return image_as_written(unit.shards[0], place.managed, place.ground)


def _default(place: ManagedPlace) -> str:
    """What shards without an image of their own are to run."""
    plain = msgspec.structs.replace(place.units[0].shards[0], override=None)
    return image_as_written(plain, place.managed, place.ground)


def _where(place: ManagedPlace, unit: Unit | None) -> str:
    if unit is not None and unit.pinned_by:
        return unit.pinned_by
    managed = place.managed
    if managed.spec.get("imageRef"):
        return managed.where
    return f"{managed.where} (IMAGE_TAG of the environment {managed.namespace.environment})"
