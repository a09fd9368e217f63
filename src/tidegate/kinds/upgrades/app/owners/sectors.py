"""Sectors of an organisation: which waits for which, and how many of one upgrade at once."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, UnsetType

from tidegate.kinds.upgrades.app.owners.changes import LabelPlan, organisation_change
from tidegate.kinds.upgrades.app.owners.organisation import (
    DeclaredOrganisation,
    OwnerDocument,
    listed_items,
)
from tidegate.kinds.upgrades.core.declared.organisation_policy import read_organisation_policy
from tidegate.kinds.upgrades.core.labels.label_edit import replacing
from tidegate.kinds.upgrades.core.labels.labels import (
    SECTOR_DEPENDENCIES,
    SECTOR_MAX_PARALLEL,
    split,
)
from tidegate.kinds.upgrades.core.labels.sector_edit import (
    WantedSector,
    sector_labels,
    sector_values,
    waiting_for,
    without_sectors,
)
from tidegate.kinds.upgrades.wire.labels_doc import sector_documents
from tidegate.model.document import Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all, shown

# At most this many clusters are named; more do not fit on a line.
NAMES_SHOWN = 3


class DeclaredSector(Part, frozen=True, kw_only=True):
    """A sector that labels declare by themselves, in the form that `sectors set -f` reads."""

    name: str
    dependencies: tuple[str, ...] | UnsetType = UNSET
    max_parallel_upgrades: str | UnsetType = UNSET


class SectorRow(Part, frozen=True, kw_only=True):
    """A sector, declared by itself or by a dependency."""

    sector: str
    depends_on: tuple[str, ...]
    # Null: no limit.
    max_parallel: str | None
    clusters: int
    # Sectors that depend on it, if nothing else declares it.
    declared_by: tuple[str, ...]


class SectorList(OwnerDocument, frozen=True, kw_only=True):
    """The sectors of an organisation."""

    org: str
    items: tuple[DeclaredSector, ...]
    # The same with their clusters, those that only dependencies declare too.
    sectors: tuple[SectorRow, ...]


class SectorFlags(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for of one sector; empty: it stays."""

    depends_on: tuple[str, ...] = ()
    add_dependency: tuple[str, ...] = ()
    remove_dependency: tuple[str, ...] = ()
    # None: it stays; empty: no limit.
    max_parallel: str | None = None


def list_sectors(declared: DeclaredOrganisation) -> SectorList:
    """The sectors of an organisation."""
    labels = declared.org.labels
    org_policy = read_organisation_policy(labels, declared.org.id)
    wrong = [each for each in org_policy.label_errors if each.label.startswith("sector-")]
    return SectorList(
        warnings=(*declared.warnings, *(each.text() for each in wrong)),
        org=declared.org.id,
        items=tuple(msgspec.convert(each, DeclaredSector) for each in sector_documents(labels)),
        sectors=tuple(
            SectorRow(
                sector=name,
                depends_on=tuple(sector.dependencies),
                max_parallel=labels.get(SECTOR_MAX_PARALLEL + name, "") or None,
                clusters=len(_clusters_in(declared, name)),
                declared_by=declared_by(labels, name),
            )
            for name, sector in org_policy.sectors.items()
        ),
    )


def _clusters_in(declared: DeclaredOrganisation, name: str) -> list[str]:
    return [
        declared.holder(each).called
        for each in declared.clusters()
        if each.labels.get("sector", "").strip() == name
    ]


def declared_by(labels: dict[str, str], name: str) -> tuple[str, ...]:
    """The sectors that depend on one which nothing else declares."""
    own = SECTOR_DEPENDENCIES + name in labels or labels.get(SECTOR_MAX_PARALLEL + name, "").strip()
    return () if own else tuple(waiting_for(labels, name))


def set_sectors(
    declared: DeclaredOrganisation, wanted: Iterable[WantedSector], *, replace: bool
) -> LabelPlan:
    """Set what is named of sectors; with `replace`, remove every other sector."""
    there, wanted = declared.org.labels, tuple(wanted)
    check_names(each.name for each in wanted)
    if not replace:
        return LabelPlan(organisation_change(declared, sector_values(there, wanted)))
    whole = replacing(there, sector_values({}, wanted), sector_labels(there))
    return LabelPlan(organisation_change(declared, whole))


def check_names(names: Iterable[str]) -> None:
    """UserError for a name that no list of dependencies could hold, or no cluster could be in."""
    problems = [
        Problem(f"sector {shown(each)}", "a name has no commas and no blanks around it", "name one")
        for each in names
        if "," in each or not each or each != each.strip()
    ]
    if problems:
        raise UserError(tuple(problems))


def set_sector(declared: DeclaredOrganisation, name: str, flags: SectorFlags) -> LabelPlan:
    """Set what is named of one sector; with nothing named, declare it."""
    return set_sectors(declared, [wanted_sector(declared, name, flags)], replace=False)


def wanted_sector(declared: DeclaredOrganisation, name: str, flags: SectorFlags) -> WantedSector:
    """What flags ask for of one sector, given what is there."""
    label = SECTOR_DEPENDENCIES + name
    there = [each.strip() for each in split(declared.org.labels.get(label)) or ()]
    given, more = listed_items(flags.depends_on), listed_items(flags.add_dependency)
    fewer = listed_items(flags.remove_dependency)
    unknown = [each for each in fewer if each not in there]
    if unknown:
        what = f'does not depend on "{unknown[0]}"'
        hint = nearest_or_all(unknown[0], there)
        raise UserError((Problem(f"sector {name}", what, hint),))
    behind: tuple[str, ...] | None = None
    if flags.depends_on or more or fewer:
        base = given if flags.depends_on else there
        kept = [each for each in (*base, *more) if each and each not in fewer]
        behind = tuple(dict.fromkeys(kept))
    return WantedSector(name, behind, flags.max_parallel)


def remove_sectors(declared: DeclaredOrganisation, names: tuple[str, ...]) -> LabelPlan:
    """Remove sectors; UserError for those with clusters, and those that others depend on."""
    there = declared.org.labels
    known = read_organisation_policy(there, declared.org.id).sectors
    problems: list[Problem] = []
    for name in names:
        behind = [each for each in waiting_for(there, name) if each not in names]
        if name not in known:
            problems.append(Problem(f"sector {name}", "not found", nearest_or_all(name, known)))
        elif inside := _clusters_in(declared, name):
            remedy = "put them into another with `tidegate upgrades policy set`"
            problems.append(Problem(f"sector {name}", f"{_some(inside)} in it", remedy))
        elif behind:
            what = f"{', '.join(behind)} waits for it"
            remedy = f"`tidegate upgrades sectors set {behind[0]} --remove-dependency {name}`"
            problems.append(Problem(f"sector {name}", what, remedy))
    if problems:
        raise UserError(tuple(problems))
    return LabelPlan(organisation_change(declared, without_sectors(names)))


def _some(names: list[str]) -> str:
    """Some names, and a verb for them."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more + (" is" if len(names) == 1 else " are")
