"""A service over a copy of one journal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.stage import Service, copied, rollout_journal


@pytest.fixture(scope="session")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which a rollout was decided once."""
    return rollout_journal(tmp_path_factory.mktemp("api"))


@pytest.fixture
def service(decided: Path, tmp_path: Path) -> Iterator[Service]:
    """An API over a journal of its own."""
    with Service(copied(decided, tmp_path)) as made:
        yield made
