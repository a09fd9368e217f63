"""A forge under test, and a way to see and do beside it what others could."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from tests.forge.bare import bare_repository, commit
from tests.forge.server import PROJECT, VENDORS, ForgeServer, forge_server
from tests.forge.world import JANE, TOKEN
from tidegate.forge.client.gitea import GiteaForge
from tidegate.forge.client.github import GithubForge
from tidegate.forge.client.gitlab import GitlabForge
from tidegate.forge.client.local import LocalForge
from tidegate.forge.client.session import ForgeLimits
from tidegate.forge.port import CheckStatus, Forge, StatusState


class Hosted(Protocol):
    """A project on a forge, and who else is there."""

    @property
    def forge(self) -> Forge:
        """What is under test."""
        ...

    @property
    def repository(self) -> Path:
        """The bare repository behind it."""
        ...

    def commit(self, branch: str, files: dict[str, str]) -> str:
        """A person pushes a branch of one commit on main; its name."""
        ...

    async def merge(self, number: int) -> None:
        """A person merges a merge request."""
        ...

    async def decline(self, number: int) -> None:
        """A person closes it."""
        ...

    async def say(self, number: int, text: str) -> None:
        """Another person comments on it."""
        ...

    async def comments(self, number: int) -> list[str]:
        """What can be read on it, in order."""
        ...

    async def statuses(self, sha: str) -> list[CheckStatus]:
        """What checks say of a commit."""
        ...


class LocallyHosted:
    """A forge inside a bare repository."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository
        self.forge = LocalForge(repository)

    def commit(self, branch: str, files: dict[str, str]) -> str:
        """Into the repository itself."""
        return commit(self.repository, branch, files, onto="main")

    async def merge(self, number: int) -> None:
        """Through the forge itself."""
        await self.forge.merge(number)

    async def decline(self, number: int) -> None:
        """Through the forge itself."""
        await self.forge.decline(number)

    async def say(self, number: int, text: str) -> None:
        """Under another key: there are no accounts."""
        await LocalForge(self.repository).comment(number, "somebody-else", text)

    async def comments(self, number: int) -> list[str]:
        """Through the forge itself."""
        return list(await self.forge.comments(number))

    async def statuses(self, sha: str) -> list[CheckStatus]:
        """Through the forge itself."""
        return list(await self.forge.statuses(sha))


class RemotelyHosted:
    """A forge over HTTP."""

    def __init__(self, kind: str, server: ForgeServer, forge: Forge) -> None:
        self._kind = kind
        self._project = server.project
        self.server = server
        self.repository = server.project.folder
        self.forge = forge

    def commit(self, branch: str, files: dict[str, str]) -> str:
        """Behind the forge."""
        return commit(self.repository, branch, files, onto="main")

    async def merge(self, number: int) -> None:
        """Behind the forge."""
        self._project.merge(number)

    async def decline(self, number: int) -> None:
        """Behind the forge."""
        self._project.decline(number)

    async def say(self, number: int, text: str) -> None:
        """By another person, who even writes our mark."""
        self._project.say(JANE, number, text)

    async def comments(self, number: int) -> list[str]:
        """As they are kept."""
        return [each.body for each in self._project.requests[number].comments]

    async def statuses(self, sha: str) -> list[CheckStatus]:
        """As they are kept, the last word of each."""
        states = {"failed": StatusState.FAILURE}
        found = {each.name: each for each in self._project.statuses.get(sha, ())}
        return [
            CheckStatus(
                name=each.name,
                state=states.get(each.state) or StatusState(each.state),
                text=each.text,
                url=each.url,
            )
            for each in found.values()
        ]


# Nothing waits long for what goes wrong on purpose.
QUICK = ForgeLimits(timeout_s=5.0, pause_s=0.01, wait_max_s=2.0)


def adapter(
    kind: str, server: ForgeServer, limits: ForgeLimits = QUICK, token: str = TOKEN
) -> Forge:
    """Our way to the forge for tests, as one of a vendor."""
    made: dict[str, Callable[[str, str, str, ForgeLimits], Forge]] = {
        "gitlab": GitlabForge,
        "github": GithubForge,
        "gitea": GiteaForge,
    }
    api = f"{server.site}{VENDORS[kind].prefix}"
    return made[kind](api, PROJECT, token, limits)


@asynccontextmanager
async def hosted(kind: str, folder: Path) -> AsyncIterator[Hosted]:
    """A project with one commit on a forge of a kind."""
    if kind == "local":
        yield LocallyHosted(bare_repository(folder / "group" / "config.git"))
        return
    async with remotely_hosted(kind, folder) as found:
        yield found


@asynccontextmanager
async def remotely_hosted(
    kind: str, folder: Path, limits: ForgeLimits = QUICK
) -> AsyncIterator[RemotelyHosted]:
    """A project with one commit behind HTTP, and our way to it."""
    async with forge_server(folder) as server:
        forge = adapter(kind, server, limits)
        try:
            yield RemotelyHosted(kind, server, forge)
        finally:
            await forge.close()
