"""What changed lately at a target, in a group, in an organisation: over all kinds, by whom and why.

Entries that speak of what is asked for, requests of people that cover it, and brakes that were set
on it or lifted. An entry about many targets is one change.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from tidegate.access.roles import GrantScope
from tidegate.app.access.sight import mentions
from tidegate.app.brakes.reach import covered_rows
from tidegate.app.partitions.decision import Decision, LimitedDecision
from tidegate.app.partitions.journals import Journals
from tidegate.documents.calendar_doc import stretch_from
from tidegate.engine.brakes.book import QUARTER, put_together
from tidegate.engine.brakes.source import Written
from tidegate.gates.scope import kind_word
from tidegate.journal.brake_state import FIELDS
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import Fact, UnknownFactError
from tidegate.journal.facts import Asked, Braked, Lifted
from tidegate.journal.selection import EntryFilter
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError
from tidegate.model.time import SECOND, Duration, Instant, format_instant
from tidegate.store.archive_port import Archive

# What changes nothing that is shown: notices, requests beside their acts, logins.
QUIET = frozenset(
    ("told", "requested", "bound", "folded", "sessionStarted", "sessionEnded", "tokenCreated",
     "tokenRevoked")
)  # fmt: skip
DAY = Duration(24 * 3600 * SECOND)
# A list has this many changes at most, the newest; the others are counted.
CHANGES_MAX = 1_000


class ChangeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What changes are asked for: where, and when."""

    # A rollout, or a target in any; empty: all that the scope has.
    name: str = ""
    scope: GrantScope = GrantScope()
    since: Instant
    until: Instant


class ChangeItem(Part, frozen=True, kw_only=True):
    """One change: when, by which actor, what, and why."""

    at: str
    # Empty: of a brake, which is of no rollout.
    rollout: str
    seq: int
    actor: str
    # The tag of the fact.
    fact: str
    # The target it is about; empty: several, or the rollout.
    target: str
    what: str
    # What the person who did it wrote; empty: it follows from the rules.
    reason: str


class ChangeList(Document, frozen=True, kw_only=True):
    """What changed in a stretch of time, the newest first."""

    since: str
    until: str
    # The targets in question, by rollout.
    targets: dict[str, int]
    items: tuple[ChangeItem, ...]
    # Older ones that are not listed.
    left_out: int = 0
    # Looks that found all as before: they are in the journal, and no change.
    looks: int = 0


_Dated = tuple[Instant, ChangeItem]


class _Chosen(msgspec.Struct, frozen=True):
    """What is asked for in one partition."""

    one: Decision
    names: frozenset[str]
    groups: frozenset[str]
    # Whether it is all of the partition.
    whole: bool


def change_list(journals: Journals, archive: Archive, query: ChangeQuery) -> ChangeList:
    """The changes; NotFoundError if nothing is called so."""
    chosen = list(_chosen(journals, query))
    looks: Counter[str] = Counter()
    streams = [_of_partition(archive, each, query, looks) for each in chosen]
    if journals.is_unlimited:
        streams.append(_of_brakes(archive, chosen, query))
    kept: deque[ChangeItem] = deque(maxlen=CHANGES_MAX)
    number = 0
    for _, item in heapq.merge(*streams, key=lambda each: (each[0], each[1].rollout)):
        number += 1
        kept.append(item)
    return ChangeList(
        since=format_instant(query.since),
        until=format_instant(query.until),
        targets={each.one.partition: len(each.names) for each in chosen},
        items=tuple(reversed(kept)),
        left_out=number - len(kept),
        looks=looks.total(),
    )


def _chosen(journals: Journals, query: ChangeQuery) -> Iterator[_Chosen]:
    if query.name:
        one, target, others = journals.find_target(query.name)
        every = [one, *filter(None, map(journals.read, others))]
        wanted: Callable[[str], bool] = lambda name: target in (None, name)  # noqa: E731
    else:
        every, wanted = list(journals.all()), lambda _: True
    found = 0
    for each in every:
        mine = [at for at in each.reached if wanted(at.target) and query.scope.has(at)]
        if not mine and not (query.scope.is_everything and not query.name):
            continue
        found += 1
        yield _Chosen(
            each,
            frozenset(at.target for at in mine),
            frozenset(at.group for at in mine),
            whole=each.is_whole and len(mine) == len(each.reached),
        )
    if not found and not (query.scope.is_everything and not query.name):
        asked = query.scope.groups + query.scope.organisations + query.scope.environments
        what = query.name or ", ".join(asked) or "these labels"
        raise NotFoundError("target", what, "`tidegate get rollouts` lists what there is")


