"""The tokens and sessions in the journal, for a process that is asked again and again."""

from threading import Lock

from tidegate.access.roles import Caller
from tidegate.access.sessions import SessionStarted, SessionState, fold_session, session_of
from tidegate.access.tokens import PARTITION, TokenState, caller_by_hash, caller_of, fold_token
from tidegate.model.time import Instant
from tidegate.store.port import Store


class AccessBook:
    """What is read again is only what was added."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._tokens = TokenState()
        self._sessions = SessionState()
        self._seq = 0

    def by_token(self, token: str, now: Instant) -> Caller | None:
        """The caller that a token is of; None: it does not work."""
        with self._lock:
            self._read()
            return caller_of(self._tokens, token, now)

    def by_token_hash(self, digest: str, now: Instant) -> Caller | None:
        """The caller of the token with this hash; None: it does not work."""
        with self._lock:
            self._read()
            return caller_by_hash(self._tokens, digest, now)

    def by_session(self, cookie: str, now: Instant) -> SessionStarted | None:
        """The session of a cookie; None: there is none, or it is over."""
        with self._lock:
            self._read()
            return session_of(self._sessions, cookie, now)

    def _read(self) -> None:
        for entry in self._store.read(PARTITION, after=self._seq):
            fact = entry.fact()
            fold_token(self._tokens, entry.at, fact, entry.actor)
            fold_session(self._sessions, entry.at, fact)
            self._seq = entry.seq
