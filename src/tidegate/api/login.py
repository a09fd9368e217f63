"""How a caller is known: a bearer token of ours, held against the journal."""

import asyncio
from threading import Lock

from starlette.requests import Request

from tidegate.access.policy_doc import AccessPolicy
from tidegate.access.roles import Caller, grants_of
from tidegate.access.tokens import PARTITION, PREFIX, TokenState, caller_of, fold_token
from tidegate.api.problem import RequestError, unknown_caller
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Instant
from tidegate.store.port import Store


class TokenBook:
    """The tokens in the journal; what is read again is only what was added."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._state = TokenState()
        self._seq = 0

    def state(self) -> TokenState:
        """All tokens, as they are now."""
        with self._lock:
            for entry in self._store.read(PARTITION, after=self._seq):
                fold_token(self._state, entry.at, entry.fact(), entry.actor)
                self._seq = entry.seq
            return self._state


# How many requests a caller may send at once, and in a second after that.
BURST = 200
RATE = 100
# Beyond so many callers, those that sent nothing lately are forgotten.
CALLERS_MAX = 10_000


class CallerRates:
    """Keeps one caller from taking the service from all others: refuses, where it would wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # When all that a caller has sent would be done, at the rate it is allowed.
        self._done_at: dict[str, Instant] = {}

    def take(self, actor: str) -> None:
        """One more request of a caller; RequestError 429 if they are too many."""
        now, each = self._clock.now(), SECOND // RATE
        done = Instant(max(self._done_at.get(actor, now), now) + each)
        if done - now > BURST * each:
            detail = f"more than {RATE} requests a second; wait a second"
            headers = {"Retry-After": "1"}
            raise RequestError(429, "too-many", "Too many requests", detail, headers)
        if len(self._done_at) >= CALLERS_MAX:
            self._done_at = {name: at for name, at in self._done_at.items() if at > now}
        self._done_at[actor] = done


class Login:
    """Finds the caller of a request."""

    def __init__(self, store: Store, clock: Clock, policy: AccessPolicy) -> None:
        self._rates = CallerRates(clock)
        self._tokens = TokenBook(store)
        self._clock = clock
        self._policy = policy

    async def caller(self, request: Request) -> Caller:
        """The caller; RequestError 401 if there is no login, or one that does not work."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            raise unknown_caller("send Authorization: Bearer TOKEN")
        if scheme.lower() != "bearer" or not token.strip():
            raise unknown_caller(f'"{scheme}" is no scheme known here: send Bearer TOKEN')
        if not token.strip().startswith(PREFIX):
            raise unknown_caller("this is no token of Tidegate")
        found = await asyncio.to_thread(self._by_token, token.strip())
        if found is None:
            raise unknown_caller("the token is unknown, expired or revoked")
        self._rates.take(found.actor)
        return found

    def _by_token(self, token: str) -> Caller | None:
        found = caller_of(self._tokens.state(), token, self._clock.now())
        if found is None:
            return None
        more = grants_of(self._policy.grants, (found.actor,))
        return Caller(actor=found.actor, via=found.via, grants=(*found.grants, *more))
