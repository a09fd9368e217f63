"""Requests to one API server: their number at once, tries, time and size are bounded.

What fails in passing (no connection, 429, 500, 502, 503, 504) is tried again, after as long as the
server asks for or after pauses that grow; while a server does not answer, waiting requests fail at
once. What it refuses is an error that says who must act (`answers.py`).
"""

import asyncio
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiolimiter import AsyncLimiter

from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.answers import error_of, read_status
from tidegate.kubernetes.client.login import ClusterLogin
from tidegate.model.errors import OutsideError
from tidegate.model.problem import shorten
from tidegate.net.connection import KUBECONFIG_TRUST, connection_words
from tidegate.net.http_request import PASSING
from tidegate.net.retry import retry_context

JSON = "application/json"
# Entered for every request; left with an exception if there was no answer.
Waiting = Callable[[], AbstractContextManager[None]]


class ServerLimits(msgspec.Struct, frozen=True):
    """How many requests one server gets at once, and how long each may take."""

    # About as many as keep a server busy; more would only queue there.
    concurrency_max: int = 10
    # Requests that begin in a second; the server has its own idea, and says it with 429.
    rate_max: int = 500
    connect_s: float = 5.0
    # One try.
    timeout_s: float = 30.0
    # All tries of one request: a server that is started anew takes some 10 s.
    total_s: float = 60.0
    tries_max: int = 10
    # The first pause between two tries, made longer and less regular by chance.
    pause_s: float = 0.2
    pause_max_s: float = 3.0
    # After it could not be reached in all tries, there are no requests for so long.
    rest_s: float = 5.0
    # A page of 500 Deployments is some 3 MB.
    bytes_max: int = 64 * 1024 * 1024


class ServerAnswer(msgspec.Struct, frozen=True):
    """What a server said yes with."""

    code: int
    body: bytes


class _Request(msgspec.Struct, frozen=True):
    """What is sent, as often as it takes."""

    method: str
    url: str
    params: Mapping[str, str] | None
    body: bytes | None
    content_type: str
    # It may reach the server twice without harm.
    again: bool


class _PassingError(Exception):
    """A try failed, and another may not; after `pause_s`, if the server said so."""

    def __init__(self, text: str, pause_s: float | None = None, unsent: bool = False) -> None:
        self.pause_s = pause_s
        # The server has not seen the request.
        self.unsent = unsent
        super().__init__(text)


class _FinalError(Exception):
    """The same, where another try could do it twice."""


