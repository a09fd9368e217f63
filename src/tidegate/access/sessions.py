"""Sessions of browsers: facts beside those of tokens, so that they survive a restart and are known
to every replica.

A session has a fixed end. Its cookie is 256 random bits, of which the journal has the SHA-256.
"""

import msgspec

from tidegate.access.tokens import hash_of
from tidegate.journal.fact import Fact, register
from tidegate.model.time import Instant, format_second

# What the cookie begins with, so that scanners for secrets recognise one.
SESSION_PREFIX = "tidegate_session_"


class SessionStarted(Fact, frozen=True, tag="sessionStarted", kw_only=True, omit_defaults=True):
    """A person logged in with a browser."""

    hash: str
    # As the issuer has it: the journal names the person by `name`. Empty: by a token of ours.
    issuer: str
    subject: str
    name: str
    # Of a session by a token: the hash of the token, which ends the session when it is revoked.
    token: str = ""
    groups: tuple[str, ...] = ()
    expires_at: Instant

    def line(self) -> str:
        """The person, by which issuer they are known, and until when."""
        until = format_second(self.expires_at)
        by = f"token {self.name}" if self.token else self.issuer
        return f"{self.name} logged in by {by}, until {until}"


class SessionEnded(Fact, frozen=True, tag="sessionEnded", kw_only=True, omit_defaults=True):
    """A person logged out, or another ended their session."""

    hash: str
    name: str
    # Why another ended it; empty: the person did.
    reason: str = ""

    def line(self) -> str:
        """The person, and why."""
        if self.reason:
            return f"a session of {self.name} was ended: {self.reason}"
        return f"{self.name} logged out"


register(SessionStarted, SessionEnded)


class SessionState(msgspec.Struct):
    """The sessions that have not ended, by the hash of their cookie."""

    by_hash: dict[str, SessionStarted] = {}


def fold_session(state: SessionState, at: Instant, fact: Fact) -> SessionState:
    """Take one fact into account; what is over is forgotten when another begins."""
    if isinstance(fact, SessionStarted):
        over = [key for key, each in state.by_hash.items() if each.expires_at <= at]
        for key in over:
            del state.by_hash[key]
        state.by_hash[fact.hash] = fact
    elif isinstance(fact, SessionEnded):
        state.by_hash.pop(fact.hash, None)
    return state


def session_of(state: SessionState, cookie: str, now: Instant) -> SessionStarted | None:
    """The session of a cookie; None: there is none, or it is over."""
    found = state.by_hash.get(hash_of(cookie))
    return found if found is not None and now < found.expires_at else None
