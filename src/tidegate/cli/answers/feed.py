"""Entries of the journal of a service: those there are, and those written next."""

from collections.abc import Iterator

from tidegate.api.client.service import ServiceClient
from tidegate.app.journal.entries import EntryList, EntryQuery, EntryRow, place_of
from tidegate.model.time import format_instant


class ServiceFeed:
    """As `EntryFeed`, asked for over HTTP."""

    def __init__(self, client: ServiceClient, query: EntryQuery) -> None:
        self._client = client
        self._query = query
        self._place = ""

    def past(self) -> Iterator[EntryRow]:
        """The entries up to now, by time."""
        return self._asked(self._query.last)

    def news(self) -> Iterator[EntryRow]:
        """The entries since the last time."""
        return self._asked(None)

    def _asked(self, last: int | None) -> Iterator[EntryRow]:
        if last == 0:
            return
        wanted = self._query.wanted
        query = {
            "rollout": list(self._query.partitions),
            "fact": list(wanted.kinds),
            "actor": wanted.actor,
            "target": wanted.target,
            "gate": wanted.gate,
            "since": "" if wanted.since is None else format_instant(wanted.since),
            "until": "" if wanted.until is None else format_instant(wanted.until),
            "last": last,
            "limit": 1000,
            "continue": self._place,
        }
        given = {key: value for key, value in query.items() if value}
        for row in self._client.get("/journal", given, EntryList).items:
            self._place = place_of(row)
            yield row
