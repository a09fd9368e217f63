"""A document that is published at an address, read once, without credentials."""

import msgspec
from aiohttp import ClientTimeout

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

_OK = 200


class FetchLimits(msgspec.Struct, frozen=True):
    """How long to wait for it, and how much of it is read."""

    timeout_s: float = 15.0
    # All tries.
    total_s: float = 40.0
    tries_max: int = 3
    pause_s: float = 0.2
    # The history of some thousand clusters is a few megabytes.
    bytes_max: int = 64 * 1024 * 1024


async def fetch(url: str, limits: FetchLimits | None = None) -> bytes:
    """What is at an address; OutsideError if it cannot be had."""
    bounds = limits or FetchLimits()
    try:
        async for attempt in tries(bounds):
            with attempt:
                return await _fetch(url, bounds)
    except PassingError as error:
        raise OutsideError(f"{url}: {error}") from None
    raise AssertionError("a try returns or raises")


async def _fetch(url: str, limits: FetchLimits) -> bytes:
    with passing(limits.timeout_s):
        async with (
            plain_session() as session,
            session.get(
                url, proxy=proxy_for(url), timeout=ClientTimeout(limits.timeout_s)
            ) as answer,
        ):
            if answer.status in PASSING:
                raise PassingError(f"HTTP {answer.status}")
            if answer.status != _OK:
                raise OutsideError(f"{url}: HTTP {answer.status}")
            return await bounded(answer, limits.bytes_max)
