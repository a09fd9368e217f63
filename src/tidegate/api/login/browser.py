"""Logins by a browser: to the issuer and back with a code, then a session with a cookie.

What a login is begun with travels in a cookie of that browser, so that any replica can finish it.
"""

import asyncio
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from tidegate.access.login_doc import SESSION, OidcLogin
from tidegate.access.sessions import SESSION_PREFIX, SessionEnded, SessionStarted
from tidegate.access.tokens import PARTITION, hash_of
from tidegate.api.login.login import Login
from tidegate.api.login.offer import PATH, LoginOffer
from tidegate.api.problem import RequestError, bad_request, forbidden, unknown_caller
from tidegate.journal.chain import JournalNote
from tidegate.model.errors import TidegateError
from tidegate.model.json_text import decode_json
from tidegate.model.time import SECOND, Instant
from tidegate.oidc.identity import LoginRefusedError
from tidegate.oidc.login_secrets import LoginSecrets, new_secrets
from tidegate.store.port import Store

if TYPE_CHECKING:
    from tidegate.oidc.issuer import Issuer

# How long a person may take at the issuer.
LOGIN_S = 600
# Logins that are finished at once: each asks the issuer.
FINISHES_MAX = 10
SESSION_BYTES = 32
# Forms are a reason and a few names.
FORM_MAX = 1 << 16
FIELDS_MAX = 200


