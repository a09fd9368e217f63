"""Sectors: which must have a version before which others may.

A sector waits for the sectors it depends on, workload by workload; where one of them has no
cluster with the workload, those behind it count in its place.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec


class Sector(msgspec.Struct, frozen=True):
    """A sector as an organisation declares it."""

    name: str
    dependencies: tuple[str, ...] = ()
    max_parallel: str | None = None  # as written: "2" or "50%"; None or empty is no limit


class SectorLoopError(ValueError):
    """Sectors wait for each other in a circle."""


def check_loops(sectors: Sequence[Sector]) -> None:
    """SectorLoopError names the first circle met, from sector to sector in the order given.

    Each sector is gone through once, however many depend on it.
    """
    by_name = {sector.name: sector for sector in sectors}
    done: set[str] = set()
    for sector in sectors:
        path = {sector.name: iter(sector.dependencies)}
        while path:
            here = next(reversed(path))
            name = next(path[here], None)
            if name is None:
                path.pop(here)
                done.add(here)
            elif name in path:
                raise SectorLoopError(_loop(name, list(path)))
            elif name not in done:
                path[name] = iter(by_name[name].dependencies)


def _loop(name: str, path: list[str]) -> str:
    """The circle, named by a sector of it and the next one in it."""
    found = f"[{name}] infinite sector dependency loop detected"
    if path[-1] == name:
        return f"{found}: depending on itself"
    return f"{found} under {path[path.index(name) + 1]} dependencies"


def awaited(
    sector: Sector, by_name: Mapping[str, Sector], has_members: Callable[[str], bool]
) -> Iterable[str]:
    """The sectors one waits for: those it depends on, or what is behind them if they are empty."""
    seen: set[str] = set()
    waiting = list(sector.dependencies)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if has_members(name):
            yield name
        else:
            waiting += by_name[name].dependencies
