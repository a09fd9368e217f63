"""What is written about registries: images, hosts, challenges, and logins.

The OCI distribution API names an image by a repository and a tag below a host. A host that wants to
know who asks answers 401 with a *challenge*: where to fetch a token, for which service and scope.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping

import msgspec

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown
from tidegate.net.address import is_loopback

# What images without a host mean, and where that is asked.
HUB, HUB_ASKED_AT = "docker.io", "registry-1.docker.io"
_HUB_NAMES = frozenset((HUB, HUB_ASKED_AT, "index.docker.io"))
MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_DIGEST = re.compile(r"(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})")
_HOST = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_PARAMETER = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


class Reference(msgspec.Struct, frozen=True):
    """An image by its parts."""

    host: str
    name: str
    tag: str


class RegistryServer(msgspec.Struct, frozen=True):
    """A registry that may be asked."""

    host: str  # as images name it
    url: str


class Challenge(msgspec.Struct, frozen=True):
    """How a registry asks for authentication."""

    scheme: str  # bearer or basic
    realm: str = ""
    service: str = ""
    scope: str = ""


class RegistryLogin(msgspec.Struct, frozen=True):
    """A name and a password; never shown."""

    username: str
    password: str

    @property
    def header(self) -> str:
        """As HTTP has it."""
        pair = f"{self.username}:{self.password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"


class ConfigLogin(msgspec.Struct, frozen=True):
    """One login of a docker config file."""

    auth: str = ""
    username: str = ""
    password: str = ""


class DockerConfig(msgspec.Struct, frozen=True):
    """A docker config file, as far as it is read."""

    auths: dict[str, ConfigLogin] = {}
    credHelpers: dict[str, str] = {}  # noqa: N815 (the file's own spelling)
    credsStore: str = ""  # noqa: N815


def reference(image: str) -> Reference:
    """The parts of an image named by tag; without one, `latest` is meant."""
    first, slash, rest = image.partition("/")
    has_host = slash and ("." in first or ":" in first or first == "localhost")
    host, name = (first, rest) if has_host else (HUB, image)
    name, _, tag = name.partition(":")
    if host in _HUB_NAMES:
        host, name = HUB, name if "/" in name else f"library/{name}"
    return Reference(host, name, tag or "latest")


def server(written: str) -> RegistryServer:
    """A registry as it is written in the settings; UserError says how to write it.

    Plain HTTP is for this machine, or where `http://` says so: a party in between could
    otherwise say which image runs.
    """
    scheme, mark, host = written.rpartition("://")
    host = host.rstrip("/")
    if (mark and scheme not in ("http", "https")) or not _HOST.fullmatch(host):
        problem = Problem(
            "registry", f"{shown(written)} is no registry", "write quay.io, or http://host:5000"
        )
        raise UserError((problem,))
    if host in _HUB_NAMES:
        return RegistryServer(HUB, f"https://{HUB_ASKED_AT}")
    return RegistryServer(host, f"{scheme or ('http' if is_loopback(host) else 'https')}://{host}")


def challenge(headers: Iterable[str]) -> Challenge | None:
    """The challenge to answer, a token before a password; None: there is none we know."""
    found: dict[str, Challenge] = {}
    for header in headers:
        scheme, _, rest = header.strip().partition(" ")
        words = {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(rest)}
        asked = {name: words.get(name, "") for name in ("realm", "service", "scope")}
        found.setdefault(scheme.lower(), Challenge(scheme.lower(), **asked))
    return found.get("bearer") or found.get("basic")


def is_digest(text: str) -> bool:
    """Whether a text is a digest we believe."""
    return _DIGEST.fullmatch(text) is not None


def login_for(config: DockerConfig, host: str, name: str) -> RegistryLogin | None:
    """The login for a repository: the entry that names it most closely; None: none."""
    places = {_plain(key): entry for key, entry in config.auths.items()}
    path = f"{host}/{name}"
    while path:
        if path in places and (login := _login(places[path])) is not None:
            return login
        path = path.rpartition("/")[0]
    return None


def helper_for(config: DockerConfig, host: str) -> str:
    """The program that would know who we are; empty: none is named."""
    return _by_host(config.credHelpers, host) or config.credsStore


def _by_host(helpers: Mapping[str, str], host: str) -> str:
    return next((helper for key, helper in helpers.items() if _plain(key) == host), "")


def _plain(key: str) -> str:
    """A key of the file as a host, with a path perhaps; the hub has had many names."""
    key = re.sub(r"^https?://", "", key).rstrip("/")
    key = re.sub(r"/v[12]$", "", key)
    host, slash, rest = key.partition("/")
    return f"{HUB if host in _HUB_NAMES else host}{slash}{rest}"


def _login(entry: ConfigLogin) -> RegistryLogin | None:
    if entry.username and entry.password:
        return RegistryLogin(entry.username, entry.password)
    try:
        username, colon, password = base64.b64decode(entry.auth).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return RegistryLogin(username, password.rstrip("\0")) if colon and username else None
