"""One request to OpenShift Cluster Manager with all its tries; all of it is bounded and counted.

How a lost answer is handled is in `net/json_request.py`. After a 429 with Retry-After, every
request waits.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiolimiter import AsyncLimiter
from yarl import URL

from tidegate.kinds.upgrades.ocm.client.token import Credentials, TokenSource
from tidegate.kinds.upgrades.ocm.port import OcmRefusedError
from tidegate.kinds.upgrades.ocm.search import ADDRESS_MAX, encoded
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.net.http_request import PassingError, plain_session, proxy_for, tries
from tidegate.net.json_request import JsonAnswer, delivered, sent, settled

T = TypeVar("T")

# Of a reason that they give.
_SAID_MAX = 300
# This part of a second's calls may go at once, and the rest evenly, so that no second sees more
# than its share. Worked numbers: of 1,000 a second 20 go at once and 980 follow.
_PARTS = 50


class OcmLimits(msgspec.Struct, frozen=True):
    """Timeouts, sizes, and how many requests are made at once."""

    # One try.
    timeout_s: float = 30.0
    # After so long nothing is tried again.
    total_s: float = 120.0
    tries_max: int = 5
    # The first pause between two tries, made longer and less regular by chance.
    pause_s: float = 0.3
    # How long we may be asked to wait before the next try.
    wait_max_s: float = 60.0
    bytes_max: int = 64 * 1024 * 1024
    # Calls of any one second, and calls at a time.
    rate_max: int = 1000
    concurrency_max: int = 100
    # Items of a page, and pages of a list.
    page: int = 500
    pages_max: int = 2000
    # How often a list is read again that changed while its pages were read.
    rereads_max: int = 2


class _Error(msgspec.Struct, frozen=True):
    code: str = ""
    reason: str = ""


class OcmHttp:
    """Requests to one environment."""

    def __init__(self, url: str, credentials: Credentials, limits: OcmLimits) -> None:
        # Without a slash at the end.
        self.url = url.rstrip("/")
        self.host = urlsplit(url).netloc
        self.limits = limits
        self.counts: Counter[str] = Counter()
        self._desk = TokenSource(credentials, limits, limits.timeout_s, self._count)
        self._slots = asyncio.Semaphore(limits.concurrency_max)
        burst = max(1.0, limits.rate_max / _PARTS)
        self._rate = AsyncLimiter(burst, burst / max(0.5, limits.rate_max - burst))
        self._rests_until = 0.0
        self._proxy = proxy_for(self.url)
        self._session: aiohttp.ClientSession | None = None

    async def get(
        self, path: str, kind: type[T], query: Mapping[str, str] | None = None
    ) -> T | None:
        """Something by its path; None: there is no such thing."""
        answer = await self.ask("GET", path, query)
        return None if answer.status == 404 else self.read(answer, kind, f"GET {path}")

    async def send(
        self, method: str, path: str, body: object, kind: type[T], *, again: bool = True
    ) -> T:
        """Change something; what came of it. `again`: doing it twice is doing it once."""
        answer = await self.ask(method, path, body=body, again=again)
        return self.read(answer, kind, f"{method} {path}")

    async def delete(self, path: str) -> None:
        """Take something away; what is gone is gone."""
        answer = await self.ask("DELETE", path)
        if answer.status not in (200, 202, 204, 404):
            raise self.refused(answer, f"DELETE {path}")

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        *,
        again: bool = True,
    ) -> JsonAnswer:
        """One request; OutsideError if it failed, LostError if its outcome is not known."""
        url = self.address(path, query)
        if len(url) > ADDRESS_MAX:
            raise ValueError(f"an address of {len(url)} bytes: ask in pieces")
        # A request that waits for its turn is not tried yet: its timeout begins afterwards.
        async with self._slots:
            try:
                return await self._tried(method, url, body, again=again)
            except PassingError as error:
                message = self._desk.clean(str(error))
                raise OutsideError(f"{self.host}: {method} {path}: {message}") from None

    def address(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """The whole address of a request."""
        text = "&".join(f"{name}={encoded(value)}" for name, value in (query or {}).items())
        return f"{self.url}{path}" + (f"?{text}" if text else "")

    def read(self, answer: JsonAnswer, kind: type[T], asked: str) -> T:
        """The value of an answer; RefusedError says what was refused."""
        if answer.status >= 300:
            raise self.refused(answer, asked)
        try:
            return decode_json(answer.body, kind)
        except msgspec.MsgspecError as error:
            message = self._desk.clean(str(error))
            raise OutsideError(f"{self.host}: the answer to {asked} is odd: {message}") from None

    def refused(self, answer: JsonAnswer, asked: str) -> OcmRefusedError:
        """What was refused, in their words."""
        try:
            error = decode_json(answer.body, _Error)
        except msgspec.MsgspecError:
            error = _Error()
        reason = self._desk.clean(re.sub(r"\s+", " ", error.reason).strip())[:_SAID_MAX]
        text = f"{self.host}: HTTP {answer.status} to {asked}" + (f": {reason}" if reason else "")
        if answer.status in (401, 403):
            text += "; check the credentials, and what they are allowed"
        return OcmRefusedError(text, answer.status, error.code, reason)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _tried(self, method: str, url: str, body: object, *, again: bool) -> JsonAnswer:
        """As many tries as it takes, within limits.

        The first is by itself: most need no other, and keeping count costs a third of a call.
        """
        limits = self.limits
        try:
            return await self._try(method, url, body, again=again)
        except PassingError:
            if limits.tries_max <= 1:
                raise
        await asyncio.sleep(limits.pause_s * random.uniform(1, 2))
        async for attempt in tries(msgspec.structs.replace(limits, tries_max=limits.tries_max - 1)):
            with attempt:
                return await self._try(method, url, body, again=again)
        raise AssertionError("a retry context returns or raises")

    async def _try(self, method: str, url: str, body: object, *, again: bool) -> JsonAnswer:
        sending = self._let_in(method, url, body)
        answer = await delivered(sending, f"{method}:", self.limits, again=again)
        if answer.status == 429:
            self._rest(answer)
            raise PassingError("HTTP 429: too many requests")
        return settled(answer, f"{method}:", again=again)

    async def _let_in(self, method: str, url: str, body: object) -> JsonAnswer:
        """An answer, with another token if ours was refused."""
        if self._session is None:
            self._session = plain_session()
        token = await self._desk.token(self._session)
        answer = await self._send(self._session, method, url, body, token)
        if answer.status == 401 and self._desk.drop(token):
            token = await self._desk.token(self._session)
            answer = await self._send(self._session, method, url, body, token)
        return answer

    async def _send(
        self, session: aiohttp.ClientSession, method: str, url: str, body: object, token: str
    ) -> JsonAnswer:
        await self._turn()
        self._count(method)
        headers, address = {"Authorization": f"Bearer {token}"}, URL(url, encoded=True)
        return await sent(session, method, address, body, headers, self.limits, self._proxy)

    async def _turn(self) -> None:
        """Wait until requests are allowed again, after a 429 for as long as it asks for."""
        await asyncio.sleep(max(0.0, self._rests_until - asyncio.get_running_loop().time()))
        await self._rate.acquire()

    def _rest(self, answer: JsonAnswer) -> None:
        """Hold all requests for as long as a 429 asks for."""
        wait_s = _wait_s(answer.headers.get("Retry-After", ""), answer.headers.get("Date", ""))
        if wait_s > self.limits.wait_max_s:
            raise OutsideError(f"{self.host}: too many requests (429); retry in {wait_s:.0f} s")
        until = asyncio.get_running_loop().time() + wait_s
        self._rests_until = max(self._rests_until, until)

    def _count(self, method: str) -> None:
        self.counts[method] += 1


def _wait_s(after: str, now: str) -> float:
    """How long to stay away: in seconds, or until a moment by their own clock."""
    if after.strip().isascii() and after.strip().isdigit():
        return float(after)
    try:
        until, since = parsedate_to_datetime(after), parsedate_to_datetime(now)
        return max(0.0, (until - since).total_seconds())
    except (ValueError, TypeError):
        return 0.0
