"""One look at a whole journal: the rows of all partitions, and the entries behind some ends.

A service looks many times a second, and of a thousand rows hardly any has changed: what a row says
is read once, and used again while the row is the same.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tidegate.journal.chain import JournalEntry
from tidegate.store.archive_port import LOOK_ENTRIES_MAX, SeenPartition
from tidegate.store.client.database import Driver
from tidegate.store.client.partition import Partition, all_rows, made
from tidegate.store.client.rows import COLUMNS, select_entries

# One index scan a chain, in one statement.
_BEHIND = (
    f"SELECT wanted.name, {COLUMNS}"
    " FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[])"
    " AS wanted (name, id, first, last) CROSS JOIN LATERAL"
    f" (SELECT {COLUMNS} FROM journal_entries WHERE partition_id = wanted.id"
    " AND seq > wanted.first AND seq <= wanted.last ORDER BY seq) AS found"
)


class WantedEntries(NamedTuple):
    """Entries of one chain that are wanted."""

    name: str
    id: int
    first: int
    last: int


class PartitionRows:
    """The rows of all partitions, read again and again."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[Any, ...]] = {}
        self._found: dict[str, Partition] = {}
        self._seen: dict[str, SeenPartition] = {}

    def read(self, driver: Driver) -> dict[str, SeenPartition]:
        """All partitions there are, in order of names."""
        rows = {row[1]: row for row in all_rows(driver)}
        for name in [*self._rows]:
            if name not in rows:
                del self._found[name], self._seen[name]
        for name, row in rows.items():
            if self._rows.get(name) != row:
                found = self._found[name] = made(row)
                self._seen[name] = SeenPartition(found.chain(), found.record)
        self._rows = rows
        return {name: self._seen[name] for name in sorted(rows)}

    def stretch(self, name: str, after: int) -> WantedEntries | None:
        """What to read of a chain behind a number; None: nothing, or more than one look takes."""
        found = self._found.get(name)
        if found is None or not 0 < found.head.seq - after <= LOOK_ENTRIES_MAX:
            return None
        return (
            WantedEntries(name, found.id, after, found.head.seq)
            if after >= found.base.seq
            else None
        )


def behind(driver: Driver, wanted: Sequence[WantedEntries]) -> dict[str, list[JournalEntry]]:
    """The entries of each stretch; none of one that is not whole any more."""
    if driver.is_sqlite:
        found = {
            each.name: select_entries(driver, each.id, each.first, each.last) for each in wanted
        }
    else:
        found = _selected(driver, wanted) if wanted else {}
    return {
        each.name: some
        for each in wanted
        if len(some := found.get(each.name, [])) == each.last - each.first
    }


def _selected(driver: Driver, wanted: Sequence[WantedEntries]) -> dict[str, list[JournalEntry]]:
    found: dict[str, list[JournalEntry]] = {each.name: [] for each in wanted}
    with driver.raw.cursor(binary=True) as cursor:
        for name, *row in cursor.execute(_BEHIND, tuple(map(list, zip(*wanted, strict=True)))):
            found[name].append(JournalEntry(*row))
    return found
