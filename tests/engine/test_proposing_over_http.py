"""A change is offered over HTTP, on forges of every kind; the password is in no word or file."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.forge.hosted import RemotelyHosted, remotely_hosted
from tests.forge.world import JANE, TOKEN
from tests.git_repos import clone, git
from tidegate.forge.port import Proposal
from tidegate.git.client.mirror import open_mirror
from tidegate.git.client.repository import open_repository
from tidegate.git.port import Repository
from tidegate.model.errors import OutsideError
from tidegate.propose.change import ProposedChange, StepResult, Upto, propose

pytestmark = pytest.mark.usefixtures("no_git_settings")

KEY = "promote-x"
BRANCH = f"tidegate/{KEY}"


def with_login(url: str, password: str) -> str:
    """An address as CI systems write it."""
    return url.replace("://", f"://tide-bot:{password}@")


async def cloned(project: RemotelyHosted, folder: Path) -> Path:
    """A clone whose remote has the password in its address."""
    made = await asyncio.to_thread(clone, project.repository, folder)
    git(made, "remote", "set-url", "origin", with_login(project.server.remote, TOKEN))
    return made


async def offered(
    project: RemotelyHosted, repository: Repository, content: bytes = b"a: 2\n"
) -> ProposedChange:
    """One change, as far as a merge request."""

    def files(_: str) -> Mapping[str, bytes | None]:
        return {"a.yml": content}

    proposal = Proposal(
        title="promote x", description="a → b", source=BRANCH, target="main", labels=("promotion",)
    )
    return await propose(repository, project.forge, proposal, files, key=KEY, upto=Upto.OPEN)


@pytest.mark.parametrize("kind", ["gitlab", "github", "gitea"])
def test_every_forge_has_it_once(kind: str, tmp_path: Path) -> None:
    """Opened, found by another clone, brought up to date, and opened anew once it is merged."""

    async def story() -> None:
        async with remotely_hosted(kind, tmp_path / "forge") as project:
            first = open_repository(await cloned(project, tmp_path / "one"))
            assert first.url == project.server.remote
            made = await offered(project, first)
            assert (made.pushed, made.requested) == (StepResult.MADE, StepResult.MADE)
            second = open_repository(await cloned(project, tmp_path / "two"))
            found = await offered(project, second)
            assert (found.committed, found.pushed, found.requested) == (StepResult.FOUND,) * 3
            newer = await offered(project, second, b"a: 3\n")
            assert (newer.pushed, newer.requested) == (StepResult.CHANGED, StepResult.FOUND)
            requests = project.server.project.requests
            assert [each.source for each in requests.values()] == [BRANCH]
            assert git(project.repository, "rev-parse", BRANCH) == newer.commit
            await project.merge(next(iter(requests)))
            again = await offered(project, first, b"a: 4\n")
            assert again.requested is StepResult.MADE
            assert len(requests) == 2

    asyncio.run(story())


@pytest.mark.parametrize("kind", ["gitlab", "github", "gitea"])
def test_a_request_from_a_fork_is_left_alone(kind: str, tmp_path: Path) -> None:
    """Even of the same title, from a branch of the same name: its branch is not here."""

    async def story() -> None:
        async with remotely_hosted(kind, tmp_path / "forge") as project:
            theirs = project.server.project.open(JANE, "promote x", "by hand", BRANCH, "main")
            theirs.fork, theirs.head = True, git(project.repository, "rev-parse", "main")
            for outcome in (StepResult.MADE, StepResult.FOUND):
                repository = open_repository(await cloned(project, tmp_path / outcome.value))
                done = await offered(project, repository)
                assert (done.pushed, done.requested) == (outcome, outcome)
                assert done.request is not None
                assert done.request.number == 2
            assert theirs.body == "by hand"

    asyncio.run(story())


def test_a_mirror_keeps_no_password(tmp_path: Path) -> None:
    """It is fetched and pushed with one, and is the same without; no file has it."""

    async def story() -> None:
        async with remotely_hosted("gitlab", tmp_path / "forge") as project:
            address = with_login(project.server.remote, TOKEN)
            mirror = await asyncio.to_thread(open_mirror, address, tmp_path / "mirrors")
            assert mirror.url == project.server.remote
            (place,) = (tmp_path / "mirrors").glob("*.git")
            for name, value in (("user.name", "Ada"), ("user.email", "ada@example.com")):
                git(place, "config", name, value)
            done = await offered(project, mirror)
            assert (done.pushed, done.requested) == (StepResult.MADE, StepResult.MADE)
            kept = [each.read_bytes() for each in place.rglob("*") if each.is_file()]
            assert kept
            assert not any(TOKEN.encode() in content for content in kept)
            bare = await asyncio.to_thread(open_mirror, project.server.remote, place.parent)
            assert bare.tip() == mirror.tip()
            with pytest.raises(OutsideError, match=r"git fetch: .*could not read Username"):
                await asyncio.to_thread(bare.fetch)

    asyncio.run(story())


def test_a_wrong_password_is_not_reported(tmp_path: Path) -> None:
    """No other is asked for, and it says where it failed."""
    wrong = "wr0ng-tide-token"

    async def story() -> None:
        async with remotely_hosted("gitlab", tmp_path / "forge") as project:
            address = with_login(project.server.remote, wrong)
            mine = await cloned(project, tmp_path / "mine")
            git(mine, "remote", "set-url", "origin", address)
            repository = open_repository(mine)
            for work in (
                repository.fetch,
                lambda: repository.pushed("main"),
                lambda: open_mirror(address, tmp_path / "mirrors"),
            ):
                with pytest.raises(OutsideError, match="Authentication failed for") as raised:
                    await asyncio.to_thread(work)
                assert wrong not in str(raised.value)
                assert project.server.remote in str(raised.value)

    asyncio.run(story())
