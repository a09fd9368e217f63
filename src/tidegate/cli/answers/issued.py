"""Tokens that an issuer gave to a command line: got by a login, renewed before they end."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec.structs import replace

from tidegate.cli.answers.contexts import (
    IssuedLogin,
    ServiceContext,
    locked_contexts,
    read_contexts,
    replaced,
)
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import SECOND
from tidegate.oidc.command_line import device_login, loopback_login
from tidegate.oidc.identity import IssuerSettings, LoginRefusedError
from tidegate.oidc.issuer import DeviceCode, GivenTokens, Issuer
from tidegate.oidc.token import expiry_of
from tidegate.wiring import clock

# A token is renewed so long before its end.
EARLY = 60 * SECOND


def issuer_of(login: IssuedLogin) -> Issuer:
    """The issuer of a login, as a command line sees it: it checks what it is given."""
    settings = IssuerSettings(issuer=login.issuer, client_id=login.client_id, scopes=login.scopes)
    return Issuer(settings, clock())


def browser_tokens(login: IssuedLogin, show: Callable[[str], None]) -> GivenTokens:
    """Tokens by a browser on this machine."""
    return _run(login, loopback_login(issuer_of(login), login.client_id, show))


def device_tokens(login: IssuedLogin, show: Callable[[DeviceCode], None]) -> GivenTokens:
    """Tokens by a browser on another machine."""
    return _run(login, device_login(issuer_of(login), login.client_id, show))


def renewed(context: ServiceContext) -> ServiceContext:
    """The same service with a token that is good for a while; UserError if the login is over."""
    if not _ends_soon(context):
        return context
    with locked_contexts():
        # Another command may have renewed it meanwhile.
        every = read_contexts().contexts
        known = next((each for each in every if each.name == context.name), context)
        login = known.login
        if login is None or not _ends_soon(known):
            return known
        if not login.refresh_token:
            raise _over(known, "its token ended, and the issuer gave none to renew it")
        try:
            given = asyncio.run(issuer_of(login).refreshed(login.client_id, login.refresh_token))
        except LoginRefusedError as error:
            raise _over(known, str(error)) from None
        login = replace(login, refresh_token=given.refresh_token)
        known = replace(known, token=given.id_token, login=login)
        replaced(known)
        return known


def revoked(login: IssuedLogin) -> bool:
    """End a login at its issuer; False: the issuer has no way to."""
    if not login.refresh_token:
        return False
    return asyncio.run(issuer_of(login).revoke(login.client_id, login.refresh_token))


def _ends_soon(context: ServiceContext) -> bool:
    ends = expiry_of(context.token)
    return ends is not None and clock().now() >= ends - EARLY


def _over(context: ServiceContext, why: str) -> UserError:
    remedy = f"`tidegate login {context.server}`"
    return UserError((Problem(context.server, f"the login is over: {why}", remedy),))


def _run(login: IssuedLogin, asked: Coroutine[Any, Any, GivenTokens]) -> GivenTokens:
    try:
        return asyncio.run(asked)
    except LoginRefusedError as error:
        raise UserError((Problem(login.issuer, str(error)),)) from None
