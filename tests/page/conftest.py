"""A service over a copy of one journal, and one Chromium for a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.api.stage import copied, rollout_journal
from tests.page.stage import PageService, browsing


@pytest.fixture(scope="session")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which a rollout was decided once."""
    return rollout_journal(tmp_path_factory.mktemp("page"))


@pytest.fixture
def service(decided: Path, tmp_path: Path) -> Iterator[PageService]:
    """A page over a journal of its own."""
    made = PageService(copied(decided, tmp_path))
    yield made
    made.api.close()
    made.archive.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium."""
    with browsing() as found:
        yield found
