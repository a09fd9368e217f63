"""An issuer of tokens for tests: all that a client sees of one, on keys that can be changed.

It logs the person in whom the test names, without a page: a real one is in `tests/real`.
"""

import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode

from joserfc import jwt
from joserfc.jwk import ECKey, Key
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT = "tidegate"


def now_s() -> int:
    """The time, in seconds."""
    return int(time.time())


class SmallIssuer:
    """One issuer; `url` is set once it listens."""

    def __init__(self) -> None:
        self.url = ""
        self.key: ECKey = ECKey.generate_key("P-256", {"kid": "k1", "use": "sig"})
        # What it publishes; a token may be signed with another.
        self.published: list[Key] = [self.key]
        self.person: dict[str, Any] = {
            "sub": "s-1",
            "email": "ann@example.com",
            "email_verified": True,
            "groups": ["payments"],
        }
        self.lasts_s = 3600
        self.asked: list[str] = []
        self.is_down = False
        self.metadata: dict[str, Any] = {}
        self._codes: dict[str, dict[str, str]] = {}
        self._refresh: dict[str, int] = {}
        self.pending = 1
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._described),
                Route("/keys", self._keys),
                Route("/auth", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/device", self._device, methods=["POST"]),
                Route("/revoke", self._revoke, methods=["POST"]),
            ]
        )

    def rotate(self, kid: str) -> None:
        """Sign with another key from now on, and publish that one only."""
        self.key = ECKey.generate_key("P-256", {"kid": kid, "use": "sig"})
        self.published = [self.key]

    def token(
        self, key: Key | None = None, header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A token; a claim that is None is left out."""
        found = {
            "iss": self.url,
            "aud": CLIENT,
            "exp": now_s() + self.lasts_s,
            "iat": now_s(),
            **self.person,
            **claims,
        }
        signing = key or self.key
        said = {"alg": "ES256", "kid": signing.kid, **(header or {})}
        kept = {name: value for name, value in found.items() if value is not None}
        return jwt.encode(said, kept, signing, algorithms=[said["alg"]])

    async def _described(self, _: Request) -> Response:
        self.asked.append("metadata")
        if self.is_down:
            return Response(status_code=503)
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/auth",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "device_authorization_endpoint": f"{self.url}/device",
            "revocation_endpoint": f"{self.url}/revoke",
            **self.metadata,
        }
        return JSONResponse(found)

    async def _keys(self, _: Request) -> Response:
        self.asked.append("keys")
        if self.is_down:
            return Response(status_code=503)
        return JSONResponse({"keys": [each.as_dict(private=False) for each in self.published]})

    async def _authorize(self, request: Request) -> Response:
        query = request.query_params
        code = f"code-{len(self._codes)}"
        self._codes[code] = dict(query)
        found = {"code": code, "state": query["state"]}
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(found)}", 303)

    async def _token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        self.asked.append(form["grant_type"])
        if self.is_down:
            return Response(status_code=503)
        if form["grant_type"] == "refresh_token":
            if self._refresh.pop(form["refresh_token"], None) is None:
                return JSONResponse({"error": "invalid_grant"}, 400)
            return self._gives(form["client_id"], "")
        if "device_code" in form:
            self.pending -= 1
            if self.pending >= 0:
                return JSONResponse({"error": "authorization_pending"}, 400)
            return self._gives(form["client_id"], "")
        begun = self._codes.pop(form["code"], None)
        if begun is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        digest = sha256(form["code_verifier"].encode()).digest()
        challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
        same = ("client_id", "redirect_uri")
        if challenge != begun["code_challenge"] or any(form[each] != begun[each] for each in same):
            return JSONResponse({"error": "invalid_grant"}, 400)
        return self._gives(form["client_id"], begun["nonce"])

    def _gives(self, client: str, nonce: str) -> Response:
        refresh = f"refresh-{len(self.asked)}"
        self._refresh[refresh] = 1
        token = self.token(aud=client, nonce=nonce or None)
        return JSONResponse({"id_token": token, "refresh_token": refresh, "token_type": "bearer"})

    async def _device(self, _: Request) -> Response:
        found = {"device_code": "d", "user_code": "ABCD", "verification_uri": f"{self.url}/go"}
        return JSONResponse({**found, "interval": 1, "expires_in": 60})

    async def _revoke(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        self._refresh.pop(form["token"], None)
        return Response()
