"""A screen for each kind of change: what only it has, as a table over documents of that kind."""

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.api.questions import NoQuery
from tidegate.api.route import RouteQuestion
from tidegate.app.partitions.journals import Journals
from tidegate.git.history import short_version
from tidegate.kinds.integrations.app.pins.pin_list import journal_pins
from tidegate.kinds.promotions.app.lane_parts import LaneEnvironment
from tidegate.kinds.promotions.app.lanes import promotion_lanes
from tidegate.kinds.upgrades.api.questions import ClusterQuery, clusters
from tidegate.page.fleet import Bar, FleetBlock, fleet_block
from tidegate.page.words import WORDS

KINDS = ("upgrades", "integrations", "promotions", "policies")


_LAST = ("status", "why")


class TableCell(msgspec.Struct, frozen=True):
    """A text, and where it leads; a target says why."""

    text: str
    href: str = ""
    rollout: str = ""
    target: str = ""
    bars: tuple[Bar, ...] = ()


class KindTable(msgspec.Struct, frozen=True):
    """A table of a screen."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]


def kind_tables(ask: RouteQuestion[NoQuery], kind: str) -> tuple[tuple[KindTable, ...], list[str]]:
    """The tables of a kind, and what could not be read for them."""
    if kind == "upgrades":
        return _upgrades(ask)
    journals = ask.journals
    if kind == "promotions":
        return (_promotions(journals),), []
    tables = [_rollouts(journals, kind)]
    if kind == "integrations":
        tables.append(_pins(journals))
    return tuple(tables), []


def _upgrades(ask: RouteQuestion[NoQuery]) -> tuple[tuple[KindTable, ...], list[str]]:
    found = clusters(
        RouteQuestion(ask.journals, ask.every, ask.archive, ask.caller, "", ClusterQuery())
    )
    rows = tuple(
        (
            _of_cluster(ask.journals, each.org, each.environment, each.cluster),
            TableCell(each.org_name or each.org),
            TableCell(each.sector or ""),
            TableCell(each.version),
            TableCell(each.next or ""),
            TableCell("" if each.soak_left_days is None else f"{each.soak_left_days:g} d"),
            TableCell(each.phase),
            TableCell(each.summary),
        )
        for each in found.items
    )
    head = ("cluster", "organisation", "sector", "version", "next_version", "soak_left", *_LAST)
    title = WORDS["clusters"]
    return (KindTable(title, _words(head), rows),), [*found.errors, *found.notes]


def _of_cluster(journals: Journals, org: str, environment: str, name: str) -> TableCell:
    partition = f"upgrades/{environment}/{org}"
    known = partition in journals.names()
    return TableCell(name, rollout=partition, target=name) if known else TableCell(name)


def _promotions(journals: Journals) -> KindTable:
    rows = tuple(
        (
            # The rows of a promotion name it once.
            TableCell("" if at else lane.promotion, f"/rollout/{lane.partition}"),
            TableCell("" if at else short_version(lane.version)),
            TableCell(each.name)
            if each.publishes
            else TableCell(each.name, rollout=lane.partition, target=each.name),
            TableCell(", ".join(map(short_version, each.versions)) or each.follows or ""),
            TableCell("" if each.behind is None else str(each.behind)),
            TableCell(each.state),
            _offered(each),
            TableCell("; ".join(filter(None, (each.why, *each.troubles)))),
        )
        for lane in promotion_lanes(journals).items
        for at, each in enumerate(lane.environments)
    )
    head = ("promotion", "newest", "environment", "version", "behind", "status", "offered", "why")
    return KindTable(WORDS["environments"], _words(head), rows)


def _offered(each: LaneEnvironment) -> TableCell:
    """The merge request of a version; only an address of the web is a link."""
    offer = each.offer
    if offer is None:
        return TableCell("")
    url = offer.url or ""
    is_link = url.startswith(("https://", "http://"))
    return TableCell(f"{short_version(offer.version)} {offer.state}", url if is_link else "")


def _rollouts(journals: Journals, kind: str) -> KindTable:
    blocks = [fleet_block(each) for each in journals.all(kind)]
    head = ("rollout", "revision_word", "group", "status", "progress", "counts")
    return KindTable(WORDS["rollouts"], _words(head), tuple(_rollout_rows(blocks)))


def _rollout_rows(blocks: Iterable[FleetBlock]) -> Iterator[tuple[TableCell, ...]]:
    for block in blocks:
        yield (
            TableCell(block.id, f"/rollout/{block.id}"),
            TableCell(block.revision),
            TableCell(""),
            TableCell(block.summary),
            TableCell("", bars=block.bars),
            TableCell(_counted(block.counts)),
        )
        for lane in block.lanes:
            yield (
                TableCell(""),
                TableCell(""),
                TableCell(lane.name),
                TableCell(lane.status),
                TableCell("", bars=lane.bars),
                TableCell(_counted(lane.counts)),
            )


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {look}" for look, number in counts.items() if number)


def _pins(journals: Journals) -> KindTable:
    rows = tuple(
        (
            TableCell(each.name),
            TableCell(each.covers),
            TableCell(each.owner),
            TableCell(each.reason),
            TableCell(each.expires or ""),
        )
        for each in journal_pins(journals).items
    )
    head = ("name", "covers", "owner", "reason", "until")
    return KindTable(WORDS["pins"], _words(head), rows)


def _words(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(WORDS[each] for each in names)
