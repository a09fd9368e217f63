"""A cache in one SQLite file: several processes may use it, and a broken one is thrown away.

Every value carries a checksum of itself and its key: what a disk or a person changed is not given
back. Errors are not reported: the caller then works without a cache.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

# More than a few large bundles in a few revisions; once there are more, all but the last go.
ENTRIES_MAX = 200_000
# Another process that writes is done sooner; if not, we go without.
BUSY_S = 1.0
_CHECK_BYTES = 16
_TABLE = """
create table if not exists entry (key blob primary key, value blob not null) without rowid
"""
_COLUMNS = {"key", "value"}
# Below the least number of parameters any SQLite takes at once.
_AT_ONCE = 500


def cache_path() -> Path:
    """Where caches belong on this machine."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    folder = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return folder / "tidegate" / "bundle.db"


class FileCache:
    """Values in a SQLite file."""

    shared = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """What is known and sound."""
        wanted = list(keys)
        found: dict[bytes, bytes] = {}
        if not self._path.exists():
            return found
        try:
            with closing(self._open()) as database:
                for at in range(0, len(wanted), _AT_ONCE):
                    some = wanted[at : at + _AT_ONCE]
                    marks = ",".join("?" * len(some))
                    query = f"select key, value from entry where key in ({marks})"
                    found.update(
                        (key, value[_CHECK_BYTES:])
                        for key, value in database.execute(query, some)
                        if value[:_CHECK_BYTES] == _check(key, value[_CHECK_BYTES:])
                    )
        except (sqlite3.Error, OSError, TypeError) as error:
            self._give_up(error)
        return found

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Write all of them, or none."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(self._open()) as database, database:
                if _columns(database) not in (set(), _COLUMNS):
                    # What another version kept is nothing to us.
                    database.execute("drop table entry")
                database.execute(_TABLE)
                (count,) = database.execute("select count(*) from entry").fetchone()
                if count + len(values) > ENTRIES_MAX:
                    database.execute("delete from entry")
                database.executemany(
                    "insert or replace into entry values (?, ?)",
                    ((key, _check(key, values[key]) + values[key]) for key in sorted(values)),
                )
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=BUSY_S)
        # What a crash loses is worked out again.
        database.execute("pragma synchronous = off")
        return database

    def _give_up(self, error: Exception) -> None:
        """A file that is not a database is replaced; one that is busy is not."""
        broken = isinstance(error, sqlite3.DatabaseError)
        if broken and not isinstance(error, sqlite3.OperationalError):
            with suppress(OSError):
                self._path.unlink()


class NoCache:
    """Remembers nothing."""

    shared = False

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:  # noqa: ARG002
        """Nothing."""
        return {}

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Forget them."""


def _columns(database: sqlite3.Connection) -> set[str]:
    """The columns of the table; none: there is no table."""
    return {name for _, name, *_ in database.execute("pragma table_info(entry)")}


def _check(key: bytes, value: bytes) -> bytes:
    return blake2b(value, key=key[:64], digest_size=_CHECK_BYTES).digest()
