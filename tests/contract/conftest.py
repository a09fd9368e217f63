"""Every test that asks for `journal` runs on all three; a missing PostgreSQL fails in CI."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import journals
from tests.contract.journals import Journal
from tidegate.store.archive_port import Archive


def _journal(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    if kind == "memory":
        return journals.in_memory()
    if kind == "sqlite":
        template = request.getfixturevalue("template")
        return journals.in_file(tmp_path / "journal.db", template)
    return journals.on_server(request.getfixturevalue("postgres"))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """An empty journal of each kind in turn."""
    made = _journal(request.param, request, tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """An empty journal in each database in turn."""
    made = _journal(request.param, request, tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(journal: Journal) -> Archive:
    """A handle on an empty journal of each kind in turn."""
    return journal.open()
