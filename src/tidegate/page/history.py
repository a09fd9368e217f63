"""Entries of the journal for a page, newest first, as far as the caller sees their targets."""

import msgspec

from tidegate.app.journal.entries import EntryFeed, EntryQuery, EntryRow, entry_row
from tidegate.app.partitions.journals import Journals
from tidegate.journal.brake_state import PARTITION as BRAKES
from tidegate.journal.chain import JournalEntry
from tidegate.journal.selection import EntryFilter
from tidegate.model.errors import NotFoundError
from tidegate.store.archive_port import Archive

# A page lists this many entries at most.
ENTRIES_SHOWN = 200
# A fact about 50,000 targets is megabytes: too much to read.
FACT_MAX = 200_000


def newest_entries(
    archive: Archive, journals: Journals, wanted: EntryFilter, rollout: str = ""
) -> list[EntryRow]:
    """The newest entries of a rollout, or of all and of brakes; NotFoundError if it is not there.

    Brakes name targets of others, so their chain is for those from whom nothing is kept.
    """
    names = [journals.find(rollout).partition] if rollout else list(journals.names())
    kept = archive.heads()
    known = {each: one for each in names if each in kept and (one := journals.read(each))}
    brakes = (BRAKES,) if not rollout and journals.is_unlimited and BRAKES in kept else ()
    if not known and not brakes:
        return []

    def shows(partition: str, entry: JournalEntry) -> bool:
        return partition in brakes or known[partition].shows(entry)

    query = EntryQuery(partitions=(*known, *brakes), wanted=wanted, last=ENTRIES_SHOWN)
    return list(EntryFeed(archive, query, shows).past())[::-1]


class EntryPage(msgspec.Struct, frozen=True):
    """One entry as it was written, and whether its chain still holds."""

    row: EntryRow
    # The fact, laid out for people; empty beyond `FACT_MAX`, which programs read.
    fact: str
    before: int
    after: int
    # What is wrong with the chain up to this entry; empty: nothing is.
    broken: str


def entry_page(archive: Archive, journals: Journals, rollout: str, seq: int) -> EntryPage:
    """An entry by its number; NotFoundError if there is none, or its caller may not see it."""
    one = journals.find(rollout)
    found = next(iter(archive.read(one.partition, after=seq - 1, limit=1)), None)
    if found is None or found.seq != seq or not one.shows(found):
        raise NotFoundError("entry", str(seq), f"in {one.partition}; it may be compacted")
    broken = archive.verify(one.partition)
    wrong = "" if broken is None or broken.seq > seq else f"{broken.seq}: {broken.what}"
    is_short = len(found.body) <= FACT_MAX
    return EntryPage(
        row=entry_row(one.partition, found, EntryFilter()),
        fact=msgspec.json.format(found.body, indent=2).decode() if is_short else "",
        before=seq - 1,
        after=seq + 1 if archive.head(one.partition).seq > seq else 0,
        broken=wrong,
    )
