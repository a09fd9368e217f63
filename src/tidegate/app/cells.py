"""A partition for a map of cells: what targets have in common once, and an index for each.

10,000 targets with every verdict are 350 kB this way, and 32 kB compressed.
"""

from msgspec import field

from tidegate.app.documents import OptionDoc, TargetParts
from tidegate.app.journals import Decision, Journals
from tidegate.app.plan_tag import tag_of
from tidegate.app.tally import look_of
from tidegate.explain.view import TargetRow
from tidegate.model.document import Document, Part
from tidegate.model.time import format_instant


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


def fleet_cells(journals: Journals, kind: str = "") -> FleetCells:
    """Every partition, or those of a kind, as cells."""
    items = tuple(map(cells_of, journals.all(kind)))
    return FleetCells(at=format_instant(journals.now), items=items)


def cell_map(journals: Journals, name: str) -> CellMap:
    """A partition as cells."""
    return cells_of(journals.find(name))


def cells_of(one: Decision) -> CellMap:
    """A decision as cells."""
    parts, kinds = TargetParts(), dict[tuple[object, ...], int]()
    found: list[CellKind] = []
    cells: list[int] = []
    for row in one.view.targets:
        key = _key(row)
        if key not in kinds:
            kinds[key] = len(found)
            found.append(_kind(parts, row, moves=one.worker.moves))
        cells.append(kinds[key])
    return CellMap(
        rollout=one.partition,
        at=format_instant(one.now),
        tag=tag_of(one.rows),
        kinds=tuple(found),
        names=tuple(row.name for row in one.view.targets),
        cells=tuple(cells),
    )


def _key(row: TargetRow) -> tuple[object, ...]:
    """Verdicts and options are shared values: those that are alike are the same objects."""
    same = tuple((each.change, each.starts, id(each.verdicts)) for each in row.options)
    shared = (row.state, row.group, row.revision, row.next, row.status, row.starts)
    return (*shared, id(row.shut), same)


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
