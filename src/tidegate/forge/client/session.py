"""One request to a forge with all its tries; everything about it is bounded, and its token is in
no text anybody reads.

What becomes of a lost answer is in `json_asking.py`.
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
from tidegate.net.http_request import PassingError, plain_session, proxy_for, tries
from tidegate.net.json_request import JsonAnswer, delivered, once, sent, settled

T = TypeVar("T")
Query = Mapping[str, str | int]

# Not carried out: asked too fast.
_TOO_FAST = (403, 429)
# How long a forge rests that does not say how long: longer than anybody waits.
_LONG_S = 1e9
# Of a text a forge gives as the reason of an error.
_SAID_MAX = 200


class ForgeLimits(msgspec.Struct, frozen=True):
    """How long anybody waits for a forge, and how much is read."""

    # One try.
    timeout_s: float = 20.0
    # After so long nothing is tried again.
    total_s: float = 180.0
    tries_max: int = 4
    # The first pause between two tries, made longer and less regular by chance.
    pause_s: float = 0.5
    # How long a forge may ask us to wait before it is asked again.
    wait_max_s: float = 60.0
    # A page of merge requests with long descriptions.
    bytes_max: int = 32 * 1024 * 1024
    page: int = 100
    # Whoever has more to look through is told to say more precisely what is looked for.
    pages_max: int = 100


class ForgeAccess(msgspec.Struct, frozen=True):
    """How a forge wants to be asked; the headers may hold a token, and are never shown."""

    # Without a slash at the end.
    api: str
    headers: Mapping[str, str]
    # Where a token would be set, and what it must be allowed.
    remedy: str
    # The name of the parameter for the size of a page.
    size: str = "per_page"

    def __repr__(self) -> str:
        """The address alone."""
        return f"ForgeAccess({self.api!r})"


class _Account(msgspec.Struct):
    id: int


class ForgeSession:
    """Requests to one forge."""

    def __init__(self, access: ForgeAccess, token: str, limits: ForgeLimits) -> None:
        self._access = access
        self._token = token
        self.limits = limits
        self._session: aiohttp.ClientSession | None = None
        self._host = urlsplit(access.api).netloc
        self._me: int | None = None

    async def get(self, path: str, kind: type[T], query: Query | None = None) -> T | None:
        """Something by its path; None: there is no such thing, or it is not for us to see."""
        answer = await self.ask("GET", path, query)
        if answer.status == 404:
            return None
        return self.read(answer, kind, f"GET {path}")

    async def pages(self, path: str, kind: type[T], query: Query) -> AsyncIterator[T]:
        """The items of a list, page after page; only the number of the page is taken from it."""
        limits, seen = self.limits, 0
        for page in range(1, limits.pages_max + 1):
            asked = {**query, self._access.size: limits.page, "page": page}
            answer = await self.ask("GET", path, asked)
            # Whoever is typed here is a list of what is asked for.
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
        """Change something; what came of it. `again`: doing it twice is doing it once."""
        answer = await self.ask(method, path, body=body, again=again)
        return self.read(answer, kind, f"{method} {path}")

    async def me(self, untold: tuple[int, ...] = ()) -> int:
        """Who we are there; 0 where that is answered with one of these statuses."""
        if self._me is None:
            answer = await self.ask("GET", "/user")
            told = answer.status not in untold
            self._me = self.read(answer, _Account, "GET /user").id if told else 0
        return self._me

    async def once(
        self, make: Callable[[], Awaitable[T]], find: Callable[[], Awaitable[T | None]]
    ) -> T:
        """What a request makes, made once: after a lost answer it is looked for first."""
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
        """One request; OutsideError if it came to nothing, LostError if nobody knows."""
        limits = self.limits
        url = f"{self._access.api}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            async for attempt in tries(limits):
                with attempt:
                    return await self._request(method, url, body, again=again)
        except PassingError as error:
            told = self._clean(str(error))
            raise OutsideError(f"{self._host}: {told} ({limits.tries_max} tries)") from None
        raise AssertionError("a retry context returns or raises")

    def read(self, answer: JsonAnswer, kind: type[T], asked: str) -> T:
        """The value of an answer; OutsideError says what was refused, and what to do."""
        if answer.status >= 300:
            raise self.refused(answer, asked)
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except msgspec.MsgspecError as error:
            told = self._clean(str(error))
            raise OutsideError(f"{self._host}: the answer to {asked} is odd: {told}") from None

    def refused(self, answer: JsonAnswer, asked: str) -> OutsideError:
        """What a forge refused, in its words, and what to do about it."""
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
                told = f"for {wait_s:.0f} s" if wait_s < _LONG_S else "for it does not say how long"
                raise OutsideError(
                    f"{self._host}: asked too often, it wants to be left alone {told}; "
                    "run this again later, or with a token that may ask more"
                )
            await asyncio.sleep(wait_s)
            raise PassingError(f"HTTP {answer.status}: asked too often")
        return settled(answer, method, again=again)

    async def _send(self, method: str, url: str, body: object) -> JsonAnswer:
        if self._session is None:
            self._session = plain_session()
        return await sent(
            self._session, method, url, body, self._access.headers, self.limits, proxy_for(url)
        )

    def _clean(self, text: str) -> str:
        """A text without the token, should a forge repeat it."""
        return text.replace(self._token, "***") if self._token else text


def said_in(body: bytes) -> str:
    """The reason a forge gives for an error, whatever its form, on one line."""
    try:
        told = msgspec.json.decode(body)
    except msgspec.MsgspecError:
        return ""
    if isinstance(told, dict):
        parts = [told.get(name) for name in ("message", "error", "errors")]
        told = [part for part in parts if part]
    text = re.sub(r"\s+", " ", " ".join(_words(told))).strip()
    return text if len(text) <= _SAID_MAX else text[: _SAID_MAX - 1] + "…"


def _words(value: object) -> list[str]:
    if isinstance(value, dict):
        return [f"{name} {' '.join(_words(each))}" for name, each in value.items()]
    if isinstance(value, list):
        return [word for each in value for word in _words(each)]
    return [str(value)]


def _goes_on(answer: JsonAnswer, seen: int) -> bool:
    """Whether there is another page; the address it has is not heeded: it could lead elsewhere."""
    link = answer.headers.get("Link")
    if link is not None:
        return 'rel="next"' in link
    total = answer.headers.get("X-Total-Count", "")
    return total.isdigit() and int(total) > seen


def _wait_s(answer: JsonAnswer) -> float | None:
    """How long a forge wants to be left alone; None: it does not."""
    if answer.status not in _TOO_FAST:
        return None
    headers = answer.headers
    if (after := headers.get("Retry-After", "").strip()).isdigit():
        return float(after)
    if headers.get("x-ratelimit-remaining") == "0":
        return _until(headers.get("x-ratelimit-reset", ""), headers.get("Date", ""))
    return None


def _until(reset: str, now: str) -> float:
    """The seconds to a moment, by the forge's own clock; long, where that cannot be told."""
    try:
        return max(0.0, int(reset) - parsedate_to_datetime(now).timestamp())
    except (ValueError, TypeError):
        return _LONG_S


def shortened(text: str, most: int) -> str:
    """A text as long as a forge takes it."""
    return text if len(text) <= most else text[: most - 1] + "…"
