"""Requests to a forge with retries; time, size and tries are bounded, no message has the token.

How a lost answer is handled is in `net/json_request.py`.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec

from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.net.http_request import PassingError, plain_session, proxy_for, tries
from tidegate.net.json_request import JsonAnswer, delivered, once, sent, settled

T = TypeVar("T")
Query = Mapping[str, str | int]

# Statuses of a request that was not carried out because of a rate limit.
_TOO_FAST = (403, 429)
# The wait where a forge does not say how long: longer than `wait_max_s`.
_LONG_S = 1e9
# At most so much is shown of the reason that a forge gives for an error.
_SAID_MAX = 200


class ForgeLimits(msgspec.Struct, frozen=True):
    """Limits on time, tries and size of requests to a forge."""

    # One try.
    timeout_s: float = 20.0
    # After so long nothing is tried again.
    total_s: float = 180.0
    tries_max: int = 4
    # The first pause between two tries; later ones grow, with jitter.
    pause_s: float = 0.5
    # The longest wait a forge may ask for; beyond it the request fails.
    wait_max_s: float = 60.0
    # A page of merge requests with long descriptions.
    bytes_max: int = 32 * 1024 * 1024
    page: int = 100
    # A search with more pages fails, and asks for a narrower one.
    pages_max: int = 100


class ForgeAccess(msgspec.Struct, frozen=True):
    """Address and headers of a forge; the headers may hold a token, and are never shown."""

    # Without a slash at the end.
    api: str
    headers: Mapping[str, str]
    # Where to set a token, and the permissions it needs.
    remedy: str
    # The name of the parameter for the size of a page.
    size: str = "per_page"

    def __repr__(self) -> str:
        """The address alone."""
        return f"ForgeAccess({self.api!r})"


class _Account(msgspec.Struct):
    id: int


class ForgeSession:
    """An HTTP session with one forge."""

    def __init__(self, access: ForgeAccess, token: str, limits: ForgeLimits) -> None:
        self._access = access
        self._token = token
        self.limits = limits
        self._session: aiohttp.ClientSession | None = None
        self._host = urlsplit(access.api).netloc
        self._me: int | None = None

    async def get(self, path: str, kind: type[T], query: Query | None = None) -> T | None:
        """A resource by its path; None: it does not exist, or we may not see it."""
        answer = await self.ask("GET", path, query)
        if answer.status == 404:
            return None
        return self.read(answer, kind, f"GET {path}")

    async def pages(self, path: str, kind: type[T], query: Query) -> AsyncIterator[T]:
        """The items of a list, page by page; links in the answer are not followed."""
        limits, seen = self.limits, 0
        for page in range(1, limits.pages_max + 1):
            asked = {**query, self._access.size: limits.page, "page": page}
            answer = await self.ask("GET", path, asked)
            # mypy does not take a variable as a type: this is a list of `kind`.
            items = self.read(answer, list[kind], f"GET {path}")  # type: ignore[valid-type]
            for item in items:
                yield item
            seen += len(items)
            if not items or not _goes_on(answer, seen):
                return
        many = limits.pages_max * limits.page
        raise OutsideError(f"{self._host}: more than {many} answers to GET {path}")

    async def send(
        self, method: str, path: str, body: object, kind: type[T], *, again: bool = True
    ) -> T:
        """Change a resource and return the result. `again`: the request is idempotent."""
        answer = await self.ask(method, path, body=body, again=again)
        return self.read(answer, kind, f"{method} {path}")

    async def me(self, unknown: tuple[int, ...] = ()) -> int:
        """The id of our account; 0 where the forge answers with one of these statuses."""
        if self._me is None:
            answer = await self.ask("GET", "/user")
            known = answer.status not in unknown
            self._me = self.read(answer, _Account, "GET /user").id if known else 0
        return self._me

    async def once(
        self, make: Callable[[], Awaitable[T]], find: Callable[[], Awaitable[T | None]]
    ) -> T:
        """Create a resource once: after a lost answer it is searched for first."""
        return await once(make, find, self.limits, self._host)

    async def ask(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: object = None,
        *,
        again: bool = True,
    ) -> JsonAnswer:
        """One request; OutsideError if it failed, LostError if the result is unknown."""
        limits = self.limits
        url = f"{self._access.api}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            async for attempt in tries(limits):
                with attempt:
                    return await self._request(method, url, body, again=again)
        except PassingError as error:
            cause = self._clean(str(error))
            raise OutsideError(f"{self._host}: {cause} ({limits.tries_max} tries)") from None
        raise AssertionError("a retry context returns or raises")

    def read(self, answer: JsonAnswer, kind: type[T], asked: str) -> T:
        """The value of an answer; OutsideError names what was refused, and the remedy."""
        if answer.status >= 300:
            raise self.refused(answer, asked)
        try:
            return decode_json(answer.body, kind)
        except msgspec.MsgspecError as error:
            cause = self._clean(str(error))
            raise OutsideError(
                f"{self._host}: the answer to {asked} cannot be read: {cause}"
            ) from None

    def refused(self, answer: JsonAnswer, asked: str) -> OutsideError:
        """The error for a refused request: the forge's own words, and the remedy."""
        said = self._clean(said_in(answer.body))
        text = f"{self._host}: HTTP {answer.status} to {asked}" + (f": {said}" if said else "")
        if answer.status < 400:
            return OutsideError(f"{text}; it has moved: correct the address of the remote")
        if answer.status in (401, 403, 404):
            return OutsideError(f"{text}; {self._access.remedy}")
        return OutsideError(text)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _request(self, method: str, url: str, body: object, *, again: bool) -> JsonAnswer:
        limits = self.limits
        answer = await delivered(self._send(method, url, body), method, limits, again=again)
        wait_s = _wait_s(answer)
        if wait_s is not None:
            if wait_s > limits.wait_max_s:
                when = f"after {wait_s:.0f} s" if wait_s < _LONG_S else "at a time it does not name"
                raise OutsideError(
                    f"{self._host}: rate limit exceeded, retry {when}; "
                    "run this again later, or with a token that has a higher limit"
                )
            await asyncio.sleep(wait_s)
            raise PassingError(f"HTTP {answer.status}: rate limit exceeded")
        return settled(answer, method, again=again)

    async def _send(self, method: str, url: str, body: object) -> JsonAnswer:
        if self._session is None:
            self._session = plain_session()
        return await sent(
            self._session, method, url, body, self._access.headers, self.limits, proxy_for(url)
        )

    def _clean(self, text: str) -> str:
        """A text without the token, in case the forge repeats it."""
        return text.replace(self._token, "***") if self._token else text


