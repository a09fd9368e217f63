"""One request in JSON to a service that knows us by a token, and what follows from how it ends.

An idempotent request is repeated when its answer is lost. Any other (a POST that creates something)
is a LostError then, and the caller searches for the result before it repeats the request.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

import aiohttp
import msgspec
from yarl import URL

from tidegate.model.errors import OutsideError
from tidegate.net.http_request import PASSING, PassingError, Patience, bounded, passing

T = TypeVar("T")


class LostError(Exception):
    """It is unknown whether the request was carried out."""


class JsonAnswer(msgspec.Struct, frozen=True):
    """Status, headers and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Bounds(Patience, Protocol):
    """How long one try may take, and how much of an answer is read."""

    @property
    def timeout_s(self) -> float:
        """How long one try may take."""
        ...

    @property
    def bytes_max(self) -> int:
        """How much of an answer is read."""
        ...


async def sent(
    session: aiohttp.ClientSession,
    method: str,
    url: str | URL,
    body: object,
    headers: Mapping[str, str],
    bounds: Bounds,
    proxy: str | None,
) -> JsonAnswer:
    """One request; the headers may hold a token."""
    headers = {"User-Agent": "tidegate", "Accept": "application/json", **headers}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = msgspec.json.encode(body)
    # A redirect could lead our token elsewhere: it is an answer, and the wrong one.
    async with session.request(
        method,
        url,
        data=data,
        headers=headers,
        proxy=proxy,
        allow_redirects=False,
        timeout=aiohttp.ClientTimeout(total=bounds.timeout_s),
    ) as response:
        read = await bounded(response, bounds.bytes_max)
        return JsonAnswer(response.status, response.headers, read)


async def delivered(
    sending: Awaitable[JsonAnswer], asked: str, bounds: Bounds, *, again: bool
) -> JsonAnswer:
    """An answer with any status; PassingError or LostError if there is none.

    `again`: the request is idempotent. A server that was not reached has done nothing.
    """
    try:
        with passing(bounds.timeout_s):
            return await sending
    except PassingError as error:
        if again or isinstance(error.__context__, aiohttp.ClientConnectorError):
            raise
        raise LostError(f"{asked} {error}") from None


def settled(answer: JsonAnswer, asked: str, *, again: bool) -> JsonAnswer:
    """The same answer if it is one to go by; PassingError or LostError if it may pass."""
    if answer.status not in PASSING:
        return answer
    if again:
        raise PassingError(f"HTTP {answer.status}")
    raise LostError(f"{asked} HTTP {answer.status}")


async def once(
    make: Callable[[], Awaitable[T]],
    find: Callable[[], Awaitable[T | None]],
    patience: Patience,
    host: str,
) -> T:
    """Create a resource once: after a lost answer it is searched for first."""
    why = ""
    for i in range(patience.tries_max):
        if i:
            await asyncio.sleep(patience.pause_s * i)
            if (found := await find()) is not None:
                return found
        try:
            return await make()
        except LostError as error:
            why = str(error)
    raise OutsideError(f"{host}: {why} ({patience.tries_max} tries)")
