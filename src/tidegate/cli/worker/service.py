"""The API of `serve`: its routes over the journal, its policy, and its first admin token."""

import os
from pathlib import Path

from msgspec.structs import replace

from tidegate import __version__
from tidegate.access.policy_doc import AccessPolicy
from tidegate.access.roles import Role
from tidegate.access.tokens import random_token
from tidegate.api.dispatch import Api, Refused
from tidegate.api.live.live_journals import LiveJournals
from tidegate.api.login.login import Login
from tidegate.api.route_table import ACTS, QUESTIONS
from tidegate.api.server import TlsFiles
from tidegate.app.access.policy import load_policy
from tidegate.app.access.tokens import TokenRequest, create_token, token_list
from tidegate.kind_table import rules_of
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem
from tidegate.net.picture_links import PictureLinks
from tidegate.page.pages import ServicePages
from tidegate.settings.settings import Settings, revealed
from tidegate.store.archive_port import Archive
from tidegate.wiring import clock
from tidegate.wiring.outside import token_reviews

ADMIN = "admin"
_SUFFIX = ".admin-token"


def make_service(
    archive: Archive,
    policy: AccessPolicy,
    refused: Refused,
    time: Clock | None = None,
    note: str = "",
    *,
    here: bool = False,
    follows: bool = False,
    pictures: PictureLinks | None = None,
) -> tuple[Api, ServicePages]:
    """Everything that is asked and done over HTTP: by programs, and by people on the page.

    `time` is the clock of the fleets, if it is not that of this machine, and `note` says so on
    every page; logins begin and end by that of the machine. `here`: the archive is a file of this
    machine; `follows`: it is on a server. `pictures`: links that need no login; None: there are
    none.
    """
    live = LiveJournals(archive, rules_of, time or clock(), here=here, follows=follows)
    issuer = None
    if policy.oidc is not None:
        from tidegate.oidc.issuer import Issuer

        issuer = Issuer(policy.oidc.settings, clock())
    account = policy.kubernetes
    reviews = None
    if account is not None:
        reviews = token_reviews(account.context or None, account.kubeconfig or None)
    login = Login(live.seen, clock(), policy, issuer, reviews, live.turn)
    api = Api(live, login, QUESTIONS, ACTS, __version__, refused)
    return api, ServicePages(live, login, ACTS, refused, note, pictures)


def access_policy(settings: Settings) -> AccessPolicy:
    """The policy of the file, if one is named; UserError lists all that is wrong with it."""
    if not settings.access_policy:
        return AccessPolicy()
    found = load_policy(settings.access_policy)
    if found.oidc is None or not found.oidc.secret_place:
        return found
    where = f"{settings.access_policy}: oidc.clientSecret"
    secret = revealed(found.oidc.secret_place, os.environ, where)
    known = replace(found.oidc.settings, client_secret=secret)
    return replace(found, oidc=replace(found.oidc, settings=known))


def tls_files(settings: Settings) -> TlsFiles | None:
    """The certificate to serve with; None: none is set. An error says what is wrong with it."""
    if not settings.tls_certificate and not settings.tls_key:
        return None
    if not settings.tls_certificate or not settings.tls_key:
        remedy = "write --tls-certificate and --tls-key"
        raise UserError((Problem("tls", "a certificate and its key go together", remedy),))
    found = TlsFiles(settings.tls_certificate, settings.tls_key)
    found.check()
    return found


def first_token(archive: Archive, settings: Settings) -> str:
    """Write an admin token to a file if there never was a token; what to tell of it.

    The file is made for its owner alone, before the token is recorded: a token that cannot be
    written down would be lost.
    """
    if token_list(archive, clock().now()).items:
        return ""
    path = admin_file(settings)
    if path is None:
        return (
            "no token exists, so the API answers no caller;"
            " --admin-token-file makes one, or `tidegate token create NAME --role admin`"
        )
    token = random_token()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OutsideError(
            f"{path} exists, and the journal has no token: remove the file, or name another with"
            " --admin-token-file"
        ) from None
    except OSError as error:
        raise OutsideError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    with os.fdopen(handle, "w") as file:
        file.write(token + "\n")
    _record_admin(archive, token)
    return f"the admin token is in {path}"


def new_admin(archive: Archive) -> str:
    """An admin token that is written nowhere, for a service of this process alone."""
    token = random_token()
    _record_admin(archive, token)
    return token


def _record_admin(archive: Archive, token: str) -> None:
    request = TokenRequest(name=ADMIN, role=Role.ADMIN, reason="the first start of the service")
    create_token(archive, request, token, clock().now(), "tidegate")


def admin_file(settings: Settings) -> Path | None:
    """Where the first admin token is written; None: nowhere."""
    if settings.access_admin_token:
        return Path(settings.access_admin_token)
    if "://" in settings.database or settings.database == "memory:":
        return None
    return Path(settings.database + _SUFFIX)