def said_in(body: bytes) -> str:
    """The reason that a forge gives for an error, in any form, on one line."""
    try:
        found = decode_json(body)
    except msgspec.MsgspecError:
        return ""
    if isinstance(found, dict):
        parts = [found.get(name) for name in ("message", "error", "errors")]
        found = [part for part in parts if part]
    text = re.sub(r"\s+", " ", " ".join(_words(found))).strip()
    return text if len(text) <= _SAID_MAX else text[: _SAID_MAX - 1] + "…"


def _words(value: object) -> list[str]:
    if isinstance(value, dict):
        return [f"{name} {' '.join(_words(each))}" for name, each in value.items()]
    if isinstance(value, list):
        return [word for each in value for word in _words(each)]
    return [str(value)]


def _goes_on(answer: JsonAnswer, seen: int) -> bool:
    """Whether there is another page; its address is ignored: it could lead to another host."""
    link = answer.headers.get("Link")
    if link is not None:
        return 'rel="next"' in link
    total = answer.headers.get("X-Total-Count", "")
    return total.isdigit() and int(total) > seen


def _wait_s(answer: JsonAnswer) -> float | None:
    """How long a forge asks us to wait; None: it does not."""
    if answer.status not in _TOO_FAST:
        return None
    headers = answer.headers
    if (after := headers.get("Retry-After", "").strip()).isdigit():
        return float(after)
    if headers.get("x-ratelimit-remaining") == "0":
        return _until(headers.get("x-ratelimit-reset", ""), headers.get("Date", ""))
    return None


def _until(reset: str, now: str) -> float:
    """The seconds to a moment, by the forge's own clock; very many where it is not readable."""
    try:
        return max(0.0, int(reset) - parsedate_to_datetime(now).timestamp())
    except (ValueError, TypeError):
        return _LONG_S


def shortened(text: str, most: int) -> str:
    """A text cut to the length that a forge accepts."""
    return text if len(text) <= most else text[: most - 1] + "…"
