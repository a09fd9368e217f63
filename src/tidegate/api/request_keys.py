"""The keys under which acts were carried out, by the entries that record them.

A journal is searched once; after that only what was added is read, so that a write costs the same
however many there were before it.
"""

import msgspec

from tidegate.journal.chain import JournalEntry
from tidegate.journal.facts import Requested
from tidegate.journal.selection import EntryFilter
from tidegate.store.archive_port import Archive

_REQUESTED = "requested"


class _KnownKeys(msgspec.Struct):
    """The keys of one partition, up to one of its entries."""

    seq: int
    # The entry of each, by actor and key.
    entries: dict[tuple[str, str], int]


class RequestKeys:
    """Finds what was recorded under a key."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._known: dict[str, _KnownKeys] = {}

    def find(self, partition: str, actor: str, key: str) -> Requested | None:
        """What was carried out under a key of an actor; None: nothing was."""
        known = self._known.get(partition)
        if known is None:
            end = self._archive.head(partition).seq
            wanted = EntryFilter(kinds=(_REQUESTED,))
            known = _KnownKeys(end, {})
            for entry in self._archive.find(partition, wanted):
                _take(known, entry)
            self._known[partition] = known
        for entry in self._archive.read(partition, after=known.seq):
            _take(known, entry)
            known.seq = entry.seq
        seq = known.entries.get((actor, key))
        if seq is None:
            return None
        for entry in self._archive.read(partition, after=seq - 1, limit=1):
            fact = entry.fact()
            return fact if isinstance(fact, Requested) else None
        return None  # it was compacted away


def _take(known: _KnownKeys, entry: JournalEntry) -> None:
    if entry.kind != _REQUESTED:
        return
    fact = entry.fact()
    if isinstance(fact, Requested) and fact.key:
        # The first one counts, as it was found in a search from the beginning.
        known.entries.setdefault((entry.actor, fact.key), entry.seq)
