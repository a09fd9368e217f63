"""kill -9 with clients attached: no acknowledged write is lost, none is done twice."""

from pathlib import Path

from tests.kills.attached import kill_with_clients
from tests.sim import sized

KILLS, CLIENTS = sized(2, 4, 20), sized(2, 4, 10)


def test_writes_of_clients_outlive_replicas_and_postgresql(tmp_path: Path) -> None:
    """Two replicas on one PostgreSQL, each killed in turn while clients set and lift holds."""
    seen = kill_with_clients(KILLS, CLIENTS, 1, tmp_path)
    assert seen["acknowledged"] >= CLIENTS * 2
    assert seen["again"] >= 1, "no client met a kill"
