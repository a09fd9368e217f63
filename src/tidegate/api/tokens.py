"""Tokens by the API: its caller makes the token, and sends the SHA-256 of it.

So neither the journal, which keeps what an act was answered with, nor anything between the caller
and this service ever has a token that works.
"""

from typing import Annotated

from msgspec import Meta

from tidegate.access.roles import Caller, Right, Role, refusal
from tidegate.access.tokens import PARTITION, TokenCreated, TokenRevoked
from tidegate.api.problem import bad_request, forbidden
from tidegate.api.questions import NoQuery
from tidegate.api.route import (
    ActRoute,
    PreparedAct,
    QuestionRoute,
    RouteAct,
    RouteBody,
    RouteQuestion,
)
from tidegate.app.access.tokens import (
    TokenList,
    TokenRequest,
    checked_token,
    known_token,
    token_list,
    token_row,
)
from tidegate.journal.fact import Fact
from tidegate.model.document import Document, fields_of
from tidegate.model.time import parse_ahead


class TokenBody(RouteBody, frozen=True):
    """What a token may, where, and until when."""

    # The SHA-256 of the token, which begins with `tidegate_` and has 256 random bits.
    hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    role: Role
    kinds: tuple[str, ...] = ()
    rollouts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    organisations: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    # Of the labels of targets.
    selector: str = ""
    # 90d, or a time; empty: until it is revoked.
    expires: str = ""


def tokens(ask: RouteQuestion[NoQuery]) -> TokenList:
    """Every token there was, and what it may; what it is, is not known here."""
    check_unlimited(ask.caller, "list tokens")
    return token_list(ask.archive, ask.every.now)


def token(act: RouteAct[TokenBody]) -> PreparedAct:
    """Create a token by its hash."""
    check_unlimited(act.caller, "create tokens")
    body, now = act.body, act.every.now
    try:
        ends = parse_ahead(body.expires, now) if body.expires else None
    except ValueError as error:
        raise bad_request(f'"{body.expires}" {error}', "expires") from None
    said = {key: each for key, each in fields_of(body).items() if key not in ("hash", "expires")}
    request = TokenRequest(name=act.name, expires_at=ends, **said)
    made = checked_token(act.every.store, request, body.hash, now)
    return _prepared(made, TokenList(items=(token_row(made, now, act.caller.actor),)))


def revoke_token(act: RouteAct[RouteBody]) -> PreparedAct:
    """Revoke a token: it and its sessions work no more."""
    check_unlimited(act.caller, "revoke tokens")
    row = known_token(act.every.store, act.name, act.every.now)
    fact = TokenRevoked(name=act.name, reason=act.body.reason)
    return _prepared(fact, TokenList(items=(row,)))


def check_unlimited(caller: Caller, what: str) -> None:
    """RequestError 403 if a caller is kept from anything: names of people are not for it."""
    if why := refusal(caller, Right.ADMINISTER, None, what):
        raise forbidden(why)


def access_act(facts: tuple[Fact, ...], said: Document, rows: dict[str, str]) -> PreparedAct:
    """An act on tokens or sessions: it shows what it answers with, and is about all there is."""
    return PreparedAct(
        partition=PARTITION, facts=facts, reach=said, answer=said, rows=rows, reached=None
    )


def _prepared(fact: TokenCreated | TokenRevoked, said: TokenList) -> PreparedAct:
    rows = {each.name: f"{each.role}, works: {each.works}" for each in said.items}
    return access_act((fact,), said, rows)


TOKEN_QUESTIONS = (QuestionRoute("/tokens", tokens, (TokenList,), Right.ADMINISTER),)
# A token moves no target: no plan is named.
TOKEN_ACTS = (
    ActRoute("/token/{name}", token, (TokenList,), Right.ADMINISTER, stops=True),
    ActRoute("/revoke-token/{name}", revoke_token, (TokenList,), Right.ADMINISTER, stops=True),
)
