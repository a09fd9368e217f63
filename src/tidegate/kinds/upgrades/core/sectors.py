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


def circles(sectors: Mapping[str, Sector]) -> tuple[tuple[str, ...], ...]:
    """The circles of sectors that wait for each other, each by name; none but their members.

    Sectors are put in the order in which they end; from the last on, all that wait for one and are
    not yet taken are in a circle with it. Each sector and each dependency is looked at twice.
    """
    ended = _in_order_of_end(sectors)
    behind: dict[str, list[str]] = {}
    for name, sector in sectors.items():
        for each in sector.dependencies:
            behind.setdefault(each, []).append(name)
    taken: set[str] = set()
    found: list[tuple[str, ...]] = []
    for name in reversed(ended):
        together, waiting = [], [name] if name not in taken else []
        taken.add(name)
        while waiting:
            together.append(here := waiting.pop())
            more = [each for each in behind.get(here, ()) if each not in taken]
            taken.update(more)
            waiting += dict.fromkeys(more)
        if len(together) > 1 or (together and name in sectors[name].dependencies):
            found.append(tuple(sorted(together)))
    return tuple(sorted(found))


def _in_order_of_end(sectors: Mapping[str, Sector]) -> list[str]:
    """Each sector after all it waits for, as far as there are no circles."""
    ended: list[str] = []
    seen: set[str] = set()
    for first in sectors:
        path = [] if first in seen else [(first, iter(sectors[first].dependencies))]
        seen.add(first)
        while path:
            here, rest = path[-1]
            name = next((each for each in rest if each not in seen), None)
            if name is None:
                path.pop()
                ended.append(here)
            else:
                seen.add(name)
                path.append((name, iter(sectors[name].dependencies)))
    return ended


def behind(name: str, by_name: Mapping[str, Sector]) -> set[str]:
    """All sectors that one waits for, at once or through others."""
    seen: set[str] = set()
    waiting = list(by_name[name].dependencies)
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting += by_name[here].dependencies
    return seen


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
