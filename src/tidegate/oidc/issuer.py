"""An issuer over HTTP: where it answers, its keys, and the tokens it gives.

Keys are read again when they are old, and when a token names one that is not known: issuers change
them. While the issuer does not answer, the keys that are known stay in use, for a day at most.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.model.time import SECOND, Instant
from tidegate.net.address import is_safe
from tidegate.net.http_request import (
    PASSING,
    PassingError,
    bounded,
    passing,
    proxy_for,
    trusted_by,
)
from tidegate.oidc.identity import Identity, IssuerSettings, LoginRefusedError
from tidegate.oidc.token import check_token, claimed

TIMEOUT_S = 10.0
BYTES_MAX = 1 << 20
# Addresses and keys are read again when they are so old.
FRESH = 10 * 60 * SECOND
# Keys that could not be read again are in use for so long.
KEPT = 24 * 3600 * SECOND
# A token with an unknown key makes the keys be read again, but not more often than this.
AGAIN = 10 * SECOND
_KEY_TYPES = ("RSA", "EC")
T = TypeVar("T")


class IssuerMetadata(msgspec.Struct, frozen=True):
    """What an issuer says of itself (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    device_authorization_endpoint: str = ""
    revocation_endpoint: str = ""


class GivenTokens(msgspec.Struct, frozen=True):
    """What an issuer gives for a login."""

    id_token: str
    refresh_token: str = ""

    def __repr__(self) -> str:
        """Without the tokens."""
        return "GivenTokens()"


class DeviceCode(msgspec.Struct, frozen=True):
    """A login that is finished on another device."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: float = 300.0
    # Seconds between two questions.
    interval: float = 5.0


class _Refused(msgspec.Struct, frozen=True):
    error: str = ""
    error_description: str = ""


class PendingLoginError(Exception):
    """The login on the other device is not finished; `slower`: ask less often."""

    def __init__(self, slower: bool) -> None:
        self.slower = slower
        super().__init__("pending")


class Issuer:
    """One issuer, for one client of it."""

    def __init__(self, settings: IssuerSettings, clock: Clock) -> None:
        self.settings = settings
        self._clock = clock
        self._reading: asyncio.Task[None] | None = None
        self._metadata: IssuerMetadata | None = None
        self._metadata_at = Instant(0)
        self._keys: KeySet | None = None
        self._keys_at = Instant(0)
        self._tried_at = Instant(0)
        # Why the keys could not be read the last time; empty: they were.
        self._failure = ""

    async def identity(self, token: str, *, nonce: str | None = None) -> Identity:
        """The person a token names; LoginRefusedError, or OutsideError without keys to check it."""
        keys = await self._current_keys(claimed(token, "kid"))
        return check_token(token, keys, self.settings, self._clock.now(), nonce=nonce)

    async def metadata(self) -> IssuerMetadata:
        """Where it answers; OutsideError if it does not, and did not lately."""
        now = self._clock.now()
        known = self._metadata
        if known is not None and now - self._metadata_at < FRESH:
            return known
        url = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            found = await self._get(url, IssuerMetadata)
        except OutsideError:
            if known is not None and now - self._metadata_at < KEPT:
                return known
            raise
        self._check(found)
        self._metadata, self._metadata_at = found, now
        return found

    async def authorization_url(self, client_id: str, redirect: str, **more: str) -> str:
        """Where a browser is sent to log in."""
        where = (await self.metadata()).authorization_endpoint
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect,
            "scope": " ".join(self.settings.scopes),
            **more,
        }
        return f"{where}{'&' if '?' in where else '?'}{urlencode(asked)}"

    async def exchanged(
        self, client_id: str, secret: str, code: str, redirect: str, verifier: str
    ) -> GivenTokens:
        """The tokens for a code that the browser brought back."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": verifier,
        }
        return await self._given(client_id, secret, form)

    async def refreshed(self, client_id: str, refresh_token: str) -> GivenTokens:
        """New tokens; without a new refresh token, the old one stays."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        found = await self._given(client_id, "", form)
        return found if found.refresh_token else GivenTokens(found.id_token, refresh_token)

    async def device(self, client_id: str) -> DeviceCode:
        """Begin a login that is finished on another device."""
        where = (await self.metadata()).device_authorization_endpoint
        if not where:
            raise LoginRefusedError(f"{self.settings.issuer} has no login by another device")
        form = {"client_id": client_id, "scope": " ".join(self.settings.scopes)}
        return await self._post(where, form, DeviceCode)

    async def device_tokens(self, client_id: str, code: DeviceCode) -> GivenTokens:
        """The tokens, once the person has logged in; PendingLoginError before that."""
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
            "device_code": code.device_code,
        }
        return await self._given(client_id, "", form)

    async def revoke(self, client_id: str, refresh_token: str) -> bool:
        """End a refresh token; False: the issuer has no way to."""
        where = (await self.metadata()).revocation_endpoint
        if not where:
            return False
        form = {"client_id": client_id, "token": refresh_token}
        await self._request("POST", where, {**form, "token_type_hint": "refresh_token"})
        return True

    async def _given(self, client_id: str, secret: str, form: Mapping[str, str]) -> GivenTokens:
        where = (await self.metadata()).token_endpoint
        sent = {**form, "client_id": client_id}
        if secret:
            sent["client_secret"] = secret
        return await self._post(where, sent, GivenTokens)

    async def _current_keys(self, kid: str) -> KeySet:
        """Keys that may have signed with this one; nothing waits while they are only old."""
        now, keys = self._clock.now(), self._keys
        if keys is not None and now - self._keys_at < KEPT and (not kid or _has(keys, kid)):
            if now - self._keys_at >= FRESH:
                self._read_again(now)
            return keys
        task = self._read_again(now)
        if task is not None:
            await asyncio.shield(task)
        if self._failure or self._keys is None:
            raise OutsideError(self._failure or f"{self.settings.issuer}: no keys are known")
        return self._keys

    def _read_again(self, now: Instant) -> "asyncio.Task[None] | None":
        """Read the keys, once for all that need them; None: that was tried a moment ago."""
        if self._reading is not None and not self._reading.done():
            return self._reading
        if 0 <= now - self._tried_at < AGAIN:
            return None
        self._tried_at = now
        self._reading = asyncio.create_task(self._read_keys(now))
        return self._reading

    async def _read_keys(self, now: Instant) -> None:
        try:
            self._keys = await self._fetched_keys()
        except OutsideError as error:
            self._failure = str(error)
            return
        self._keys_at, self._failure = now, ""

    async def _fetched_keys(self) -> KeySet:
        found = await self._get((await self.metadata()).jwks_uri, dict[str, Any])
        listed = found.get("keys")
        if not isinstance(listed, list):
            raise OutsideError(f"{self.settings.issuer}: its answer has no keys")
        usable = [each for each in listed if _is_usable(each)]
        try:
            return KeySet.import_key_set({"keys": usable})
        except (JoseError, ValueError, KeyError, TypeError):
            raise OutsideError(f"{self.settings.issuer}: its keys cannot be read") from None

    def _check(self, found: IssuerMetadata) -> None:
        if found.issuer != self.settings.issuer:
            what = f'says that it is "{found.issuer[:100]}"; write it as it says'
            raise OutsideError(f"{self.settings.issuer}: {what}")
        for each in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri):
            if not is_safe(each):
                what = f'names "{each[:100]}", which is no https address'
                raise OutsideError(f"{self.settings.issuer}: {what}")

    async def _get(self, url: str, kind: type[T]) -> T:
        status, body = await self._request("GET", url, None)
        if status != 200:
            raise OutsideError(f"{self.settings.issuer}: HTTP {status} for {urlsplit(url).path}")
        return self._read(body, kind)

    async def _post(self, url: str, form: Mapping[str, str], kind: type[T]) -> T:
        status, body = await self._request("POST", url, form)
        if status == 200:
            return self._read(body, kind)
        try:
            said = decode_json(body, _Refused)
        except msgspec.MsgspecError:
            said = _Refused()
        if said.error in ("authorization_pending", "slow_down"):
            raise PendingLoginError(said.error == "slow_down")
        if status in PASSING:
            raise OutsideError(f"{self.settings.issuer}: HTTP {status}")
        # What it says is for people, and about the request: no token is in it.
        told = (said.error_description or said.error or f"HTTP {status}")[:200]
        raise LoginRefusedError(f"{self.settings.issuer} refused the login: {told}")

    def _read(self, body: bytes, kind: type[T]) -> T:
        try:
            return decode_json(body, kind)
        except msgspec.MsgspecError as error:
            what = f"its answer is none of an issuer: {error}"
            raise OutsideError(f"{self.settings.issuer}: {what}") from None

    async def _request(
        self, method: str, url: str, form: Mapping[str, str] | None
    ) -> tuple[int, bytes]:
        """One request: a person waits, and may ask again."""
        tls = await asyncio.to_thread(trusted_by, self.settings.certificate_authority)
        session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(), connector=aiohttp.TCPConnector(ssl=tls)
        )
        try:
            with passing(TIMEOUT_S):
                async with (
                    session,
                    session.request(
                        method,
                        url,
                        data=form,
                        headers={"Accept": "application/json", "User-Agent": "tidegate"},
                        proxy=proxy_for(url),
                        allow_redirects=False,
                        timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
                    ) as response,
                ):
                    return response.status, await bounded(response, BYTES_MAX)
        except PassingError as error:
            raise OutsideError(f"{self.settings.issuer}: {error}") from None


def _has(keys: KeySet, kid: str) -> bool:
    return any(each.kid == kid for each in keys.keys)


def _is_usable(key: object) -> bool:
    """Whether it checks signatures, and is not a shared secret."""
    if not isinstance(key, dict) or key.get("kty") not in _KEY_TYPES:
        return False
    return key.get("use") in (None, "sig")
