"""Puts the parts together; the only package that knows every adapter.

Here is what almost every command needs, the clock and the journal; bundles, repositories, forges
and other outside systems have a module each. An adapter is imported when it is asked for: a command
imports what it uses.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.machine.clock import Clock
    from tidegate.store.archive_port import Archive


def clock() -> "Clock":
    """The clock of the machine."""
    from tidegate.machine.system_clock import SystemClock

    return SystemClock()


def warn(text: str) -> None:
    """A warning on stderr."""
    sys.stderr.write(f"warning: {text}\n")


def open_store(database: str, *, writes: bool = True, creates: bool | None = None) -> "Archive":
    """The journal in a file, at `postgresql://…`, or in `memory:`; one only read is not changed.

    NoJournalError where there is none, unless one may be made: `creates`, or else `writes`.
    """
    # Commands without a database do not import one.
    from tidegate.kind_table import fact_tags as load_facts
    from tidegate.store.client.database_address import open_archive

    load_facts()
    return open_archive(database, writes=writes, creates=creates)


def is_database(path: Path) -> bool:
    """Whether a file is a database, and not a journal's lines."""
    from tidegate.store.client.database_address import is_sqlite

    return is_sqlite(path)
