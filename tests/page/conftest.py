"""A service over a copy of one journal, and one Chromium for a module."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.api.listener import listening
from tests.api.stage import copied, rollout_journal
from tests.page.stage import PageService, browsing
from tests.page.visit import Visitor
from tidegate.access.roles import Role


@pytest.fixture(scope="session")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which a rollout was decided once."""
    return rollout_journal(tmp_path_factory.mktemp("page"))


@pytest.fixture
def service(decided: Path, tmp_path: Path) -> Iterator[PageService]:
    """A page over a journal of its own."""
    with PageService(copied(decided, tmp_path)) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium."""
    with browsing() as found:
        yield found


@pytest.fixture
def address(service: PageService) -> Iterator[str]:
    """Where the service listens."""
    with listening(service) as url:
        yield url


@pytest.fixture
def visit(browser: Browser, service: PageService, address: str) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors; none of them may see an error."""
    every: list[Visitor] = []

    def made(role: Role = Role.ADMIN, **context: object) -> Visitor:
        every.append(Visitor(browser, address, service.client(role).token, **context))
        return every[-1]

    yield made
    for each in every:
        each.context.close()
        assert each.wrong == []
