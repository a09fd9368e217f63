"""What the labels of an organisation ask for, read strictly: blocks, sectors, whose soak counts.

An error holds only what it is about: a pattern that cannot be read the organisation, a
limit that is none its sector, a circle the sectors in it and behind it.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from tidegate.kinds.upgrades.core.declared.cluster_policy import read_blocked
from tidegate.kinds.upgrades.core.declared.label_error import LabelError, LabelErrors
from tidegate.kinds.upgrades.core.labels.labels import SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL
from tidegate.kinds.upgrades.core.sectors import Sector, circles

_LIMIT = re.compile(r"([0-9]{1,6})(%?)")
_PERCENT_MAX = 100
# A round reads the same labels several times, and seldom finds others.
_REMEMBERED_MAX = 1_024


class ParallelLimit(msgspec.Struct, frozen=True):
    """How many of a sector may be upgraded at once."""

    amount: int
    percent: bool = False

    def of(self, size: int) -> int:
        """How many of so many: halves go to the even neighbour as ever, and 0 alone is none.

        50 % of 5 are 2, of 3 are 2; 2 % of 5 is 1; 0 % is none.
        """
        if not self.percent or not self.amount:
            return self.amount
        whole, rest = divmod(size * self.amount, 100)
        up = rest > 50 or (rest == 50 and whole % 2 == 1)
        return max(1, whole + up)


class OrganisationPolicy(msgspec.Struct, frozen=True):
    """What an organisation's labels ask for, as far as they can be read."""

    blocked: tuple[str, ...]  # those that can be read
    unreadable: bool  # some pattern cannot be read, so what is blocked is not known
    sectors: Mapping[str, Sector]
    limits: Mapping[str, ParallelLimit]
    closed: frozenset[str]  # sectors with a limit that is none
    circling: frozenset[str]  # sectors in a circle, or behind one
    circles: tuple[tuple[str, ...], ...]  # sectors that wait for each other
    inherit: tuple[str, ...]
    publish: tuple[str, ...]
    label_errors: tuple[LabelError, ...]
    warnings: tuple[str, ...]

    def circle_of(self, sector: str) -> tuple[str, ...]:
        """The circle that a sector is in, or waits for; empty: none."""
        member_of = {name: circle for circle in self.circles for name in circle}
        return next((member_of[each] for each in self.awaited(sector) if each in member_of), ())

    def awaited(self, sector: str) -> list[str]:
        """A sector and all that it waits for, the nearest first; it need not be declared."""
        waiting, seen = [sector], {sector}
        for name in waiting:  # grows as sectors are found behind
            known = self.sectors.get(name)
            more = [each for each in known.dependencies if each not in seen] if known else []
            seen.update(more)
            waiting += more
        return waiting


def read_organisation_policy(labels: Mapping[str, str], own: str) -> OrganisationPolicy:
    """The labels of the organisation `own`, and all that is wrong with them."""
    return _read(tuple(sorted(labels.items())), own)


@lru_cache(_REMEMBERED_MAX)
def _read(items: tuple[tuple[str, str], ...], own: str) -> OrganisationPolicy:
    labels = dict(items)
    notes = LabelErrors()
    blocked = read_blocked(labels.get("blocked-versions"), notes)
    unreadable = bool(notes.label_errors)
    limits, closed = _limits(labels, notes)
    sectors = _sectors(labels, notes, frozenset(limits) | closed)
    circling = _circling(sectors)
    found = circles(sectors)
    for circle in found:
        who = " waits for itself" if len(circle) == 1 else " wait for each other in a circle"
        what = f"{', '.join(circle)}{who}; drop one of the dependencies"
        notes.wrong(f"{SECTOR_DEPENDENCIES}{circle[0]}", what)
    inherit = notes.items("version-data.inherit", labels.get("version-data.inherit"))
    if own in inherit:
        notes.warn("version-data.inherit", f"{own} is this organisation itself, and is ignored")
    return OrganisationPolicy(
        blocked,
        unreadable,
        sectors,
        limits,
        closed,
        circling,
        found,
        tuple(sorted(each for each in inherit if each != own)),
        notes.items("version-data.publish", labels.get("version-data.publish")),
        tuple(notes.label_errors),
        tuple(notes.warnings),
    )


def _limits(
    labels: Mapping[str, str], notes: LabelErrors
) -> tuple[dict[str, ParallelLimit], frozenset[str]]:
    limits: dict[str, ParallelLimit] = {}
    closed: set[str] = set()
    for key in sorted(labels):
        name = key.removeprefix(SECTOR_MAX_PARALLEL).strip()
        text = labels[key].strip()
        if not key.startswith(SECTOR_MAX_PARALLEL) or not name:
            continue
        match = _LIMIT.fullmatch(text)
        if match and not (match[2] and int(match[1]) > _PERCENT_MAX):
            limits[name] = ParallelLimit(int(match[1]), percent=bool(match[2]))
        elif text:
            closed.add(name)
            remedy = 'write a whole number of 0 or more, or a percentage up to "100%"'
            notes.wrong(key, f'"{labels[key]}" is not a number of clusters; {remedy}')
    return limits, frozenset(closed)


def _sectors(
    labels: Mapping[str, str], notes: LabelErrors, limited: frozenset[str]
) -> dict[str, Sector]:
    """Every sector that is named anywhere: as a key, as a dependency, or by its limit alone."""
    declared: dict[str, tuple[str, ...]] = {}
    for key in sorted(labels):
        name = key.removeprefix(SECTOR_DEPENDENCIES).strip()
        if key.startswith(SECTOR_DEPENDENCIES) and name:
            behind = notes.items(key, labels[key])
            declared[name] = tuple(sorted({*declared.get(name, ()), *behind}))
    names = {*declared, *limited, *(each for behind in declared.values() for each in behind)}
    return {name: Sector(name, declared.get(name, ())) for name in sorted(names)}


def _circling(sectors: Mapping[str, Sector]) -> frozenset[str]:
    """Sectors in a circle, or behind one: what is left once all others are removed.

    Each sector and each dependency is looked at once.
    """
    waits_for = {name: len(sector.dependencies) for name, sector in sectors.items()}
    behind: dict[str, list[str]] = {}
    for name, sector in sectors.items():
        for each in sector.dependencies:
            behind.setdefault(each, []).append(name)
    done = [name for name, count in waits_for.items() if not count]
    for name in done:  # grows as sectors are found to end
        for each in behind.get(name, ()):
            waits_for[each] -= 1
            if not waits_for[each]:
                done.append(each)
    return frozenset(sectors) - frozenset(done)