class BrowserLogin:
    """The routes below /auth."""

    def __init__(
        self,
        store: Store,
        login: Login,
        problem: Callable[[Request, TidegateError], Response],
    ) -> None:
        self._store = store
        self._login = login
        self._problem = problem
        self._finishing = asyncio.Semaphore(FINISHES_MAX)

    def routes(self) -> list[BaseRoute]:
        """All of them, for Starlette."""
        return [
            Route(PATH, self._caught(self._offer)),
            Route("/auth/login", self._caught(self._begin)),
            Route("/auth/callback", self._caught(self._finish)),
            Route("/auth/token", self._caught(self._by_token), methods=["POST"]),
            Route("/auth/logout", self._caught(self._end), methods=["POST"]),
        ]

    def _caught(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[..., Any]:
        async def handle(request: Request) -> Response:
            try:
                found = await answer(request)
            except LoginRefusedError as error:
                return self._problem(request, unknown_caller(str(error)))
            except TidegateError as error:
                return self._problem(request, error)
            found.headers["Cache-Control"] = "no-store"
            return found

        return handle

    async def _offer(self, _: Request) -> Response:
        oidc, offer = self._login.policy.oidc, LoginOffer()
        if oidc is not None:
            settings = oidc.settings
            offer = LoginOffer(
                issuer=settings.issuer,
                client_id=settings.command_line_client,
                scopes=settings.scopes,
                browser=bool(oidc.url),
            )
        return Response(msgspec.json.encode(offer) + b"\n", media_type="application/json")

    async def _begin(self, request: Request) -> Response:
        oidc, issuer = self._oidc()
        begun = new_secrets(_local(request.query_params.get("next", "/")))
        where = await issuer.authorization_url(
            oidc.settings.client_id, self._redirect(oidc), **begun.asked()
        )
        answer = RedirectResponse(where, 303)
        self._set(answer, self._begun_cookie, _packed(begun), LOGIN_S)
        return answer

    async def _finish(self, request: Request) -> Response:
        oidc, issuer = self._oidc()
        query = request.query_params
        begun = _unpacked(request.cookies.get(self._begun_cookie, ""))
        if begun is None or not secrets.compare_digest(begun.state, query.get("state", "")):
            raise LoginRefusedError("this login was not begun here, or too long ago: begin again")
        if "error" in query:
            told = (query.get("error_description") or query["error"])[:200]
            raise LoginRefusedError(f"{issuer.settings.issuer} refused the login: {told}")
        if not query.get("code"):
            raise bad_request("is missing", "code")
        async with self._finishing:
            given = await issuer.exchanged(
                oidc.settings.client_id,
                oidc.settings.client_secret,
                query["code"],
                self._redirect(oidc),
                begun.verifier,
            )
            known = await issuer.identity(given.id_token, nonce=begun.nonce)
        cookie, now = _new_cookie(), self._login.now
        fact = SessionStarted(
            hash=hash_of(cookie),
            issuer=known.issuer,
            subject=known.subject,
            name=known.name,
            groups=known.groups,
            expires_at=Instant(now + oidc.session),
        )
        await self._record(now, f"user:{known.name}", fact)
        answer = RedirectResponse(_local(begun.next), 303)
        self._set(answer, self._login.cookie, cookie, oidc.session // SECOND)
        self._set(answer, self._begun_cookie, "", 0)
        return answer

    async def _by_token(self, request: Request) -> Response:
        """A session for a token of ours, which a form sends; a token that is wrong: the form."""
        if not self._login.is_of_our_page(request):
            raise forbidden("this login was not asked for by a page of this service")
        sent = await form_fields(request)
        token, back = sent.get("token", "").strip(), _local(sent.get("next", "/"))
        try:
            return await self.begin_session(request, token, back)
        except RequestError:
            self._problem(request, unknown_caller("the token is unknown, expired or revoked"))
            return RedirectResponse(f"/login?{urlencode({'wrong': '1', 'next': back})}", 303)

    async def begin_session(self, request: Request, token: str, back: str) -> Response:
        """A session for a token of ours, and where to go; RequestError 401 if it does not work."""
        found = await self._login.by_token(token)
        cookie, now = _new_cookie(), self._login.now
        fact = SessionStarted(
            hash=hash_of(cookie),
            issuer="",
            subject="",
            name=found.actor.partition(":")[2],
            token=hash_of(token),
            expires_at=Instant(now + SESSION),
        )
        await self._record(now, found.actor, fact)
        answer = RedirectResponse(back, 303)
        safe = request.url.scheme == "https"
        self._set(answer, self._login.cookie, cookie, SESSION // SECOND, safe=safe)
        return answer

    async def _end(self, request: Request) -> Response:
        cookie = request.cookies.get(self._login.cookie, "")
        answer = RedirectResponse("/", 303)
        self._set(answer, self._login.cookie, "", 0)
        if not cookie:
            return answer
        now = self._login.now
        found = await self._login.session(cookie)
        if found is not None:
            await self._login.by_session(request, cookie)  # another page must not log out
            fact = SessionEnded(hash=found.hash, name=found.name)
            await self._record(now, f"{'token' if found.token else 'user'}:{found.name}", fact)
        return answer

    async def _record(self, now: Instant, actor: str, fact: SessionStarted | SessionEnded) -> None:
        note = JournalNote(now, actor, fact)
        await asyncio.to_thread(self._store.append, PARTITION, [note])

    def _oidc(self) -> "tuple[OidcLogin, Issuer]":
        oidc, issuer = self._login.policy.oidc, self._login.issuer
        if oidc is None or issuer is None or not oidc.url:
            detail = "this service has no login by browser: set oidc.url in its policy file"
            raise RequestError(404, "no-login", "No login by browser", detail)
        return oidc, issuer

    @property
    def _begun_cookie(self) -> str:
        return self._login.cookie.replace("session", "login")

    def _redirect(self, oidc: OidcLogin) -> str:
        return f"{oidc.url}/auth/callback"

    def _set(
        self, answer: Response, name: str, value: str, seconds: int, *, safe: bool = False
    ) -> None:
        secure = safe or name.startswith("__Host-")
        answer.set_cookie(
            name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax"
        )


def _new_cookie() -> str:
    return SESSION_PREFIX + secrets.token_urlsafe(SESSION_BYTES)


async def form_fields(request: Request) -> dict[str, str]:
    """The fields of a form, the last of each name; RequestError 413 or 415 if it is none."""
    return {name: values[-1] for name, values in (await form_values(request)).items()}


async def form_values(request: Request) -> dict[str, list[str]]:
    """The fields of a form with every value; RequestError 413 or 415 if it is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RequestError(415, "type", "No form", f'"{kind}" is no form')
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > FORM_MAX:
            raise RequestError(413, "long", "Too long", f"longer than {FORM_MAX} bytes")
    try:
        text = raw.decode()
        return parse_qs(text, keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError:
        raise bad_request("the form cannot be read") from None


def _local(path: str) -> str:
    """Where to go after a login: a path of this service, never another address."""
    fine = path.startswith("/") and path.isprintable() and not any(each in path for each in "\\")
    return path if fine and not path.startswith("//") else "/"


def _packed(begun: LoginSecrets) -> str:
    return urlsafe_b64encode(msgspec.json.encode(begun)).decode().rstrip("=")


def _unpacked(cookie: str) -> LoginSecrets | None:
    try:
        raw = urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4))
        found = decode_json(raw, LoginSecrets)
    except ValueError:
        return None
    return found if found.state and found.nonce and found.verifier else None
