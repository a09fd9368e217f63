"""One request to a registry, with all its tries and its signature; everything about it is bounded.

A registry that could not be reached in all tries is not called for a while: requests meanwhile
fail at once.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import aiohttp
import msgspec

from tidegate.model.errors import OutsideError
from tidegate.net.http_request import (
    PASSING,
    PassingError,
    bounded,
    passing,
    plain_session,
    proxy_for,
    tries,
)
from tidegate.registry.client.signature import Token, default_config, read_config, refused, sign
from tidegate.registry.document import DockerConfig, RegistryServer, challenge

_REFUSED = (401, 403)


class RegistryLimits(msgspec.Struct, frozen=True):
    """How many requests one registry gets at once, and how long each may take."""

    concurrency_max: int = 8
    # One try.
    timeout_s: float = 5.0
    # All tries of one request.
    total_s: float = 15.0
    tries_max: int = 3
    # The first pause between two tries, made longer and less regular by chance.
    pause_s: float = 0.2
    # After it could not be reached in all tries, there are no requests for so long.
    rest_s: float = 15.0
    # What the protocol allows a manifest to be; a page of 1,000 tags is some 50 kB.
    bytes_max: int = 4 * 1024 * 1024


class RegistryAnswer(msgspec.Struct, frozen=True):
    """What a registry said."""

    status: int
    headers: Mapping[str, str]
    challenges: tuple[str, ...]
    body: bytes


class RegistryRequests:
    """Requests to registries, signed where they want it."""

    def __init__(
        self, auth_file: Path | None, limits: RegistryLimits, now_s: Callable[[], float]
    ) -> None:
        # None: the file of this user, where there is one.
        self._auth_file = auth_file
        self._limits = limits
        self._now_s = now_s
        self._session: aiohttp.ClientSession | None = None
        # By address: a slow registry does not delay requests to another.
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._rests: dict[str, tuple[float, str]] = {}
        self._tokens: dict[tuple[str, str], Token] = {}

    async def ask(
        self, server: RegistryServer, method: str, path: str, name: str, head: Mapping[str, str]
    ) -> RegistryAnswer:
        """One request about a repository with all its tries; OutsideError if all failed."""
        limits = self._limits
        slots = self._slots.setdefault(server.url, asyncio.Semaphore(limits.concurrency_max))
        try:
            async with slots:
                self._check_rest(server)
                async with asyncio.timeout(limits.total_s):
                    async for attempt in tries(limits):
                        with attempt:
                            return await self._signed(server, method, path, name, head)
        except PassingError as error:
            raise self._resting(server, f"{error} ({limits.tries_max} tries)") from None
        except TimeoutError:
            raise self._resting(server, f"no answer in {limits.total_s:g} s") from None
        raise AssertionError("a retry context returns or raises")

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _check_rest(self, server: RegistryServer) -> None:
        until, why = self._rests.get(server.url, (0.0, ""))
        if self._now_s() < until:
            raise OutsideError(why)

    def _resting(self, server: RegistryServer, why: str) -> OutsideError:
        self._rests[server.url] = self._now_s() + self._limits.rest_s, why
        return OutsideError(why)

    async def _signed(
        self, server: RegistryServer, method: str, path: str, name: str, head: Mapping[str, str]
    ) -> RegistryAnswer:
        """A request, and once more with a token if the registry asks for one."""
        url, key = f"{server.url}{path}", (server.url, name)
        token = self._tokens.get(key)
        if token is not None and self._now_s() < token.until_s:
            head = {**head, "Authorization": token.header}
        answer = await self._request(method, url, head)
        if answer.status == 401:
            self._tokens[key] = token = await self._token(server, name, answer)
            answer = await self._request(method, url, {**head, "Authorization": token.header})
        if answer.status in _REFUSED:
            config = await self._config()
            raise OutsideError(refused(config, server, name, answer.status))
        return answer

    async def _token(self, server: RegistryServer, name: str, answer: RegistryAnswer) -> Token:
        asked = challenge(answer.challenges)
        if asked is None:
            raise OutsideError("HTTP 401, and it does not say how to sign in")
        config = await self._config()

        async def fetch(url: str, head: Mapping[str, str]) -> bytes:
            granted = await self._request("GET", url, head)
            if granted.status in _REFUSED:
                raise OutsideError(refused(config, server, name, granted.status))
            if granted.status != 200:
                raise OutsideError(f"HTTP {granted.status} where it hands out tokens")
            return granted.body

        return await sign(config, server, name, asked, fetch, self._now_s())

    async def _config(self) -> DockerConfig:
        return await asyncio.to_thread(lambda: read_config(self._auth_file or default_config()))

    async def _request(self, method: str, url: str, head: Mapping[str, str]) -> RegistryAnswer:
        limits = self._limits
        with passing(limits.timeout_s):
            # A redirect could lead our login elsewhere: it is an answer, and the wrong one.
            async with self._open().request(
                method,
                url,
                headers=head,
                proxy=proxy_for(url),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=limits.timeout_s),
            ) as response:
                body = await bounded(response, limits.bytes_max)
                if response.status in PASSING:
                    raise PassingError(f"HTTP {response.status}")
                asked = tuple(response.headers.getall("WWW-Authenticate", ()))
                return RegistryAnswer(response.status, response.headers, asked, body)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = plain_session()
        return self._session
