"""kill -9 of a worker, on a faulty OpenShift Cluster Manager: one policy each."""

from pathlib import Path

from tests.kills.processes import Postgres
from tests.kills.upgrading import kill_upgraders
from tests.sim import sized

ON_A_FILE, ON_A_SERVER = sized(3, 3, 8), sized(1, 2, 4)


def test_no_cluster_gets_two_policies_at_any_kill(tmp_path: Path) -> None:
    """Two replicas on one file; in the end both stop when asked to, and say that all is well."""
    kill_upgraders(ON_A_FILE, 1, str(tmp_path / "journal.db"), tmp_path)


def test_no_cluster_gets_two_policies_with_a_journal_on_postgresql(tmp_path: Path) -> None:
    """The same on a server."""
    postgres = Postgres()
    try:
        kill_upgraders(ON_A_SERVER, 2, postgres.address, tmp_path)
    finally:
        postgres.end()
