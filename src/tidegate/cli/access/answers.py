"""Tokens and sessions of a service, in its journal or through its API: the same documents."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from tidegate.access.tokens import hash_of, random_token
from tidegate.app.access.sessions import SessionList, end_sessions, session_list
from tidegate.app.access.tokens import (
    NewToken,
    TokenList,
    TokenRequest,
    create_token,
    revoke_token,
    token_list,
)
from tidegate.cli.answers.place import AnswerPlace, service_client
from tidegate.cli.live import actor, opened
from tidegate.model.document import fields_of
from tidegate.model.time import format_instant
from tidegate.store.archive_port import Archive
from tidegate.wiring import clock

if TYPE_CHECKING:
    from tidegate.api.client.service import ServiceClient

# A token or a session moves no target: no plan is named.
_ANY = "*"


class AccessAnswers(Protocol):
    """Tokens and sessions, wherever they are kept."""

    def tokens(self) -> TokenList:
        """As `app.access.tokens.token_list`."""
        ...

    def create_token(self, request: TokenRequest) -> NewToken:
        """As `app.access.tokens.create_token`; the token is made here."""
        ...

    def revoke_token(self, name: str, reason: str) -> TokenList:
        """As `app.access.tokens.revoke_token`."""
        ...

    def sessions(self) -> SessionList:
        """As `app.access.sessions.session_list`."""
        ...

    def end_sessions(self, name: str, reason: str) -> SessionList:
        """As `app.access.sessions.end_sessions`."""
        ...


@contextmanager
def access_answers(place: AnswerPlace, *, writes: bool = False) -> Iterator[AccessAnswers]:
    """Those of a service, if one is set or logged in to; else those of a journal."""
    client = service_client(place)
    if client is not None:
        yield ServiceAccess(client)
        return
    with opened(place.database, writes=writes) as store:
        yield JournalAccess(store)


class JournalAccess:
    """Tokens and sessions in a journal that this machine can open."""

    def __init__(self, store: Archive) -> None:
        self._store = store

    def tokens(self) -> TokenList:
        """Every token there was."""
        return token_list(self._store, clock().now())

    def create_token(self, request: TokenRequest) -> NewToken:
        """Record a token."""
        return create_token(self._store, request, random_token(), clock().now(), actor())

    def revoke_token(self, name: str, reason: str) -> TokenList:
        """Record that a token is revoked."""
        return revoke_token(self._store, name, reason, clock().now(), actor())

    def sessions(self) -> SessionList:
        """Every session that has not ended."""
        return session_list(self._store, clock().now())

    def end_sessions(self, name: str, reason: str) -> SessionList:
        """Record that sessions are over."""
        return end_sessions(self._store, name, reason, clock().now(), actor())


class ServiceAccess:
    """Tokens and sessions of a service, by its API."""

    def __init__(self, client: "ServiceClient") -> None:
        self._client = client

    def tokens(self) -> TokenList:
        """Every token there was."""
        return self._client.get("/tokens", {}, TokenList)

    def create_token(self, request: TokenRequest) -> NewToken:
        """Send the hash of a token: the token itself does not leave this machine."""
        token, said = random_token(), fields_of(request)
        name, ends = said.pop("name"), said.pop("expires_at")
        body = {**said, "hash": hash_of(token), "expires": format_instant(ends) if ends else ""}
        found = self._client.act(f"/token/{name}", body, _ANY, TokenList)
        return NewToken(token=token, row=found.items[0])

    def revoke_token(self, name: str, reason: str) -> TokenList:
        """Have a token revoked."""
        return self._client.act(f"/revoke-token/{name}", {"reason": reason}, _ANY, TokenList)

    def sessions(self) -> SessionList:
        """Every session that has not ended."""
        return self._client.get("/sessions", {}, SessionList)

    def end_sessions(self, name: str, reason: str) -> SessionList:
        """Have sessions ended."""
        return self._client.act(f"/end-session/{name}", {"reason": reason}, _ANY, SessionList)
