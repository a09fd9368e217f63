"""What tests on real servers share."""

import asyncio
import urllib.error
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from tests.command import tidegate
from tests.real import kube
from tests.real.gitea import Gitea, GiteaProject, gitea, needed_gitea
from tests.real.hub import ROLLOUTS, Hub, needed_programs, until


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A hub with one real managed cluster, and one that is declared and whose agent is silent.

    Each module has its own: placements select clusters, and those of another would be selected.
    """
    programs = needed_programs()
    with kube.kubernetes(kube.needed_assets(), tmp_path_factory.mktemp("hub")) as servers:
        made = Hub(servers, programs)
        made.manage("m1", environment="dev")
        made.declare("m2", environment="prod")
        yield made


@pytest.fixture(scope="module")
def defined(hub: Hub) -> Hub:
    """The hub with our definition on it."""
    hub.define(tidegate("policies", "crd").stdout)

    def is_served() -> bool:
        try:
            return "items" in hub.plane.ask("GET", f"{ROLLOUTS}/rollouts")
        except urllib.error.HTTPError as error:
            error.close()
            return False

    until(is_served, "it is served")
    return hub


@pytest.fixture(scope="session")
def gitea_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    """One Gitea for all tests; each has a project of its own."""
    with gitea(needed_gitea(), tmp_path_factory.mktemp("gitea")) as started:
        yield started


@pytest.fixture
def play_gitea(
    gitea_server: Gitea, tmp_path: Path
) -> Callable[[Callable[[GiteaProject], Awaitable[None]]], None]:
    """Play a story on a fresh project."""

    def played(story: Callable[[GiteaProject], Awaitable[None]]) -> None:
        async def whole() -> None:
            project = gitea_server.project(tmp_path)
            try:
                await story(project)
            finally:
                await project.forge.close()

        asyncio.run(whole())

    return played
