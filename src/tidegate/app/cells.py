"""A partition for a map of cells: what targets have in common once, and an index for each.

10,000 targets with every verdict are 350 kB this way, and 32 kB compressed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import field

from tidegate.app.documents import OptionDoc, TargetParts
from tidegate.app.partitions.plan_tag import tag_of
from tidegate.app.tally import look_of
from tidegate.explain.view import PartitionView, TargetRow
from tidegate.model.document import Document, Part
from tidegate.model.time import format_instant

if TYPE_CHECKING:
    from tidegate.app.partitions.journals import Journals


class CellKind(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What targets have in common: state, revisions, and every verdict."""

    state: str
    # What it is drawn as: failed, held, stopped, moving, soaking, waiting, done, ignored.
    look: str
    group: str = ""
    revision: str = ""
    next: str = ""
    status: str = ""
    starts: bool = False
    why: str = ""
    until: str | None = None
    options: tuple[OptionDoc, ...] = ()


class CellMap(Document, frozen=True, kw_only=True):
    """The targets of a partition: `cells[i]` is the index in `kinds` of the target `names[i]`."""

    rollout: str
    # The moment it is decided for, and the tag of the plan.
    at: str
    tag: str
    kinds: tuple[CellKind, ...]
    names: tuple[str, ...]
    cells: tuple[int, ...] = field(default=())


class FleetCells(Document, frozen=True, kw_only=True):
    """Every partition as cells."""

    at: str
    items: tuple[CellMap, ...]


def fleet_cells(journals: "Journals", kind: str = "") -> FleetCells:
    """Every partition, or those of a kind, as cells."""
    items = tuple(each.cells for each in journals.all(kind))
    return FleetCells(at=format_instant(journals.now), items=items)


def cell_map(journals: "Journals", name: str) -> CellMap:
    """A partition as cells."""
    return journals.find(name).cells


def cells_of(view: PartitionView, rows: Mapping[str, str], *, moves: bool) -> CellMap:
    """A plan as cells; `rows`: as a person decides by it, `moves`: a worker acts on it."""
    parts, kinds = TargetParts(), dict[tuple[object, ...], int]()
    found: list[CellKind] = []
    cells: list[int] = []
    for row in view.targets:
        key = _key(row)
        if key not in kinds:
            kinds[key] = len(found)
            found.append(_kind(parts, row, moves=moves))
        cells.append(kinds[key])
    return CellMap(
        rollout=view.partition,
        at=format_instant(view.now),
        tag=tag_of(rows),
        kinds=tuple(found),
        names=tuple(row.name for row in view.targets),
        cells=tuple(cells),
    )


def _key(row: TargetRow) -> tuple[object, ...]:
    """Verdicts and options are shared values: those that are alike are the same objects."""
    same = tuple((each.change, each.starts, id(each.verdicts)) for each in row.options)
    shared = (row.state, row.group, row.revision, row.next, row.status, row.starts)
    return (*shared, row.returned, id(row.shut), same)


def _kind(parts: TargetParts, row: TargetRow, *, moves: bool) -> CellKind:
    one = parts.one(row)
    return CellKind(
        state=one.state,
        look=look_of(row, moves=moves),
        group=one.group,
        revision=one.revision,
        next=one.next,
        status=one.status,
        starts=one.starts,
        why=one.why,
        until=one.until,
        options=one.options,
    )