def _of_partition(
    archive: Archive, chosen: _Chosen, query: ChangeQuery, looks: Counter[str]
) -> Iterator[_Dated]:
    """The changes of a partition; looks that found none are counted."""
    wanted = EntryFilter(since=query.since, until=query.until)
    encoded = {name: msgspec.json.encode(name) for name in chosen.names}
    for entry in archive.find(chosen.one.partition, wanted):
        if entry.kind in QUIET:
            continue
        try:
            fact = entry.fact()
        except UnknownFactError:
            continue
        if not fact.is_news():
            looks[chosen.one.partition] += 1
        elif chosen.whole:
            yield entry.at, _item(chosen.one.partition, entry, fact, entry.target, fact.line())
        elif item := _about(chosen, encoded, entry, fact):
            yield entry.at, item


def _about(
    chosen: _Chosen, encoded: dict[str, bytes], entry: JournalEntry, fact: Fact
) -> ChangeItem | None:
    """An entry of a partition of which a part is asked for; None: it is about the rest."""
    named = [name for name, raw in encoded.items() if raw in entry.body and fact.names(name)]
    if not named and not (isinstance(fact, Asked) and _covers(fact, chosen.groups)):
        return None
    target = named[0] if len(named) == 1 else ""
    what = fact.line_of(target, "") if target else fact.line()
    one = chosen.one
    if isinstance(one, LimitedDecision) and (
        mentions(what, one.hidden) or not (target or one.shows(entry))
    ):
        return None
    return _item(one.partition, entry, fact, target, what)


def _covers(fact: Asked, groups: frozenset[str]) -> bool:
    """Whether a request of a person is about all of a rollout, or about one of these groups."""
    return not fact.groups or bool(groups.intersection(fact.groups))


def _item(rollout: str, entry: JournalEntry, fact: Fact, target: str, what: str) -> ChangeItem:
    return ChangeItem(
        at=format_instant(entry.at),
        rollout=rollout,
        seq=entry.seq,
        actor=entry.actor,
        fact=entry.kind,
        target=target,
        what=what,
        reason=getattr(fact, "reason", ""),
    )


def _of_brakes(archive: Archive, chosen: Iterable[_Chosen], query: ChangeQuery) -> Iterator[_Dated]:
    """Brakes on what is asked for that were set or lifted; their chain is never dropped."""
    documents: dict[tuple[str, str], dict[str, object]] = {}
    every = query.scope.is_everything and not query.name
    for entry in archive.find(BRAKES, EntryFilter(until=query.until)):
        fact = entry.fact()
        if not isinstance(fact, Braked | Lifted):
            continue
        key = (fact.brake, fact.name)
        if isinstance(fact, Braked):
            documents[key] = fact.document
        document = documents.get(key)
        is_ours = every or document is None or _is_on(chosen, fact.brake, document, entry.at)
        if entry.at >= query.since and is_ours:
            yield entry.at, _item("", entry, fact, "", fact.line())


def _is_on(chosen: Iterable[_Chosen], brake: str, document: dict[str, object], at: Instant) -> bool:
    """Whether a brake covers something that is asked for, or may cover it."""
    field = FIELDS.get(brake, brake)
    if brake == "expedite":  # it covers no target, and lets versions of clusters through
        return any(kind_word(each.one.partition) == "upgrades" for each in chosen)
    stretch = stretch_from(Instant(at // QUARTER * QUARTER), QUARTER)
    brakes = put_together((Written(brake, {field: [document]}, journal=True),), stretch)
    if not getattr(brakes, field):  # it cannot be read, and holds everything
        return True
    return any(
        row.name in each.names for each in chosen for row in covered_rows(each.one, field, brakes)
    )
