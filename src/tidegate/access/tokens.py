"""API tokens: facts of a chain of their own, so that each is created and revoked by a named actor.

A token is 256 random bits, so its SHA-256 cannot be turned back, and no slow hash is needed. It is
shown once, when it is created; the journal has the hash.
"""

import secrets
from hashlib import sha256

import msgspec

from tidegate.access.roles import Caller, Grant, GrantScope, Role
from tidegate.documents.scope_doc import selector_of
from tidegate.journal.fact import Fact, because, register
from tidegate.model.time import Instant, format_second

# The chain that tokens are in; no rollout is called so, for it is of no kind.
PARTITION = "access"
# What a token begins with, so that scanners for secrets recognise one.
PREFIX = "tidegate_"
TOKEN_BYTES = 32


def random_token() -> str:
    """A token that was never given out."""
    return PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


class TokenCreated(Fact, frozen=True, tag="tokenCreated", kw_only=True, omit_defaults=True):
    """A token was created: its hash, and what it may."""

    name: str
    hash: str
    role: Role
    kinds: tuple[str, ...] = ()
    rollouts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    organisations: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    # Of the labels of targets, as kubectl has it; empty: they do not matter.
    selector: str = ""
    # None: until it is revoked.
    expires_at: Instant | None = None
    reason: str = ""

    def line(self) -> str:
        """Its name, what it may, and until when."""
        until = "" if self.expires_at is None else f" until {format_second(self.expires_at)}"
        return f"token {self.name} created, {self.role.value}{until}{because(self.reason)}"


class TokenRevoked(Fact, frozen=True, tag="tokenRevoked", kw_only=True, omit_defaults=True):
    """A token was revoked."""

    name: str
    reason: str = ""

    def line(self) -> str:
        """Its name, and why."""
        return f"token {self.name} revoked{because(self.reason)}"


register(TokenCreated, TokenRevoked)


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One token: what it may, since when, and which actor created it."""

    created: TokenCreated
    at: Instant
    by: str
    revoked_at: Instant | None = None

    @property
    def grant(self) -> Grant:
        """What it may."""
        made = self.created
        scope = GrantScope(
            kinds=frozenset(made.kinds),
            rollouts=made.rollouts,
            organisations=made.organisations,
            environments=made.environments,
            groups=made.groups,
            selector=selector_of(made.selector) if made.selector else None,
        )
        return Grant(role=made.role, subjects=(f"token:{made.name}",), scope=scope)

    def works(self, now: Instant) -> bool:
        """Whether it can be used at a moment."""
        ends = self.created.expires_at
        return self.revoked_at is None and (ends is None or now < ends)


class TokenState(msgspec.Struct):
    """Every token there was, by name, and by hash."""

    by_name: dict[str, TokenRecord] = {}
    by_hash: dict[str, str] = {}


def fold_token(state: TokenState, at: Instant, fact: Fact, actor: str) -> TokenState:
    """Take one fact into account; facts that are not about tokens change nothing."""
    if isinstance(fact, TokenCreated):
        state.by_name[fact.name] = TokenRecord(created=fact, at=at, by=actor)
        state.by_hash[fact.hash] = fact.name
    elif isinstance(fact, TokenRevoked) and fact.name in state.by_name:
        known = state.by_name[fact.name]
        if known.revoked_at is None:
            state.by_name[fact.name] = msgspec.structs.replace(known, revoked_at=at)
    return state


def hash_of(token: str) -> str:
    """What is kept of a token."""
    return sha256(token.encode()).hexdigest()


def caller_of(state: TokenState, token: str, now: Instant) -> Caller | None:
    """The caller that a token stands for; None: it does not work."""
    return caller_by_hash(state, hash_of(token), now)


def caller_by_hash(state: TokenState, digest: str, now: Instant) -> Caller | None:
    """The caller of the token with this hash; None: it does not work."""
    name = state.by_hash.get(digest)
    known = state.by_name.get(name) if name is not None else None
    if known is None or known.created.hash != digest or not known.works(now):
        return None
    return Caller(
        actor=f"token:{known.created.name}",
        via=f"token {known.created.name}, sha256 {known.created.hash[:12]}",
        grants=(known.grant,),
        creator=known.by,
    )
