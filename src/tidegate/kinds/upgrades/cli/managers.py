"""OpenShift Cluster Managers, opened with the credentials of the service file or with a token.

The same credentials at the same address share one client, with its token and its connections.
Secrets are read when a client is opened, and kept nowhere.
"""

import base64
import binascii
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import click
import msgspec

from tidegate.documents.probe import url_trouble
from tidegate.kinds.upgrades.core.labels.bundled import Bundled
from tidegate.kinds.upgrades.core.service import (
    Credentials,
    OcmEnvironment,
    Registration,
    UpgradeService,
)
from tidegate.kinds.upgrades.health_port import ClusterHealth
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.kinds.upgrades.wire.service_doc import is_exposed
from tidegate.kinds.upgrades.wire.service_file import read_service_file
from tidegate.model.errors import UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem, nearest_or_all, shown
from tidegate.settings.prometheus_file import read_servers
from tidegate.settings.settings import Settings, revealed
from tidegate.wiring import bundles, outside, repositories

OCM_URL = "https://api.openshift.com"
SIGN_ON = "https://sso.redhat.com/auth/realms/redhat-external/protocol/openid-connect/token"
"""Where tokens for the public OpenShift Cluster Manager are exchanged."""
TOKEN_VARIABLE = "OCM_TOKEN"  # where other tools look for it, too
OWN = "ocm"
"""The name of the environment that a token alone opens."""


class Managers:
    """OpenShift Cluster Managers, each opened when it is first needed."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._opened: dict[tuple[str, str, int, tuple[str, ...]], ManagedClusters] = {}

    def of(self, environment: OcmEnvironment, of: Registration | None = None) -> ManagedClusters:
        """The one of an environment, as ourselves or as an organisation served with its own.

        UserError says which credentials are missing. No request is made yet.
        """
        where = f"environment {environment.name}"
        credentials = environment.credentials
        if of is not None and of.credentials is not None:
            where, credentials = f"organization {of.id}", of.credentials
        known = self._revealed(where, credentials, environment)
        key = (environment.url, environment.token_url, environment.addons, known)
        if key not in self._opened:
            client_id, client_secret, token = known
            self._opened[key] = outside.cluster_manager(
                environment.url,
                environment.token_url,
                client_id,
                client_secret,
                token,
                environment.addons,
            )
        return self._opened[key]

    def calls(self) -> dict[tuple[str, str], int]:
        """Calls so far, by verb and client id; `token` for calls with a token."""
        found: Counter[tuple[str, str]] = Counter()
        for (_, _, _, (client_id, *_)), manager in list(self._opened.items()):
            for verb, number in manager.calls().items():
                found[verb, client_id or "token"] += number
        return found

    async def close(self) -> None:
        """Close all of them."""
        for manager in self._opened.values():
            await manager.close()
        self._opened.clear()

    async def __aenter__(self) -> Self:
        """Closed at the end, whatever happens."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all of them."""
        await self.close()

    def _revealed(
        self, where: str, credentials: Credentials, environment: OcmEnvironment
    ) -> tuple[str, str, str]:
        if credentials.token:
            return "", "", revealed(credentials.token, self._env, f"{where}: token")
        if not credentials.client_id or not credentials.client_secret:
            remedy = "write clientId and clientSecret, or token, there or in its environment"
            raise UserError((Problem(where, "no credentials", remedy),))
        if not environment.token_url:
            problem = Problem(where, "no address where a client gets tokens", "write tokenUrl")
            raise UserError((problem,))
        secret = revealed(credentials.client_secret, self._env, f"{where}: clientSecret")
        return credentials.client_id, secret, ""


def service_of(settings: Settings) -> UpgradeService:
    """All that is served; UserError if the settings name nothing. Warnings go to stderr."""
    if not settings.upgrades:
        remedy = "write --upgrades FILE, or --ocm-url and --token for an organisation of your own"
        raise UserError((Problem("upgrades", "no organisation is served", remedy),))
    read = read_service_file(Path(settings.upgrades), lambda folder: bundled_of(settings, folder))
    for warning in read.warnings:
        click.echo(f"warning: {warning.text()}", err=True)
    return read.service


