"""The entries of a journal in the order of time: those there are, and those written next."""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from tidegate.app.journal.chains import known_partition
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import UnknownFactError, tags
from tidegate.journal.selection import EntryFilter
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.reason import Gate
from tidegate.model.time import Instant, format_instant, parse_instant
from tidegate.store.archive_port import Archive

# What a fact about a brake may be about, beside what gates are called.
_BRAKES = frozenset({"hold", "freeze", "block", "pin", "budget"})
_Named = tuple[str, JournalEntry]


class EntryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries are wanted."""

    # None named: all.
    partitions: tuple[str, ...] = ()
    wanted: EntryFilter = EntryFilter()
    # Only the last so many; None: all.
    last: int | None = None


class EntryRow(Part, frozen=True):
    """One entry: what happened, when, by which actor."""

    partition: str
    seq: int
    at: str
    actor: str
    # The tag of the fact.
    kind: str
    target: str
    # The fact on one line; of the target or gate in question where one is.
    what: str
    fact: msgspec.Raw
    hash: str


class EntryList(Document, frozen=True, kw_only=True):
    """Entries of a journal, by time; `journal show -w` prints the items one by one."""

    items: tuple[EntryRow, ...]


Shows = Callable[[str, JournalEntry], bool]
"""Whether an entry of a partition is for the caller."""


def entry_list(archive: Archive, query: EntryQuery, shows: Shows | None = None) -> EntryList:
    """The entries there are."""
    return EntryList(items=tuple(EntryFeed(archive, query, shows).past()))


class EntryFeed:
    """The entries there are now, then those written since; each once."""

    def __init__(self, archive: Archive, query: EntryQuery, shows: Shows | None = None) -> None:
        """NotFoundError if a partition, a gate or a kind of facts of this name does not exist."""
        _check_gate(query.wanted.gate)
        _check_facts(query.wanted.kinds)
        self._archive = archive
        self._query = query
        self._shows = shows
        self._names = tuple(known_partition(archive, name) for name in query.partitions)
        # Looked at before anything is read: what is written meanwhile is news, and not read twice.
        self._heads = archive.heads()

    def past(self) -> Iterator[EntryRow]:
        """The entries up to now, of all partitions by time."""
        streams = [self._read(name) for name in self._names or sorted(self._heads)]
        merged = heapq.merge(*streams, key=lambda row: (row[1].at, row[0], row[1].seq))
        found = self._known(merged)
        last = self._query.last
        return self._rows(found if last is None else deque(found, maxlen=last))

    def news(self) -> Iterator[EntryRow]:
        """The entries since the last time, partition by partition."""
        before, self._heads = self._heads, self._archive.heads()
        for name in self._names or sorted(self._heads):
            after = before.get(name, 0)
            if after < self._heads.get(name, 0):
                yield from self._rows(self._known(self._read(name, after)))

    def _read(self, name: str, after: int = 0) -> Iterator[_Named]:
        found = self._archive.find(name, self._query.wanted, after=after)
        return ((name, entry) for entry in found)

    def _known(self, rows: Iterable[_Named]) -> Iterator[_Named]:
        known = (row for row in rows if row[1].seq <= self._heads.get(row[0], 0))
        shows = self._shows
        return known if shows is None else (row for row in known if shows(*row))

    def _rows(self, rows: Iterable[_Named]) -> Iterator[EntryRow]:
        return (entry_row(name, entry, self._query.wanted) for name, entry in rows)


def entry_row(partition: str, entry: JournalEntry, wanted: EntryFilter) -> EntryRow:
    """One entry; it says more of the target or gate that was searched for."""
    return EntryRow(
        partition=partition,
        seq=entry.seq,
        at=format_instant(entry.at),
        actor=entry.actor,
        kind=entry.kind,
        target=entry.target,
        what=_what(entry, wanted),
        fact=msgspec.Raw(entry.body),
        hash=entry.hash.hex(),
    )


def place_of(row: EntryRow) -> str:
    """Where an entry is among all, by time: what comes behind it has a later one."""
    return f"{parse_instant(row.at)}/{row.seq}/{row.partition}"


def behind(rows: Iterable[EntryRow], place: str) -> Iterator[EntryRow]:
    """Those of some entries in the order of time that come behind a place."""
    moment, seq, partition = parse_place(place)
    known = (moment, partition, seq)
    return (row for row in rows if (parse_instant(row.at), row.partition, row.seq) > known)


def parse_place(text: str) -> tuple[Instant, int, str]:
    """The moment, number and partition of a place; ValueError if it is none."""
    moment, _, rest = text.partition("/")
    seq, _, partition = rest.partition("/")
    return Instant(int(moment)), int(seq), partition


def _what(entry: JournalEntry, wanted: EntryFilter) -> str:
    try:
        return entry.fact().line_of(wanted.target, wanted.gate)
    except (msgspec.MsgspecError, UnknownFactError):
        return "a fact of a form this Tidegate does not know"


def _check_facts(kinds: Iterable[str]) -> None:
    known = tags()
    for each in kinds:
        if each not in known:
            raise NotFoundError("fact", each, nearest_or_all(each, sorted(known)))


def _check_gate(name: str) -> None:
    known = {gate.value for gate in Gate} | _BRAKES
    if name and name not in known:
        raise NotFoundError("gate", name, nearest_or_all(name, sorted(known)))
