"""How a caller is known: by a token of ours, by an issuer, by a cluster, or by a browser's session.

Whatever cannot be checked is refused: a cluster or an issuer that does not answer lets no one in.
What was checked a moment ago is not asked again, so that known callers go on for a while.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request

from tidegate.access.accounts import bound, person, service_account, session_person
from tidegate.access.book import AccessBook
from tidegate.access.policy_doc import AccessPolicy
from tidegate.access.roles import Caller, grants_of
from tidegate.access.sessions import SessionStarted
from tidegate.access.tokens import PREFIX, hash_of
from tidegate.api.login.rates import CallerRates
from tidegate.api.problem import forbidden, unknown_caller, unread_journal
from tidegate.kubernetes.review_port import TokenReviews
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Instant
from tidegate.oidc.identity import LoginRefusedError
from tidegate.oidc.token import TOKEN_BYTES_MAX, claimed
from tidegate.store.port import Store

if TYPE_CHECKING:  # a client for HTTP, which is imported where an issuer is configured
    from tidegate.oidc.issuer import Issuer

# How long a cluster is not asked again about a token that it knows, and about one that it does not.
KNOWN = 60 * SECOND
UNKNOWN = 10 * SECOND
# Beyond so many tokens, what was learnt of them is forgotten.
REVIEWS_MAX = 10_000
_READS = ("GET", "HEAD")


# Has something done that reads the journal.
Turn = Callable[..., Awaitable[Any]]


class _Reviewed(msgspec.Struct, frozen=True):
    """What a cluster said of a token, and until when that counts."""

    until: Instant
    caller: Caller | None
    refusal: str = ""


class Login:
    """Finds the caller of a request."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        policy: AccessPolicy,
        issuer: "Issuer | None" = None,
        reviews: TokenReviews | None = None,
        turn: Turn = asyncio.to_thread,
    ) -> None:
        """`turn`: how the journal is read; of a file in the event loop (`live_journals.py`).

        Every caller is found after one, so that no answer is older than its request.
        """
        self._rates = CallerRates(clock)
        self.book = AccessBook(store)
        self._clock = clock
        self.policy = policy
        self.issuer = issuer
        self._reviews = reviews
        self._turn = turn
        self._reviewed: dict[str, _Reviewed] = {}

    @property
    def cookie(self) -> str:
        """The name of the cookie of sessions; browsers hold one that begins with __Host- safer."""
        oidc = self.policy.oidc
        safe = oidc is not None and oidc.url.startswith("https://")
        return "__Host-tidegate-session" if safe else "tidegate-session"

    @property
    def now(self) -> Instant:
        """The time by which logins begin and end."""
        return self._clock.now()

    async def close(self) -> None:
        """Close the connections to the cluster."""
        if self._reviews is not None:
            await self._reviews.close()

    async def caller(self, request: Request) -> Caller:
        """The caller; RequestError 401 if there is no login, or one that does not work."""
        found = await self._found(request)
        self._rates.take(found.actor)
        return found

    async def again(self, request: Request) -> Caller:
        """The caller of a stream that goes on: no further request, but the login may be over."""
        return await self._found(request)

    async def _found(self, request: Request) -> Caller:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            cookie = request.cookies.get(self.cookie, "")
            if not cookie:
                raise unknown_caller("send Authorization: Bearer TOKEN")
            return await self.by_session(request, cookie)
        if scheme.lower() != "bearer" or not token.strip():
            raise unknown_caller(f'"{scheme}" is no scheme known here: send Bearer TOKEN')
        token = token.strip()
        if token.startswith(PREFIX):
            return await self.by_token(token)
        try:
            return await self._by_others(token)
        except LoginRefusedError as error:
            raise unknown_caller(str(error)) from None

    async def _read(self, work: Callable[..., Any], *args: Any) -> Any:
        """What the journal says of a login; who is not known yet is not told where it is."""
        try:
            return await self._turn(work, *args)
        except OutsideError as error:
            raise unread_journal() from error

    async def by_token(self, token: str) -> Caller:
        """The caller of a token of ours; RequestError 401 if it does not work."""
        found = await self._read(self.book.by_token, token, self._clock.now())
        if found is None:
            raise unknown_caller("the token is unknown, expired or revoked")
        return self._granted(found)

    def _granted(self, found: Caller) -> Caller:
        """A token with what the policy file grants it beside its own role."""
        more = grants_of(self.policy.grants, (found.actor,))
        return bound(replace(found, grants=(*found.grants, *more)), self.policy)

    async def session(self, cookie: str) -> SessionStarted | None:
        """The session of a cookie; None: there is none, or it is over."""
        found: SessionStarted | None = await self._read(
            self.book.by_session, cookie, self._clock.now()
        )
        return found

    async def by_session(self, request: Request, cookie: str) -> Caller:
        """The person of a browser; a write must be asked for by a page of this service."""
        found = await self.session(cookie)
        if found is None or (self.policy.oidc is None and not found.token):
            raise unknown_caller("the session is over: log in again at /auth/login")
        oidc = self.policy.oidc
        if oidc is not None and not found.token and found.issuer != oidc.settings.issuer:
            raise unknown_caller("the session is of another issuer: log in again at /auth/login")
        if request.method not in _READS and not self.is_of_our_page(request):
            raise forbidden("this write was not asked for by a page of this service")
        if found.token:
            return await self._by_token_session(found)
        return session_person(found, self.policy)

    async def _by_token_session(self, session: SessionStarted) -> Caller:
        """The caller of a token that a browser logged in with; it must still work."""
        now = self._clock.now()
        found = await self._read(self.book.by_token_hash, session.token, now)
        if found is None:
            raise unknown_caller("the token of this session is expired or revoked: log in again")
        via = f"{found.via}, session {session.hash[:12]}"
        return self._granted(Caller(actor=found.actor, via=via, grants=found.grants))

    def is_of_our_page(self, request: Request) -> bool:
        """Browsers say where a request is from; one that says nothing must name its origin."""
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site == "same-origin"
        oidc = self.policy.oidc
        origin = request.headers.get("origin", "")
        if oidc is not None and oidc.url:
            return bool(origin) and origin == origin_of(oidc.url)
        host = request.headers.get("host", "")
        return bool(host) and origin in (f"http://{host}", f"https://{host}")

    async def _by_others(self, token: str) -> Caller:
        """A token that is not ours: the issuer's, if it says so, or else a service account's."""
        issued_by = claimed(token, "iss")
        if not issued_by or len(token) > TOKEN_BYTES_MAX:
            raise LoginRefusedError("this is no token of Tidegate")
        await self._read(_nothing)
        if self.issuer is not None and issued_by == self.issuer.settings.issuer:
            return person(await self.issuer.identity(token), self.policy)
        if self._reviews is None:
            raise LoginRefusedError("this is no token of Tidegate, nor of an issuer it knows")
        return await self._by_review(self._reviews, token)

    async def _by_review(self, reviews: TokenReviews, token: str) -> Caller:
        key, now = hash_of(token), self._clock.now()
        known = self._reviewed.get(key)
        if known is None or now >= known.until:
            known = await self._review(reviews, token)
            if len(self._reviewed) >= REVIEWS_MAX:
                self._reviewed.clear()
            self._reviewed[key] = known
        if known.caller is None:
            raise LoginRefusedError(known.refusal)
        return known.caller

    async def _review(self, reviews: TokenReviews, token: str) -> _Reviewed:
        assert self.policy.kubernetes is not None, "reviews are made for a policy that has it"
        audience, now = self.policy.kubernetes.audience, self._clock.now()
        found = await reviews.review(token, audience)
        try:
            caller = service_account(found, audience, reviews.name, self.policy)
        except LoginRefusedError as error:
            return _Reviewed(Instant(now + UNKNOWN), None, str(error))
        return _Reviewed(Instant(now + KNOWN), caller)


def _nothing() -> None:
    """Read nothing of the journal, when it is its turn."""


def origin_of(url: str) -> str:
    """An address without its path, as browsers name origins."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
