"""An organisation on one screen: blocks, inheritance, sectors, clusters."""

from collections.abc import Iterator, Sequence

from tidegate.cli.output import hung
from tidegate.explain.table import BENEATH, Row, layout
from tidegate.kinds.upgrades.app.owners.status import (
    InheritedOrganisation,
    OrganisationStatus,
    SectorStatus,
    StatusCluster,
    UpgradeStatus,
)
from tidegate.kinds.upgrades.app.owners.version_blocks import VersionBlock, block_text
from tidegate.kinds.upgrades.cli.text.clusters import (
    NONE,
    organisation_words,
    schedule_text,
    start_cell,
)
from tidegate.kinds.upgrades.core.service import PARTITION, RuleSet
from tidegate.model.counted import counted

CLUSTER_HEAD: Row = ("CLUSTER", "SECTOR", "VERSION", "NEXT", "SOAKED", "STARTS")
WIDE_HEAD: Row = ("CHANNEL", "SCHEDULE", "SOAK DAYS", "WORKLOADS", "MUTEXES")
SECTOR_HEAD: Row = ("SECTOR", "DEPENDS ON", "MAX PARALLEL", "CLUSTERS")
# The last column of each table, and the room it needs: with less it goes beneath its row.
_WHY, _VERSIONS = ("WHY", 40), ("VERSIONS", 24)
_DATE = len("2026-03-10")


def status_lines(document: UpgradeStatus, width: int | None, *, wide: bool) -> Iterator[str]:
    """One organisation after the other."""
    for at, each in enumerate(document.items):
        if at:
            yield ""
        yield from _organisation(each, document.now or "", width, wide)


def _organisation(
    one: OrganisationStatus, now: str, width: int | None, wide: bool
) -> Iterator[str]:
    words = organisation_words(one.name, (each.phase for each in one.clusters))
    rules = " · by the rules of AUS" if one.rules == RuleSet.COMPAT.value else ""
    head = f"{PARTITION}/{one.environment}/{one.org} · {words}{rules}"
    yield from hung(head, len(BENEATH), width)
    for each in one.problems:
        yield from hung(f"✗ {each}", 2, width)
    yield ""
    yield from _declared(one, width)
    if one.sectors:
        yield ""
        rows = [(_sector(each), _versions(each)) for each in one.sectors]
        yield from _table(SECTOR_HEAD, rows, _VERSIONS, width)
    yield ""
    yield from _clusters(one, now, width, wide)


def _declared(one: OrganisationStatus, width: int | None) -> Iterator[str]:
    """What holds for all of its clusters."""
    rows = {
        "blocks versions": [_block(each) for each in one.blocks],
        "inherits soak of": [_inherited(each) for each in one.inherits],
        "publishes soak to": list(one.publishes),
    }
    size = max(map(len, rows)) + 2
    for name, items in rows.items():
        for at, text in enumerate(items or ["none"]):
            head = (name if not at else "").ljust(size)
            yield from hung(f"{head}{text}", size, width)


def _block(one: VersionBlock) -> str:
    clusters = f", offered to {counted(one.clusters, 'cluster')}" if one.clusters else ""
    return f"{one.pattern}  {block_text(one)}{clusters}"


def _inherited(one: InheritedOrganisation) -> str:
    name = one.org if one.name == one.org else f"{one.org} ({one.name})"
    if one.publishes is None:
        return f"{name}  not visible to you: assumed to publish to it"
    if not one.publishes:
        return f"{name}  does not publish to it: ask its owner to"
    return name if one.counts else f"{name}  does not count until all of them publish to it"


def _sector(one: SectorStatus) -> Row:
    busy = f" ({one.under_way} under way)" if one.under_way else ""
    return (
        one.sector,
        ", ".join(one.depends_on) or NONE,
        one.max_parallel or NONE,
        f"{one.clusters}{busy}",
    )


def _versions(one: SectorStatus) -> str:
    text = ", ".join(f"{version} ({count})" for version, count in one.versions.items()) or NONE
    if one.circle:
        text += f"; waits for ever: {', '.join(one.circle)} wait for each other"
    if one.declared_by:
        text += f"; declared by {', '.join(one.declared_by)} alone"
    return text


def _clusters(one: OrganisationStatus, now: str, width: int | None, wide: bool) -> Iterator[str]:
    """A row a cluster, with why it waits."""
    head = (*CLUSTER_HEAD, *(WIDE_HEAD if wide else ()))
    rows = [(*_cells(each, now), *(_wide(each) if wide else ())) for each in one.clusters]
    if not any(each.sector for each in one.clusters):
        at = head.index("SECTOR")
        head, rows = _without(head, at), [_without(row, at) for row in rows]
    whys = [each.summary for each in one.clusters]
    yield from _table(head, list(zip(rows, whys, strict=True)), _WHY, width)


def _table(
    head: Row, rows: Sequence[tuple[Row, str]], last: tuple[str, int], width: int | None
) -> Iterator[str]:
    """Rows with a text each: beside them, or beneath where there is little room; none is cut."""
    title, least = last
    sizes = [max(map(len, column)) for column in zip(head, *(row for row, _ in rows), strict=True)]
    taken = sum(sizes) + 2 * len(sizes)
    beside = width is None or width - taken >= least
    yield from layout((*_padded(head, sizes), *((title,) if beside else ())), [], width)
    for row, text in rows:
        cells = _padded(row, sizes)
        if beside:
            yield from hung("  ".join((*cells, text)), taken, width)
        else:
            yield from layout(cells, [cells], width, headed=False)
            yield from hung(f"{BENEATH}{text}", len(BENEATH), width)


def _padded(row: Row, sizes: Sequence[int]) -> Row:
    return tuple(cell.ljust(size) for cell, size in zip(row, sizes, strict=True))


def _cells(one: StatusCluster, now: str) -> Row:
    return (
        one.cluster,
        one.sector or NONE,
        one.oldest_version,
        one.next or NONE,
        _soaked(one),
        start_cell(one, now),
    )


def _soaked(one: StatusCluster) -> str:
    """Whether its next version has soaked, when it will have, or how much is left."""
    if one.soaked_at is not None:
        return f"~{one.soaked_at[:_DATE]}"
    if one.soak_left_days is None:
        return NONE
    return f"{one.soak_left_days:.2f}d left" if one.soak_left_days else "yes"


def _wide(one: StatusCluster) -> Row:
    return (
        one.channel,
        schedule_text(one.schedule, one.timezone) or NONE,
        NONE if one.soak_days is None else str(one.soak_days),
        ",".join(one.workloads or ()) or NONE,
        ",".join(one.mutexes) or NONE,
    )


def _without(row: Row, at: int) -> Row:
    return (*row[:at], *row[at + 1 :])
