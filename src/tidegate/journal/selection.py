"""Which entries are wanted: by kind, actor and time; by target and gate inside them.

Kind, actor and time are columns, which a database compares by itself. A target or a gate may stand
inside a fact (a plan speaks of many targets), so the fact is read, if its bytes hold the name.
"""

import msgspec

from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import UnknownFactError
from tidegate.model.time import Instant


class EntryFilter(msgspec.Struct, frozen=True):
    """What an entry must have to be shown; what is left empty does not matter."""

    kinds: tuple[str, ...] = ()
    actor: str = ""
    target: str = ""
    gate: str = ""
    # From this moment on; None: from the beginning.
    since: Instant | None = None
    # Before this moment; None: to the end.
    until: Instant | None = None


def matches(wanted: EntryFilter, entry: JournalEntry) -> bool:
    """Whether an entry is wanted."""
    if wanted.kinds and entry.kind not in wanted.kinds:
        return False
    if wanted.actor and entry.actor != wanted.actor:
        return False
    if wanted.since is not None and entry.at < wanted.since:
        return False
    if wanted.until is not None and entry.at >= wanted.until:
        return False
    return matches_inside(wanted, entry)


def matches_inside(wanted: EntryFilter, entry: JournalEntry) -> bool:
    """Whether an entry speaks of the target and the gate that are wanted."""
    if not (wanted.target or wanted.gate):
        return True
    # A name is written in the body as it is encoded alone: most entries need not be read.
    for name in (wanted.target, wanted.gate):
        if name and msgspec.json.encode(name) not in entry.body:
            return False
    try:
        fact = entry.fact()
    except (msgspec.MsgspecError, UnknownFactError):
        return False
    if wanted.gate:
        return fact.asks(wanted.gate, wanted.target)
    return fact.names(wanted.target)
