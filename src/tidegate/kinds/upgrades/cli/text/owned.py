"""What an organisation declares, as tables: sectors, version blocks, inheritance, gates."""

from tidegate.explain.table import layout
from tidegate.kinds.upgrades.app.owners.inheritance import Inheritance
from tidegate.kinds.upgrades.app.owners.sectors import SectorList, SectorRow
from tidegate.kinds.upgrades.app.owners.version_blocks import VersionBlockList, block_text
from tidegate.kinds.upgrades.app.owners.version_gates import (
    GateAgreementReport,
    GateAhead,
    VersionGateList,
    short_name,
)

NONE = "-"


def sector_lines(document: SectorList, width: int | None) -> list[str]:
    """A row a sector."""
    head = ("SECTOR", "DEPENDS ON", "MAX PARALLEL", "CLUSTERS", "")
    rows = [
        (
            each.sector,
            ", ".join(each.depends_on) or NONE,
            each.max_parallel or NONE,
            str(each.clusters),
            _declared_by(each),
        )
        for each in document.sectors
    ]
    return [line.rstrip() for line in layout(head, rows, width)]


def _declared_by(row: SectorRow) -> str:
    return f"declared by {', '.join(row.declared_by)} alone" if row.declared_by else ""


def block_lines(document: VersionBlockList, width: int | None) -> list[str]:
    """A row a pattern."""
    rows = [
        (each.pattern, block_text(each), NONE if each.clusters is None else str(each.clusters))
        for each in document.blocks
    ]
    return layout(("PATTERN", "BLOCKS", "CLUSTERS"), rows, width)


def inheritance_lines(document: Inheritance, width: int | None) -> list[str]:
    """A row an organisation."""
    rows = [(each.direction, each.organisation, each.text) for each in document.sides]
    return layout(("DIRECTION", "ORGANISATION", "THEIR SIDE"), rows, width)


def gate_lines(document: VersionGateList, width: int | None) -> list[str]:
    """A row a gate before a cluster."""
    head = ("CLUSTER", "VERSION", "FOR", "GATE", "ID", "AGREED")
    rows = [
        (each.called, each.version, each.minor, short_name(each.label), each.gate, _agreed(each))
        for each in document.items
    ]
    return layout(head, rows, width)


def _agreed(one: GateAhead) -> str:
    """Since when, or who is to agree."""
    if one.agreed is None:
        return "not known"
    if one.agreed:
        return one.since or "yes"
    if one.by_service:
        return "no: the service does"
    return "no: yours" if one.known else "no: yours (an unknown kind)"


def agreement_lines(document: GateAgreementReport) -> list[str]:
    """A row a gate that is to be agreed to."""
    rows = [
        (each.target, each.minor, short_name(each.label), "not agreed → agreed")
        for each in document.agreements
    ]
    return layout(("", "", "", ""), rows, headed=False) if rows else []
