"""Which shards a promotion reaches: those that get another image, and those that keep their own."""

import msgspec

from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.workloads.estate import Estate


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the shards of one environment."""

    environment: str
    shards: tuple[str, ...]
    clusters: tuple[str, ...]
    # Shards with an image of their own, and where it is written.
    pinned: tuple[tuple[str, str], ...] = ()


def reached_by(before: Estate, after: Estate) -> tuple[Reached, ...]:
    """What a change of a bundle reaches, by environment."""
    found: list[Reached] = []
    for environment, some in effects_of(before, after).environments.items():
        moving = [each for each in some if each.unit]
        if moving:
            one = Reached(
                environment=environment,
                shards=tuple(dict.fromkeys(each.unit for each in moving)),
                clusters=tuple(dict.fromkeys(each.cluster for each in moving)),
                pinned=pinned_in(after, environment),
            )
            found.append(one)
    return tuple(found)


def pinned_in(estate: Estate, environment: str = "") -> tuple[tuple[str, str], ...]:
    """Shards with an image of their own, and where it is written; of one environment, or all."""
    return tuple(
        (unit.name, unit.pinned_by)
        for place in estate.places
        if not environment or place.managed.namespace.environment == environment
        for unit in place.units
        if unit.pinned_by
    )
