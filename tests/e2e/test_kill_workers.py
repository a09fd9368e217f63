"""kill -9 as often as the everyday suite has no time for."""

from pathlib import Path

import pytest

from tests.kills.killing import kill_workers
from tests.kills.processes import Postgres

WORKERS, SERVERS = 200, 40


@pytest.mark.e2e
def test_two_hundred_killed_workers_lose_nothing_and_do_nothing_twice(tmp_path: Path) -> None:
    """On one file."""
    kill_workers(WORKERS, 11, str(tmp_path / "journal.db"), tmp_path)


@pytest.mark.e2e
def test_two_hundred_killed_workers_on_postgresql(tmp_path: Path) -> None:
    """On a server."""
    postgres = Postgres()
    try:
        kill_workers(WORKERS, 12, postgres.address, tmp_path)
    finally:
        postgres.end()


@pytest.mark.e2e
def test_a_postgresql_killed_forty_times(tmp_path: Path) -> None:
    """Under the same two workers all along."""
    postgres = Postgres()
    try:
        kill_workers(SERVERS, 13, postgres.address, tmp_path, postgres)
    finally:
        postgres.end()