def bundled_of(settings: Settings, folder: str = "") -> Bundled:
    """What a bundle declares of upgrades: that of a directory, or of the settings."""
    from tidegate.kinds.upgrades.bundle import UPGRADES_SECTION

    path = Path(folder or settings.bundle)
    tree = repositories.open_tree(path, settings.revision or None)
    bundle = bundles.read_bundle(tree, bundles.bundle_cache())
    if not bundle.files:
        remedy = "name the directory of a bundle"
        raise UserError((Problem("bundle", f"{path}: no YAML file", remedy),))
    return UPGRADES_SECTION.of(bundle)


def health_of(settings: Settings, environment: OcmEnvironment) -> ClusterHealth | None:
    """The health of an environment's clusters; None: no Prometheus is named.

    UserError if it is not in the files of the setting `prometheus`.
    """
    if not environment.prometheus:
        return None
    servers = [each for name in settings.prometheus for each in read_servers(Path(name))]
    names = [each.name for each in servers]
    if environment.prometheus not in names:
        wrong = f"no Prometheus {shown(environment.prometheus)}"
        none = "none; name a file of servers with --prometheus"
        hint = nearest_or_all(environment.prometheus, names, none)
        raise UserError((Problem(f"environment {environment.name}: prometheus", wrong, hint),))
    return outside.cluster_health(servers, environment.prometheus)


def is_own(settings: Settings) -> bool:
    """Whether the settings name one's own organisation, and not all that are served."""
    return bool(settings.ocm_url or settings.ocm_token or not settings.upgrades)


def own_environment(settings: Settings, env: Mapping[str, str] | None = None) -> OcmEnvironment:
    """The OpenShift Cluster Manager that a token of one's own opens.

    No document is needed: `--token` or OCM_TOKEN will do. UserError says what is missing.
    """
    env = os.environ if env is None else env
    url = _safe(settings.ocm_url or OCM_URL, "--ocm-url")
    token_url = _safe(settings.ocm_token_url, "--token-url") if settings.ocm_token_url else ""
    written = settings.ocm_token or (f"env:{TOKEN_VARIABLE}" if env.get(TOKEN_VARIABLE) else "")
    if not written:
        remedy = f"write --token env:NAME or file:PATH, or set {TOKEN_VARIABLE}"
        raise UserError((Problem("--token", "missing", remedy),))
    token = revealed(written, env, "--token")
    return OcmEnvironment(
        name=OWN,
        url=url,
        token_url=_exchanged_at(token, token_url, url),
        credentials=Credentials(token=token),
        severity="info",
    )


def _safe(url: str, flag: str) -> str:
    wrong = url_trouble(url)
    if not wrong and is_exposed(url):
        wrong = f"{shown(url)} would carry your token over plain HTTP"
    if wrong:
        raise UserError((Problem(flag, wrong, "write https://…"),))
    return url.rstrip("/")


def _exchanged_at(token: str, token_url: str, url: str) -> str:
    """Where a token is exchanged; empty: it is used as it is, as one that says so must be."""
    match _kind(token):
        case "bearer":
            return ""
        case "offline" | "refresh" if not token_url:
            if url == OCM_URL:
                return SIGN_ON
            remedy = "write --token-url, or a token of `ocm token`"
            raise UserError((Problem("--token", "one that is exchanged for others", remedy),))
    return token_url


class _Claims(msgspec.Struct, frozen=True):
    typ: str = ""


def _kind(token: str) -> str:
    """What a token says it is; empty: it does not say. Nothing of it is believed but this."""
    parts = token.split(".")
    if len(parts) < 2:
        return ""
    try:
        body = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return decode_json(body, _Claims).typ.lower()
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return ""
