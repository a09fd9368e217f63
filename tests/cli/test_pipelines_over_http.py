"""A pipeline from the command line to a forge over HTTP, with real git on the way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_pipelines import Play
from tests.forge.bare import git
from tests.forge.server import ForgeServer, forge_beside
from tests.forge.world import TOKEN
from tests.git_repos import GIT_SETTINGS
from tests.pipelined import PROD, SAAS
from tidegate.kinds.promotions.core.requests.data_block import read_block

KINDS = ("gitlab", "github", "gitea")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForgeServer]:
    """A forge that answers in a thread of its own."""
    (tmp_path / "forge").mkdir()
    with forge_beside(tmp_path / "forge") as found:
        yield found


def hosted_play(folder: Path, server: ForgeServer, kind: str) -> Play:
    """The bundle on a forge, and a clone whose remote is there."""
    folder.mkdir()
    play = Play(folder)
    git(play.clone, "push", "-q", "--force", str(server.project.folder), "HEAD:main")
    address = server.remote.replace("://", f"://tide-bot:{TOKEN}@")
    git(play.clone, "remote", "set-url", "origin", address)
    play.env |= {
        "TIDEGATE_FORGE": kind,
        "TIDEGATE_FORGE_URL": server.site,
        "TIDEGATE_FORGE_TOKEN": "env:TIDE_TOKEN",
        "TIDE_TOKEN": TOKEN,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    return play


@pytest.mark.parametrize("kind", KINDS)
def test_a_version_reaches_production_through_a_merge_request(
    kind: str, server: ForgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offered once under its labels, checked, merged by a person, and done."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_SETTINGS)
    play = hosted_play(tmp_path / "play", server, kind)
    play.deployed(play.new)
    for _ in range(2):
        play.work_once("--act", "channels/*")
        (request,) = server.project.requests.values()
    assert request.labels == ["tidegate-promotion"]
    data = read_block(request.body)
    assert [each.channels for each in data.holds] == [("payments-stage",)]
    assert "ship it" in request.body
    assert request.number == 1
    assert "in !1, which no check has spoken about" in play.run("why", PROD).stdout
    server.project.merge(request.number)
    assert f"ref: {play.new}  # moved by promotions" in git(
        server.project.folder, "show", f"main:{SAAS}"
    )
    play.work_once("--act", "channels/*")
    assert "done: it has the change" in play.run("why", PROD).stdout
    assert len(server.project.requests) == 1
    assert play.run("replay", "channels/payments").returncode == 0
