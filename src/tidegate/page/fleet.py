"""The fleet on one screen: what is broken, what stopped, what moves, and what needs a person."""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from tidegate.app.cells import CellMap
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.app.tally import MISTAKES, REQUESTS, UNCHANGEABLE, needs_of
from tidegate.app.workers import trouble_lines
from tidegate.model.time import format_instant
from tidegate.page.words import FILLED, LOOKS, WORDS

# What a filter finds is listed by name up to this many: the map alone has no names on a phone.
MATCHES_SHOWN = 12
# "Needs you" lists this many things of a rollout; the others are counted.
NEEDS_SHOWN = 5


class FleetQuery(msgspec.Struct, frozen=True):
    """The view that the address keeps."""

    words: tuple[str, ...] = ()
    look: str = ""
    kind: str = ""

    @property
    def narrows(self) -> bool:
        """Whether some targets do not match."""
        return bool(self.words or self.look)

    def matches(self, text: str, look: str) -> bool:
        """Whether a target is wanted: its names hold every word."""
        if self.look and look != self.look:
            return False
        lower = text.lower()
        return all(each in lower for each in self.words)


def fleet_query(params: Iterable[tuple[str, str]]) -> FleetQuery:
    """The view of an address."""
    found = dict(params)
    return FleetQuery(
        words=tuple(found.get("q", "").lower().split()),
        look=found.get("look", ""),
        kind=found.get("kind", ""),
    )


class Bar(msgspec.Struct, frozen=True):
    """One piece of a stacked bar, in percent of the whole."""

    look: str
    x: float
    width: float
    count: int


class GroupLane(msgspec.Struct, frozen=True):
    """A group of a rollout with its targets by how they are drawn."""

    name: str
    key: str
    status: str
    size: int
    counts: dict[str, int]
    bars: tuple[Bar, ...]


class FleetBlock(msgspec.Struct, frozen=True):
    """A rollout."""

    id: str
    kind: str
    summary: str
    revision: str
    size: int
    counts: dict[str, int]
    bars: tuple[Bar, ...]
    lanes: tuple[GroupLane, ...]
    cells: CellMap


class Need(msgspec.Struct, frozen=True):
    """One thing that only a person can do."""

    rollout: str
    what: str
    # The target that it is about; empty: the rollout.
    target: str
    text: str


class Match(msgspec.Struct, frozen=True):
    """A target that a filter finds, and what is said of it."""

    rollout: str
    target: str
    state: str
    why: str


class FleetView(msgspec.Struct, frozen=True):
    """All that the home page shows."""

    blocks: tuple[FleetBlock, ...]
    kinds: tuple[str, ...]
    counts: dict[str, int]
    size: int
    matching: int
    # The first of those that match, where some do not.
    matches: tuple[Match, ...]
    needs: tuple[Need, ...]
    more_needs: int
    troubles: tuple[str, ...]
    # When time alone may change what is shown; empty: it does not.
    next: str


def fleet_view(journals: Journals, query: FleetQuery) -> FleetView:
    """Every rollout that is seen, of one kind or of all."""
    every = list(journals.all())
    shown = [each for each in every if query.kind in ("", each.kind)]
    blocks = tuple(fleet_block(each) for each in shown)
    total: Counter[str] = Counter()
    for each in blocks:
        total.update(each.counts)
    needs, more = _needs(shown)
    matching, matches = _matches(blocks, query)
    workers = [*(each.worker for each in shown), *journals.unseen]
    return FleetView(
        blocks=blocks,
        kinds=tuple(dict.fromkeys(each.kind for each in every)),
        counts=_ordered(total),
        size=sum(total.values()),
        matching=matching,
        matches=tuple(matches),
        needs=tuple(needs),
        more_needs=more,
        troubles=tuple(trouble_lines(workers, journals.now)),
        next=next_moment(journals, shown),
    )


def next_moment(journals: Journals, shown: Iterable[Decision]) -> str:
    """When time alone may change one of these; empty: it does not, or the moment is not known."""
    moments = (each.view.recheck_at for each in shown)
    to_come = [each for each in moments if each is not None and each > journals.now]
    return format_instant(min(to_come)) if to_come else ""


def fleet_block(one: Decision) -> FleetBlock:
    """One rollout, with its groups in order."""
    cells = one.cells
    number = Counter(cells.cells)
    whole: Counter[str] = Counter()
    by_group: dict[str, Counter[str]] = {}
    for index, count in number.items():
        kind = cells.kinds[index]
        whole[kind.look] += count
        by_group.setdefault(kind.group, Counter())[kind.look] += count
    return FleetBlock(
        id=one.partition,
        kind=one.kind,
        summary=one.view.summary,
        revision=one.view.revision,
        size=len(cells.names),
        counts=_ordered(whole),
        bars=_bars(whole),
        lanes=tuple(_lanes(one, by_group)),
        cells=cells,
    )


def _lanes(one: Decision, by_group: dict[str, Counter[str]]) -> Iterator[GroupLane]:
    for row in one.view.groups:
        counts = by_group.get(row.name, Counter())
        yield GroupLane(
            name=row.name,
            key=row.key,
            status=row.status,
            size=sum(counts.values()),
            counts=_ordered(counts),
            bars=_bars(counts),
        )


def _ordered(counts: Counter[str]) -> dict[str, int]:
    return {each.name: counts[each.name] for each in LOOKS}


def _bars(counts: Counter[str]) -> tuple[Bar, ...]:
    whole, x, found = sum(counts.values()), 0.0, list[Bar]()
    for name in FILLED:
        if count := counts[name]:
            width = round(100 * count / whole, 2)
            found.append(Bar(name, round(x, 2), width, count))
            x += width
    return tuple(found)


def _matches(blocks: Iterable[FleetBlock], query: FleetQuery) -> tuple[int, list[Match]]:
    """How many targets match, and the first of them; none is named where all do."""
    count, found = 0, list[Match]()
    for cells in (each.cells for each in blocks):
        if not query.narrows:
            count += len(cells.names)
            continue
        wanted = wanted_cells(cells, query)
        for at in (at for at, wants in enumerate(wanted) if wants):
            count += 1
            if len(found) < MATCHES_SHOWN:
                kind = cells.kinds[cells.cells[at]]
                found.append(Match(cells.rollout, cells.names[at], kind.state, kind.why))
    return count, found


def wanted_cells(cells: CellMap, query: FleetQuery) -> Iterator[bool]:
    """For each target of a map, whether it is wanted."""
    texts = [f"{cells.rollout} {each.group} {each.state} {each.look} " for each in cells.kinds]
    for name, index in zip(cells.names, cells.cells, strict=True):
        yield query.matches(texts[index] + name, cells.kinds[index].look)


# What is said of each thing that only a person can do; of any other, that a rollout ended.
_NEEDS = {
    "approvals": "approve_needed",
    "failures": "failure",
    UNCHANGEABLE: "unchangeable",
    MISTAKES: "mistake",
    REQUESTS: "unfit_request",
}


def _words(what: str) -> str:
    return WORDS[_NEEDS.get(what, "over")]


def _needs(every: Iterable[Decision]) -> tuple[list[Need], int]:
    found, more = list[Need](), 0
    for one in every:
        some = [
            Need(one.partition, name, name if name in one.names else "", _words(what))
            for what, name in needs_of(one.view)
        ]
        found += some[:NEEDS_SHOWN]
        more += max(0, len(some) - NEEDS_SHOWN)
    return found, more
