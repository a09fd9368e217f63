"""Nothing acknowledged is lost: a writer is killed at random moments, and its journal looked at."""

import random
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.contract import crash, journals
from tests.patience import ended
from tidegate.store.client.sqlite import SqliteDatabase

# Enough to hit an append, a compaction and a pause in most runs; e2e kills more.
KILLS = 3


@pytest.mark.parametrize("seed", [1])
def test_nothing_acknowledged_is_lost_when_a_writer_is_killed(
    template: Path, tmp_path: Path, seed: int
) -> None:
    """After each kill the journal verifies, has all that was acknowledged, and no half batch."""
    path = tmp_path / "journal.db"
    journals.in_file(path, template)
    rng = random.Random(seed)
    ends = [crash.check(path, crash.kill_a_writer(path, rng)) for _ in range(KILLS)]
    assert ends == sorted(set(ends)), "every writer got somewhere"


def test_the_check_would_find_what_is_lost(template: Path, tmp_path: Path) -> None:
    """An acknowledged entry that is not there, and a batch without its end, are both noticed."""
    path = tmp_path / "journal.db"
    journals.in_file(path, template)
    said = crash.kill_a_writer(path, random.Random(1))
    last = crash.check(path, said)
    with pytest.raises(AssertionError, match="lost"):
        crash.check(path, [*said, crash.Said(last + 1, "")])
    with pytest.raises(AssertionError, match="another one"):
        crash.check(path, [crash.Said(last, "00")])
    made = journals.in_file(path)
    store = made.open()
    end = store.head(crash.PARTITION)
    store.append(crash.PARTITION, [crash.one_note(10**6 + 2, 0)])
    made.close()
    with pytest.raises(AssertionError, match="half there"):
        crash.check(path, [crash.Said(end.seq, end.hash.hex())])


def test_every_connection_waits_for_the_disk(template: Path) -> None:
    """Each connection syncs the log at every commit: a power cut loses no more than a kill does."""
    database = SqliteDatabase(template, mode="rw")
    found: set[tuple[object, ...]] = set()
    pragmas = ("journal_mode", "synchronous", "busy_timeout")
    with database.asking() as one, database.appending() as two, database.snapshot() as three:
        for driver in (one, two, three):
            found.add(tuple(driver.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas))
    with database.altering() as connection:
        values = (connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas)
        found.add(tuple(values))
    database.close()
    assert found == {("wal", 2, 10_000)}


def test_a_statement_that_another_thread_runs_ends_before_its_connection(template: Path) -> None:
    """SQLite frees a statement with its connection: the thread that runs it would crash."""
    database = SqliteDatabase(template, mode="rw")
    begun, closed = Event(), Event()
    order: list[str] = []

    def pause() -> int:
        begun.set()
        return int(closed.wait(0.2))  # it cannot be closed: this is how long the test takes

    def read() -> None:
        with database.asking() as driver:
            driver.raw.create_function("pause", 0, pause)
            order.append(f"closed under the reader: {driver.execute('SELECT pause()').fetchone()}")

    def close() -> None:
        begun.wait()
        database.close()
        closed.set()
        order.append("closed")

    threads = [Thread(target=each, daemon=True) for each in (read, close)]
    for each in threads:
        each.start()
    for each in threads:
        ended(each)
    assert order == ["closed under the reader: (0,)", "closed"]


def test_a_server_that_does_not_wait_for_the_disk_is_asked_to(postgres: str) -> None:
    """Where a server's default is not to wait for the disk, our connections do."""
    lazy = postgres + "&options=-csynchronous_commit%3Doff"
    for address in (postgres, lazy):
        made = journals.on_server(address)
        database = made.open()._database  # type: ignore[attr-defined]
        with database.asking() as driver:
            assert driver.execute("SHOW synchronous_commit").fetchone() == ("on",)
        made.close()
