"""kill -9 of a worker, as often as the everyday suite has no time for."""

from pathlib import Path

import pytest

from tests.kills.processes import Postgres
from tests.kills.upgrading import kill_upgraders

KILLS = 80


@pytest.mark.e2e
def test_eighty_killed_workers_make_no_policy_twice(tmp_path: Path) -> None:
    """On one file."""
    kill_upgraders(KILLS, 21, str(tmp_path / "journal.db"), tmp_path)


@pytest.mark.e2e
def test_eighty_killed_workers_make_no_policy_twice_on_postgresql(tmp_path: Path) -> None:
    """On a server."""
    postgres = Postgres()
    try:
        kill_upgraders(KILLS, 22, postgres.address, tmp_path)
    finally:
        postgres.end()
