"""Edits of an organisation's sectors: which labels declare one, and who still needs it.

A sector is two labels, either of which declares it: the sectors it waits for, and how many of its
clusters may be upgraded at once. One that waits for none and has no limit is the first of them,
left empty.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.labels.label_edit import Wanted
from tidegate.kinds.upgrades.core.labels.labels import (
    SECTOR_DEPENDENCIES,
    SECTOR_MAX_PARALLEL,
    split,
)


class WantedSector(msgspec.Struct, frozen=True):
    """What is asked for of one sector; None: it stays as it is."""

    name: str
    dependencies: tuple[str, ...] | None = None
    most: str | None = None  # empty: no limit


def sector_values(there: Mapping[str, str], policy: Iterable[WantedSector]) -> Wanted:
    """The labels that sectors ask for; one that no other label declares is declared empty.

    Where sectors replace all there are, nothing is there.
    """
    wanted: dict[str, str | None] = {}
    for wanted_sector in policy:
        behind, most = (
            SECTOR_DEPENDENCIES + wanted_sector.name,
            SECTOR_MAX_PARALLEL + wanted_sector.name,
        )
        if wanted_sector.dependencies is not None:
            wanted[behind] = ",".join(wanted_sector.dependencies)
        elif behind not in there and not (
            wanted_sector.most if wanted_sector.most is not None else there.get(most)
        ):
            wanted[behind] = ""
        if wanted_sector.most is not None:
            wanted[most] = wanted_sector.most
    return wanted


def sector_labels(there: Mapping[str, str]) -> tuple[str, ...]:
    """The labels that declare sectors; a limit left empty is none and declares nothing."""
    return tuple(
        sorted(
            key
            for key, value in there.items()
            if key.startswith(SECTOR_DEPENDENCIES)
            or (key.startswith(SECTOR_MAX_PARALLEL) and value.strip())
        )
    )


def without_sectors(names: Iterable[str]) -> Wanted:
    """The labels that declare sectors, to be taken away."""
    return {
        prefix + name: None
        for name in names
        for prefix in (SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL)
    }


def waiting_for(there: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The sectors that wait for one, and so declare it, too."""
    return tuple(
        sorted(
            key.removeprefix(SECTOR_DEPENDENCIES)
            for key, value in there.items()
            if key.startswith(SECTOR_DEPENDENCIES)
            and name in [each.strip() for each in split(value) or ()]
        )
    )