class ApiServer:
    """The way to one API server and back."""

    def __init__(
        self,
        access: ClusterAccess,
        limits: ServerLimits | None = None,
        waiting: Waiting = nullcontext,
    ) -> None:
        self.name = access.name
        self._waiting = waiting
        self.limits = limits or ServerLimits()
        self._access = access
        self._login = ClusterLogin(access)
        self._proxy = access.proxy or _proxy_for(access.server)
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(self.limits.concurrency_max)
        self._rate = AsyncLimiter(self.limits.rate_max, 1.0)
        self._rests_until, self._resting = 0.0, ""

    async def ask(
        self,
        method: str,
        path: str,
        where: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        again: bool = True,
        fine: frozenset[int] = frozenset(),
    ) -> ServerAnswer:
        """One request with all its tries; `again`: it may reach the server twice without harm.

        `fine` are refusals that are answers to the caller.
        """
        limits = self.limits
        where = f"{self.name}: {where}"
        request = _Request(method, self._access.server + path, params, body, content_type, again)
        try:
            async with self._slots, asyncio.timeout(limits.total_s):
                self._look_out(where)
                with self._waiting():
                    answer = await self._tries(request)
        except _FinalError as error:
            raise OutsideError(f"{where}: {error}; it may have been done") from None
        except _PassingError as error:
            self._rest(error)
            raise OutsideError(f"{where}: {error}") from None
        except TimeoutError:
            raise OutsideError(f"{where}: no answer in {limits.total_s:g} s") from None
        self._rests_until = 0.0
        if answer.code >= 300 and answer.code not in fine:
            raise error_of(where, answer.code, read_status(answer.body))
        return answer

    @asynccontextmanager
    async def listen(
        self,
        path: str,
        where: str,
        params: Mapping[str, str],
        silence_s: float | None,
        accept: str = JSON,
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """An answer as it comes; OutsideError if it cannot be had, or when it breaks.

        It takes no slot: it lasts, and would block others. It is waited for until it begins.
        """
        where = f"{self.name}: {where}"
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self.limits.connect_s, sock_read=silence_s
        )
        try:
            session, headers = await self._open(), await self._login.headers()
            headers["Accept"] = accept
            async with AsyncExitStack() as opened:
                with self._waiting():
                    response = await opened.enter_async_context(
                        session.get(
                            self._access.server + path,
                            params=params,
                            headers=headers,
                            timeout=timeout,
                            proxy=self._proxy,
                            server_hostname=self._access.server_name,
                            allow_redirects=False,
                        )
                    )
                if response.status != 200:
                    raise error_of(where, response.status, read_status(await self._read(response)))
                yield response.content
        except TimeoutError:
            raise OutsideError(f"{where}: it fell silent") from None
        except (aiohttp.ClientError, OSError) as error:
            raise OutsideError(f"{where}: {connection_words(error, KUBECONFIG_TRUST)}") from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _tries(self, request: _Request) -> ServerAnswer:
        """The first try is nearly always the only one, and so does without what repeats it."""
        limits = self.limits
        try:
            return await self._try(request)
        except _PassingError as error:
            if limits.tries_max < 2:
                raise
            failed = [error]
        tries = retry_context(
            on=_pause,
            attempts=limits.tries_max,
            timeout=limits.total_s,
            wait_initial=limits.pause_s,
            wait_max=limits.pause_max_s,
            wait_jitter=limits.pause_s,
        )
        async for attempt in tries:
            with attempt:
                if failed:
                    raise failed.pop()
                return await self._try(request)
        raise AssertionError("a retry context returns or raises")

    async def _try(self, request: _Request) -> ServerAnswer:
        try:
            return await self._once(request)
        except _PassingError as error:
            if request.again or error.unsent:
                raise
            raise _FinalError(str(error)) from None

    async def _once(self, request: _Request) -> ServerAnswer:
        limits = self.limits
        session, headers = await self._open(), await self._login.headers()
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        try:
            async with (
                self._rate,
                session.request(
                    request.method,
                    request.url,
                    params=request.params,
                    data=request.body,
                    headers=headers,
                    proxy=self._proxy,
                    server_hostname=self._access.server_name,
                    # A redirect could lead our credentials elsewhere: it is the wrong answer.
                    allow_redirects=False,
                ) as response,
            ):
                answer = ServerAnswer(response.status, await self._read(response))
        except TimeoutError:
            raise _PassingError(f"no answer in {limits.timeout_s:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            unsent = isinstance(error, aiohttp.ClientConnectorError)
            raise _PassingError(connection_words(error, KUBECONFIG_TRUST), unsent=unsent) from None
        return self._judge(answer, response.headers.get("Retry-After"))

    def _judge(self, answer: ServerAnswer, retry_after: str | None) -> ServerAnswer:
        if answer.code == 401 and self._login.renew():
            raise _PassingError("it does not know us (401)", pause_s=0.0, unsent=True)
        if answer.code not in PASSING:
            return answer
        status = read_status(answer.body)
        if status.misfit:
            return answer
        stated = f"HTTP {answer.code}: {shorten(status.message) or 'no reason given'}"
        pause_s = float(retry_after) if retry_after and retry_after.isdecimal() else None
        if pause_s is not None:
            pause_s = min(pause_s, self.limits.total_s)
        raise _PassingError(stated, pause_s, unsent=answer.code == 429)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        most = self.limits.bytes_max
        if response.content_length is not None and response.content_length <= most:
            return await response.read()
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > most:
                raise OutsideError(f"{self.name}: an answer of more than {most} bytes")
        return bytes(body)

    async def _open(self) -> aiohttp.ClientSession:
        tls = await self._login.tls()
        if self._session is None:
            limits = self.limits
            # Watches have connections of their own, so the connector counts nothing.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept": JSON, "User-Agent": "tidegate"},
                timeout=aiohttp.ClientTimeout(
                    total=limits.timeout_s, sock_connect=limits.connect_s
                ),
            )
        return self._session

    def _look_out(self, where: str) -> None:
        """A request that waited for a slot need not find out again that the server is down."""
        if asyncio.get_running_loop().time() < self._rests_until:
            raise OutsideError(f"{where}: {self._resting}")

    def _rest(self, error: _PassingError) -> None:
        if error.unsent and error.pause_s is None:
            self._rests_until, self._resting = (
                asyncio.get_running_loop().time() + self.limits.rest_s,
                str(error),
            )


def _pause(error: Exception) -> bool | float:
    """Whether to try again, and when."""
    if not isinstance(error, _PassingError):
        return False
    return True if error.pause_s is None else error.pause_s


def _proxy_for(server: str) -> str | None:
    """What the environment says of a proxy; aiohttp would also take passwords from a netrc."""
    parts = urlsplit(server)
    if urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    return urllib.request.getproxies().get(parts.scheme)
