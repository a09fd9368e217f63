"""A fleet in another process, over HTTP; simulated ones are served by `tidegate fleet`."""

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import aiohttp
import msgspec
from yarl import URL

from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.kinds.rollouts.wire.remote_fleet import (
    ACT,
    CARRIED,
    CHANGES,
    OBSERVE,
    OK,
    PARTITIONS,
    STALE,
    Carried,
    TaskDoc,
)
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.json_text import json_decoder

# The engine has limits of its own for a whole action or round; this one is for a lost connection.
TIMEOUT_S = 60.0
# Workers act on some dozens of targets at once.
CONNECTIONS_MAX = 64

T = TypeVar("T")

_read_names = json_decoder(list[str])
_read_observation = json_decoder(Observation)
_read_text = json_decoder(str)
_read_carried = json_decoder(list[Carried])


class RemoteFleet:
    """A fleet behind an HTTP address."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._to = {path: URL(self._url + path) for path in (PARTITIONS, OBSERVE, ACT, CARRIED)}
        self._session: aiohttp.ClientSession | None = None

    async def partitions(self) -> list[str]:
        """The rollouts there are."""
        return await self._call(_read_names, "GET", PARTITIONS)

    async def observe(self, partition: str) -> Observation:
        """What is declared, and what every target reports."""
        query = {"partition": partition}
        return await self._call(_read_observation, "GET", OBSERVE, params=query)

    async def act(self, partition: str, task: RolloutTask) -> str:
        """Have a task carried out, once a key."""
        body = msgspec.json.encode(TaskDoc(partition, task))
        return await self._call(_read_text, "POST", ACT, data=body)

    async def changes(self) -> AsyncIterator[str]:
        """What may have changed, as the fleet reports it, until the connection ends."""
        forever = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_S)
        try:
            async with self._open().get(self._url + CHANGES, timeout=forever) as response:
                if response.status == OK:
                    async for line in response.content:
                        yield line.decode().rstrip()
        except (aiohttp.ClientError, OSError) as error:
            raise OutsideError(f"{self._url}: {str(error) or 'the line broke'}") from error

    async def carried(self) -> list[Carried]:
        """Every task that was carried out."""
        return await self._call(_read_carried, "GET", CARRIED)

    async def close(self) -> None:
        """Let go of all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _call(self, read: Callable[[bytes], T], method: str, path: str, **rest: Any) -> T:
        try:
            async with self._open().request(method, self._to[path], **rest) as response:
                body = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            what = str(error) or type(error).__name__
            raise OutsideError(f"{self._url}: {what}") from error
        if response.status == OK:
            try:
                return read(body)
            except msgspec.DecodeError as error:
                raise OutsideError(f"{self._url}{path}: not what was asked: {error}") from error
        text = body.decode(errors="replace")
        if response.status == STALE:
            raise StaleError(text)
        raise OutsideError(f"{self._url}{path}: HTTP {response.status}: {text[:200]}")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX),
                timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session
