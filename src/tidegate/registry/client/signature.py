"""Who we are to a registry: a login from a docker config file, and tokens fetched with it.

The file is read whenever a token is fetched, so that a new secret is used; what is
in it appears in no error.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import msgspec

from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import shown
from tidegate.registry.document import (
    Challenge,
    DockerConfig,
    RegistryLogin,
    RegistryServer,
    helper_for,
    login_for,
)

# No such file is longer; one that is holds something else.
CONFIG_BYTES_MAX = 1024 * 1024
# What a token lasts that does not say, by the protocol; and how long before its end it is left.
TOKEN_LIFE_S, TOKEN_MARGIN_S = 60, 5


class Token(msgspec.Struct, frozen=True):
    """What a registry is shown, and until when."""

    header: str
    until_s: float


class _Granted(msgspec.Struct):
    """A token as it is handed out."""

    token: str = ""
    access_token: str = ""
    # None: it does not say.
    expires_in: int | None = None


# Fetches an address with an Authorization, or none; its body.
Fetch = Callable[[str, Mapping[str, str]], Awaitable[bytes]]


def default_config() -> Path | None:
    """The docker config file of this user; None: there is none."""
    path = Path(os.environ.get("DOCKER_CONFIG") or "~/.docker").expanduser() / "config.json"
    return path if path.is_file() else None


def read_config(path: Path | None) -> DockerConfig:
    """What a docker config file says; OutsideError if it is named and cannot be read."""
    if path is None:
        return DockerConfig()
    try:
        with path.open("rb") as file:
            found = file.read(CONFIG_BYTES_MAX + 1)
        if len(found) > CONFIG_BYTES_MAX:
            raise OutsideError(f"registryAuth {path} is longer than {CONFIG_BYTES_MAX} bytes")
        return decode_json(found, DockerConfig)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise OutsideError(f"registryAuth {path} cannot be read: {why}") from None
    except msgspec.MsgspecError:
        # The text of the error could hold what is written there.
        raise OutsideError(f"registryAuth {path} is no docker config file") from None


async def sign(
    config: DockerConfig,
    server: RegistryServer,
    name: str,
    asked: Challenge,
    fetch: Fetch,
    now_s: float,
) -> Token:
    """The token for a registry that requires one; OutsideError if there is none."""
    login = login_for(config, server.host, name)
    if asked.scheme == "basic":
        if login is None:
            raise OutsideError(f"it asks who we are; {_remedy(config, server)}")
        return Token(login.header, float("inf"))
    _check_realm(asked.realm, server)
    query = {"service": asked.service, "scope": asked.scope or f"repository:{name}:pull"}
    joint = "&" if "?" in asked.realm else "?"
    url = f"{asked.realm}{joint}{urlencode({k: v for k, v in query.items() if v})}"
    head = {"Authorization": login.header} if login is not None else {}
    granted = _granted(await fetch(url, head))
    life_s = TOKEN_LIFE_S if granted.expires_in is None else granted.expires_in
    value = granted.token or granted.access_token
    return Token(f"Bearer {value}", now_s + max(0, life_s - TOKEN_MARGIN_S))


def refused(config: DockerConfig, server: RegistryServer, name: str, status: int) -> str:
    """Why a registry does not answer us, and what would help."""
    login: RegistryLogin | None = login_for(config, server.host, name)
    remedy = "check the login in registryAuth" if login is not None else _remedy(config, server)
    return f"HTTP {status} for {name}; {remedy}"


def _remedy(config: DockerConfig, server: RegistryServer) -> str:
    helper = helper_for(config, server.host)
    stated = f"the helper {helper} is not run; " if helper else ""
    return f"{stated}name a docker config file with a login for {server.host} (registryAuth)"


def _check_realm(realm: str, server: RegistryServer) -> None:
    """Our login goes nowhere in plain text, unless the registry itself is asked so."""
    parts = urlsplit(realm)
    allowed = ("https", "http") if server.url.startswith("http://") else ("https",)
    if parts.scheme not in allowed or not parts.hostname:
        raise OutsideError(f"it wants a login sent to {shown(realm)}, which is not done")


def _granted(body: bytes) -> _Granted:
    try:
        granted = decode_json(body, _Granted)
    except msgspec.MsgspecError:
        granted = _Granted()
    value = granted.token or granted.access_token
    if not value or not value.isascii() or not value.isprintable():
        raise OutsideError("it handed out no token that can be used")
    return granted
