"""Entries of the journal for a page, newest first, as far as the caller sees their targets."""

from tidegate.app.journal.entries import EntryFeed, EntryQuery, EntryRow
from tidegate.app.journals import Journals
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.selection import EntryFilter
from tidegate.store.archive_port import Archive

# A page lists this many entries at most.
ENTRIES_SHOWN = 200


def newest_entries(
    archive: Archive, journals: Journals, wanted: EntryFilter, rollout: str = ""
) -> list[EntryRow]:
    """The newest entries of a rollout, or of all and of brakes; NotFoundError if it is not there.

    Brakes name targets of others, so their chain is for those from whom nothing is kept.
    """
    names = [journals.find(rollout).partition] if rollout else list(journals.names())
    kept, found = archive.heads(), list[EntryRow]()
    for name in names:
        one = journals.read(name)
        if one is not None and name in kept:
            found += EntryFeed(archive, _query(name, wanted), one.shows).past()
    if not rollout and journals.is_unlimited and BRAKES in kept:
        found += EntryFeed(archive, _query(BRAKES, wanted)).past()
    found.sort(key=lambda each: (each.at, each.partition, each.seq), reverse=True)
    return found[:ENTRIES_SHOWN]


def _query(partition: str, wanted: EntryFilter) -> EntryQuery:
    return EntryQuery(partitions=(partition,), wanted=wanted, last=ENTRIES_SHOWN)
