"""Nothing acknowledged is lost, with many more kills than the everyday suite has time for."""

import random
from pathlib import Path

import pytest

from tests.contract import crash, journals

KILLS = 40


@pytest.mark.e2e
@pytest.mark.parametrize("seed", range(2))
def test_nothing_acknowledged_is_lost_over_many_kills(tmp_path: Path, seed: int) -> None:
    """One journal outlives writer after writer, each killed at another moment."""
    path = tmp_path / "journal.db"
    made = journals.in_file(path)
    made.open()
    made.close()
    rng = random.Random(seed)
    ends = [crash.check(path, crash.kill_a_writer(path, rng)) for _ in range(KILLS)]
    assert ends == sorted(set(ends)), "every writer got somewhere"
