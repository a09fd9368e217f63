"""Tokens for OpenShift Cluster Manager: asked for once by all who need one, renewed early.

Nothing here shows what is secret: not in a text, not in a representation, not in an error.
"""

import asyncio
from collections.abc import Callable, Mapping

import aiohttp
import msgspec

from tidegate.kinds.upgrades.ocm.port import UNAUTHORIZED, OcmRefusedError
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.net.http_request import (
    PASSING,
    PassingError,
    Patience,
    bounded,
    passing,
    proxy_for,
    tries,
)

# A token is renewed so long before its end, or a fifth of its life if that is shorter.
EARLY_S = 60.0
# Where the answer does not say how long a token lasts.
_LASTS_S = 300.0
_BYTES_MAX = 1024 * 1024
# The public client whose tokens people are given.
PEOPLE = "cloud-services"


class ServiceAccount(msgspec.Struct, frozen=True):
    """A program's own credentials."""

    token_url: str
    client_id: str
    client_secret: str

    def __repr__(self) -> str:
        """Without the secret."""
        return f"ServiceAccount({self.token_url!r}, {self.client_id!r})"

    def form(self) -> Mapping[str, str]:
        """What is asked with."""
        secret = {"client_id": self.client_id, "client_secret": self.client_secret}
        return {"grant_type": "client_credentials", **secret}


class OfflineToken(msgspec.Struct, frozen=True):
    """A person's own token, for which others are given."""

    token_url: str
    token: str
    client_id: str = PEOPLE

    def __repr__(self) -> str:
        """Without the token."""
        return f"OfflineToken({self.token_url!r}, {self.client_id!r})"

    def form(self) -> Mapping[str, str]:
        """What is asked with."""
        given = {"client_id": self.client_id, "refresh_token": self.token}
        return {"grant_type": "refresh_token", **given}


class AccessToken(msgspec.Struct, frozen=True):
    """A token as it is, until it ends."""

    token: str

    def __repr__(self) -> str:
        """Without the token."""
        return "AccessToken()"


Credentials = ServiceAccount | OfflineToken | AccessToken
Counting = Callable[[str], None]


class _Given(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = _LASTS_S


class _Refused(msgspec.Struct, frozen=True):
    error: str = ""


class TokenSource:
    """Has a token that is good now."""

    def __init__(
        self, credentials: Credentials, patience: Patience, timeout_s: float, count: Counting
    ) -> None:
        self._credentials = credentials
        self._patience = patience
        self._timeout_s = timeout_s
        self._count = count
        # A request that needs a token while one is fetched waits for it.
        self._asking = asyncio.Lock()
        self._token, self._until = "", 0.0
        # How often none could be had, and why not the last time.
        self._failures, self._failure, self._refused = 0, "", False
        if isinstance(credentials, AccessToken):
            self._token, self._until = credentials.token, float("inf")

    async def token(self, session: aiohttp.ClientSession) -> str:
        """A token that is good for a while yet."""
        if self._good():
            return self._token
        failures = self._failures
        async with self._asking:
            if not self._good():
                # Who waited while it failed does not try again: thousands may be waiting.
                if failures != self._failures:
                    raise self._failed()
                await self._renew(session)
            return self._token

    def drop(self, token: str) -> bool:
        """A token that was refused is not used again; whether another can be had."""
        if isinstance(self._credentials, AccessToken):
            return False
        if token == self._token:
            self._until = 0.0
        return True

    def clean(self, text: str) -> str:
        """A text without anything secret, even if a server repeated it."""
        for secret in (self._token, *self._secrets()):
            text = text.replace(secret, "***") if secret else text
        return text

    def _secrets(self) -> tuple[str, ...]:
        if isinstance(self._credentials, ServiceAccount):
            return (self._credentials.client_secret,)
        return (self._credentials.token,)

    def _good(self) -> bool:
        return asyncio.get_running_loop().time() < self._until

    async def _renew(self, session: aiohttp.ClientSession) -> None:
        credentials = self._credentials
        assert not isinstance(credentials, AccessToken)
        url = credentials.token_url
        try:
            async for attempt in tries(self._patience):
                with attempt:
                    await self._ask(session, url, credentials.form())
        except (PassingError, OutsideError) as error:
            message = self.clean(str(error))
            self._failures += 1
            self._failure = (
                message if isinstance(error, OutsideError) else f"{url}: no token: {message}"
            )
            self._refused = isinstance(error, OcmRefusedError)
            raise self._failed() from None

    def _failed(self) -> OutsideError:
        """Why no token could be fetched; a refusal is our error, not theirs."""
        if self._refused:
            return OcmRefusedError(self._failure, UNAUTHORIZED)
        return OutsideError(self._failure)

    async def _ask(self, session: aiohttp.ClientSession, url: str, form: Mapping[str, str]) -> None:
        asked_at = asyncio.get_running_loop().time()
        self._count("POST")
        with passing(self._timeout_s):
            async with session.post(
                url,
                data=form,
                headers={"Accept": "application/json"},
                proxy=proxy_for(url),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=self._timeout_s),
            ) as response:
                status, body = response.status, await bounded(response, _BYTES_MAX)
        if status in PASSING:
            raise PassingError(f"HTTP {status}")
        if status != 200:
            message = f"{url}: HTTP {status}: no token{_said(body)}; check credentials and address"
            raise OcmRefusedError(message, UNAUTHORIZED) if status < 500 else OutsideError(message)
        try:
            given = decode_json(body, _Given)
        except msgspec.DecodeError:
            raise OutsideError(f"{url}: the answer holds no token; check the address") from None
        lasts_s = max(0.0, given.expires_in)
        self._token = given.access_token
        self._until = asked_at + lasts_s - min(EARLY_S, lasts_s / 5)


def _said(body: bytes) -> str:
    """The short word such services give; their longer texts may repeat what we sent."""
    try:
        word = decode_json(body, _Refused).error
    except msgspec.DecodeError:
        return ""
    return f" ({word})" if word.replace("_", "").isalpha() else ""
