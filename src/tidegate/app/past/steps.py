"""The moments at which something changed: where a slider begins and ends, and one step either way.

A step is found by reading on from the moment, so a long journal costs as much as a short one. Of
one partition, steps are its entries; of several, they are times, which only go forward.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from tidegate.app.journal.changes import QUIET
from tidegate.app.journal.entries import EntryRow, entry_row
from tidegate.app.partitions.journals import Journals
from tidegate.app.past.journals import PastJournals
from tidegate.journal.chain import JournalEntry
from tidegate.journal.selection import EntryFilter
from tidegate.model.document import Document
from tidegate.model.time import Instant, format_instant
from tidegate.store.port import Store

# Entries that are read at once, to find a step before a moment.
READ = 50


class PastSteps(Document, frozen=True, kw_only=True):
    """A moment of the past among those at which something changed."""

    at: str
    # The first and the last entry; null: there is none.
    first: str | None
    last: str | None
    # What to write as `at` for one step back, and one ahead; null: there is none.
    before: str | None
    after: str | None
    # What happened at this moment, or last before it; null: nothing did.
    happened: EntryRow | None = None


def past_steps(past: PastJournals, now: Journals, rollout: str = "") -> PastSteps:
    """The steps around a moment, of one partition or of all; `now`: the journals to look ahead in.

    NotFoundError if there is no such partition now.
    """
    store = now.store
    if rollout:
        name = now.find(rollout).partition
        names, found = [name], _of_one(past, store, name)
    else:
        names, found = now.names(), None
    before, after = found if found is not None else _of_all(past, store, names)
    ends = [each for each in (_ends(store, name) for name in names) if each is not None]
    return PastSteps(
        at=format_instant(past.moment.at),
        first=format_instant(min(first for first, _ in ends)) if ends else None,
        last=format_instant(max(last for _, last in ends)) if ends else None,
        before=before,
        after=after,
        happened=_happened(past, names),
    )


def _ends(store: Store, name: str) -> tuple[Instant, Instant] | None:
    first = next(iter(store.read(name, limit=1)), None)
    last = next(iter(store.read(name, after=store.head(name).seq - 1, limit=1)), None)
    return None if first is None or last is None else (first.at, last.at)


def _of_one(past: PastJournals, store: Store, name: str) -> tuple[str | None, str | None]:
    """Entries of one partition; those of one round are one step."""
    end = past.then.end(name)
    here = next(iter(store.read(name, after=end - 1, limit=1)), None) if end else None
    since = here.at if here is not None else None
    earlier = (each for each in _back(store, name, end) if each.at != since)
    later = _last_of_round(_ahead(store, name, end))
    return _text(name, next(earlier, None)), _text(name, later)


def _last_of_round(entries: Iterable[JournalEntry]) -> JournalEntry | None:
    found: JournalEntry | None = None
    for each in entries:
        if found is not None and each.at != found.at:
            break
        found = each
    return found


def _text(name: str, entry: JournalEntry | None) -> str | None:
    return None if entry is None else f"{entry.seq}/{name}"


def _of_all(
    past: PastJournals, store: Store, names: Iterable[str]
) -> tuple[str | None, str | None]:
    """Times: the last before the moment at which something changed anywhere, and the next."""
    at = past.moment.at
    before, after = list[Instant](), list[Instant]()
    for name in names:
        end = past.then.end(name)
        earlier = next((each for each in _back(store, name, end) if each.at < at), None)
        later = next((each for each in _ahead(store, name, end) if each.at > at), None)
        before += [] if earlier is None else [earlier.at]
        after += [] if later is None else [later.at]
    return (
        format_instant(max(before)) if before else None,
        format_instant(min(after)) if after else None,
    )


def _ahead(store: Store, name: str, end: int) -> Iterator[JournalEntry]:
    """The entries behind a number that change something; read as far as they are asked for."""
    return (each for each in store.read(name, after=end) if each.kind not in QUIET)


def _back(store: Store, name: str, end: int) -> Iterator[JournalEntry]:
    """The entries up to a number that change something, the last one first."""
    while end > 0:
        first = max(0, end - READ)
        found = list(store.read(name, after=first, limit=end - first))
        yield from (each for each in reversed(found) if each.kind not in QUIET)
        # What was dropped cannot be read.
        end = first if found and found[0].seq == first + 1 else 0


def _happened(past: PastJournals, names: Iterable[str]) -> EntryRow | None:
    """What changed last, of what the caller sees."""
    found: list[tuple[Instant, str, JournalEntry]] = []
    for name in names:
        one = past.read(name)
        if one is not None:
            mine = filter(one.shows, _back(past.then, name, past.then.end(name)))
            found += [(each.at, name, each) for each in islice(mine, 1)]
    if not found:
        return None
    _, name, entry = max(found, key=lambda each: each[:2])
    return entry_row(name, entry, EntryFilter())
