"""A forge under test, and a way to see and do beside it what others could."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from tests.forge.bare import bare_repository
from tidegate.adapters.forge.local import LocalForge
from tidegate.ports.forge import Forge, Status


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

    async def merge(self, number: int) -> None:
        """Somebody merges a merge request."""
        ...

    async def decline(self, number: int) -> None:
        """Somebody closes it."""
        ...

    async def say(self, number: int, text: str) -> None:
        """Somebody else comments on it."""
        ...

    async def comments(self, number: int) -> list[str]:
        """What can be read on it, in order."""
        ...

    async def statuses(self, sha: str) -> list[Status]:
        """What checks say of a commit."""
        ...


class LocallyHosted:
    """A forge inside a bare repository."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository
        self.forge = LocalForge(repository)

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

    async def statuses(self, sha: str) -> list[Status]:
        """Through the forge itself."""
        return list(await self.forge.statuses(sha))


@asynccontextmanager
async def hosted(kind: str, folder: Path) -> AsyncIterator[Hosted]:
    """A project with one commit on a forge of a kind."""
    assert kind == "local"
    yield LocallyHosted(bare_repository(folder / "group" / "config.git"))
