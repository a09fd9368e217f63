"""API tokens created, listed and revoked: acts on the journal, like every other."""

import msgspec

from tidegate.access.roles import Role
from tidegate.access.tokens import (
    PARTITION,
    TokenCreated,
    TokenRecord,
    TokenRevoked,
    TokenState,
    fold_token,
    hash_of,
)
from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import read_kinds, selector_of
from tidegate.journal.chain import JournalNote
from tidegate.model.document import Document, Part, fields_of, instant_text
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, Problems, nearest_or_all
from tidegate.model.time import Instant, format_instant
from tidegate.store.port import Store


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A token to be created: what it may, where, and until when."""

    name: str
    role: Role
    kinds: tuple[str, ...] = ()
    rollouts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    organisations: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    # Of the labels of targets, as kubectl has it.
    selector: str = ""
    # None: until it is revoked.
    expires_at: Instant | None = None
    reason: str


class TokenRow(Part, frozen=True, kw_only=True):
    """One token: what it may, and until when."""

    name: str
    role: str
    # What it is for; empty: everything.
    kinds: tuple[str, ...]
    rollouts: tuple[str, ...]
    groups: tuple[str, ...]
    organisations: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    selector: str = ""
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    # Whether it can be used now.
    works: bool
    reason: str


class TokenList(Document, frozen=True, kw_only=True):
    """API tokens, by name; what they are is not known here."""

    items: tuple[TokenRow, ...]


class NewToken(Document, frozen=True, kw_only=True):
    """A token that was created: this is the one time that it is shown."""

    token: str
    row: TokenRow


def read_tokens(store: Store) -> TokenState:
    """Every token there was."""
    state = TokenState()
    for entry in store.read(PARTITION):
        fold_token(state, entry.at, entry.fact(), entry.actor)
    return state


def token_list(store: Store, now: Instant) -> TokenList:
    """Every token there was, by name."""
    known = read_tokens(store).by_name
    return TokenList(items=tuple(_row(known[name], now) for name in sorted(known)))


def create_token(
    store: Store, request: TokenRequest, token: str, now: Instant, actor: str
) -> NewToken:
    """Record a token; UserError if one of this name is in use."""
    head = store.head(PARTITION)
    made = checked_token(store, request, hash_of(token), now)
    store.append(PARTITION, [JournalNote(now, actor, made)], after=head)
    return NewToken(token=token, row=token_row(made, now, actor))


def checked_token(store: Store, request: TokenRequest, digest: str, now: Instant) -> TokenCreated:
    """The fact of a token that may be created; UserError if one of this name is in use."""
    if not request.name.strip():
        raise UserError((Problem("name", "is empty", "write what the token is for"),))
    try:
        _ = selector_of(request.selector) if request.selector else None
    except ValueError as error:
        raise UserError((Problem("selector", str(error)),)) from None
    # As in a policy file: a token for a kind that there is not would see nothing, and not say why.
    reader = Reader({"kinds": list(request.kinds)}, "", Problems())
    read_kinds(reader)
    if reader.problems.errors:
        raise UserError(tuple(reader.problems.errors))
    made = TokenCreated(**fields_of(request), hash=digest)
    known = read_tokens(store).by_name.get(made.name)
    if known is not None and known.works(now):
        remedy = f"`tidegate token revoke {made.name}`, or another name"
        raise UserError((Problem("", f'token "{made.name}" is in use', remedy),))
    return made


def known_token(store: Store, name: str, now: Instant) -> TokenRow:
    """A token that may be revoked; NotFoundError names the nearest that works."""
    known = read_tokens(store).by_name
    record = known.get(name)
    if record is None or record.revoked_at is not None:
        there = sorted(each for each, one in known.items() if one.revoked_at is None)
        raise NotFoundError("token", name, nearest_or_all(name, there))
    return _row(record, now)


def revoke_token(store: Store, name: str, reason: str, now: Instant, actor: str) -> TokenList:
    """Revoke a token; NotFoundError names the nearest that works."""
    known_token(store, name, now)
    store.append(PARTITION, [JournalNote(now, actor, TokenRevoked(name=name, reason=reason))])
    return TokenList(items=(_row(read_tokens(store).by_name[name], now),))


def token_row(made: TokenCreated, now: Instant, actor: str) -> TokenRow:
    """A token that is created now."""
    return _row(TokenRecord(created=made, at=now, by=actor), now)


def _row(record: TokenRecord, now: Instant) -> TokenRow:
    made = record.created
    return TokenRow(
        name=made.name,
        role=made.role.value,
        kinds=made.kinds,
        rollouts=made.rollouts,
        groups=made.groups,
        organisations=made.organisations,
        environments=made.environments,
        selector=made.selector,
        created_at=format_instant(record.at),
        created_by=record.by,
        expires_at=instant_text(made.expires_at),
        revoked_at=instant_text(record.revoked_at),
        works=record.works(now),
        reason=made.reason,
    )
