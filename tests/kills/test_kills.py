"""kill -9 under load: nothing acknowledged is lost, nothing is done twice, everything arrives."""

from pathlib import Path

from tests.kills.killing import kill_workers
from tests.kills.processes import Postgres
from tests.sim import sized

# A kill is a second of CPU and a random moment; `make e2e` makes hundreds.
WORKERS, SERVERS = sized(4, 5, 25), sized(1, 2, 5)


def test_killed_workers_lose_nothing_and_do_nothing_twice(tmp_path: Path) -> None:
    """Two workers on one file, one of them killed again and again at random moments."""
    kill_workers(WORKERS, 1, str(tmp_path / "journal.db"), tmp_path)


def test_workers_outlive_a_postgresql_that_is_killed(tmp_path: Path) -> None:
    """The database dies under load and comes back: the same workers reconnect and go on."""
    postgres = Postgres()
    try:
        kill_workers(SERVERS, 2, postgres.address, tmp_path, postgres)
    finally:
        postgres.end()
