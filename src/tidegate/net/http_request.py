"""What questions over HTTP share: which failures pass, how often it is tried, how much is read.

A try that fails with PassingError may succeed in a moment; the caller turns the last of them
into an OutsideError in its own words.
"""

import ssl
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

import aiohttp

from tidegate.model.errors import OutsideError
from tidegate.net.address import is_loopback
from tidegate.net.connection import connection_words
from tidegate.net.retry import retry_context

# It may do better in a moment: overloaded, starting, or behind a proxy that is.
PASSING = frozenset({429, 500, 502, 503, 504})
_CHUNK = 64 * 1024


class PassingError(Exception):
    """A try failed, and another may not."""


class Patience(Protocol):
    """Limits on tries and waiting time."""

    @property
    def tries_max(self) -> int:
        """How often it is tried."""
        ...

    @property
    def total_s(self) -> float:
        """How long all tries may take."""
        ...

    @property
    def pause_s(self) -> float:
        """The first pause between two tries, made longer and less regular by chance."""
        ...


def tries(patience: Patience) -> AsyncIterator[Any]:
    """Attempts, for as long as they fail with what passes."""
    return retry_context(
        on=PassingError,
        attempts=patience.tries_max,
        timeout=patience.total_s,
        wait_initial=patience.pause_s,
        wait_jitter=patience.pause_s,
    )


@contextmanager
def passing(timeout_s: float) -> Iterator[None]:
    """Turn every failure of one try to get an answer into PassingError."""
    try:
        yield
    except TimeoutError:
        raise PassingError(f"no answer in {timeout_s:g} s") from None
    except (aiohttp.ClientError, OSError) as error:
        raise PassingError(f"cannot be asked: {connection_words(error)}") from None


def plain_session(tls: ssl.SSLContext | bool = True) -> aiohttp.ClientSession:
    """A client session without cookies; `tls`: which certificates count, True: the machine's."""
    return aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(),
        connector=aiohttp.TCPConnector(ssl=tls),
        raise_for_status=False,
    )


def trusted_by(authority: str) -> ssl.SSLContext | bool:
    """The certificates that authorities in a file signed; none named: those of the machine.

    OutsideError if it cannot be used.
    """
    if not authority:
        return True
    try:
        return ssl.create_default_context(cafile=authority)
    except (OSError, ssl.SSLError) as error:
        what = error.strerror or "no certificates"
        raise OutsideError(f"{authority}: {what}") from None


def proxy_for(url: str) -> str | None:
    """The proxy of this machine for an address; credentials in a netrc file are not used."""
    parts = urlsplit(url)
    if is_loopback(parts.netloc) or urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    return urllib.request.getproxies().get(parts.scheme)


async def bounded(response: aiohttp.ClientResponse, most: int, remedy: str = "") -> bytes:
    """The body of an answer; OutsideError if it is longer than the limit."""
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > most:
            raise OutsideError(f"an answer of more than {most} bytes{remedy}")
    return bytes(body)
