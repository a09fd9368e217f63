"""Which forge a remote is at, the address of its API and the project, from the remote's address.

    https://gitlab.example.com/group/name.git   gitlab, https://gitlab.example.com/api/v4
    git@github.com:owner/name.git               github, https://api.github.com
    /srv/git/name.git                           local, the repository itself

A derived address is https, except on this machine: a token must not be readable on the way.
"""

import enum
from urllib.parse import urlsplit

import msgspec

from tidegate.git.remote_url import Remote, without_login
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown
from tidegate.net.address import is_loopback


class ForgeKind(enum.Enum):
    """The supported forges."""

    GITLAB = "gitlab"
    GITHUB = "github"
    GITEA = "gitea"
    LOCAL = "local"


# The path of the API, below the address of the pages.
_BELOW = {ForgeKind.GITLAB: "/api/v4", ForgeKind.GITHUB: "/api/v3", ForgeKind.GITEA: "/api/v1"}
_GITHUB, _GITHUB_API = "github.com", "https://api.github.com"
# Hosts for ssh on port 443, for networks that block port 22.
_PAGES_OF = {"ssh.github.com": _GITHUB, "altssh.gitlab.com": "gitlab.com"}
# Parts of host names that identify a forge; Forgejo has the API of Gitea.
_TOLD_BY = {
    "github": ForgeKind.GITHUB,
    "gitlab": ForgeKind.GITLAB,
    "gitea": ForgeKind.GITEA,
    "forgejo": ForgeKind.GITEA,
    "codeberg": ForgeKind.GITEA,
}
# Environment variables with a token, in order, if the settings name none.
TOKEN_VARIABLES = {
    ForgeKind.GITLAB: ("GITLAB_TOKEN",),
    ForgeKind.GITHUB: ("GITHUB_TOKEN", "GH_TOKEN"),
    ForgeKind.GITEA: ("GITEA_TOKEN",),
    ForgeKind.LOCAL: (),
}


class ForgePlace(msgspec.Struct, frozen=True):
    """A project on a forge."""

    kind: ForgeKind
    # The address of the API, without a slash at the end; of a local one: its path.
    api: str
    # As the forge calls it: `group/sub/name`; empty for a local one.
    project: str


def forge_place(remote: Remote, kind: str = "auto", api: str = "") -> ForgePlace:
    """The forge of a remote; UserError names the setting to write where it is not clear."""
    found = _kind(remote) if kind == "auto" else ForgeKind(kind)
    if found is ForgeKind.LOCAL:
        if not remote.is_local:
            raise _wrong(f"a local forge is not a {remote.scheme} remote", "name another forge")
        return ForgePlace(found, remote.path, "")
    if remote.is_local and not api:
        remedy = "write forge: local, or set forgeUrl"
        raise _wrong(f"{shown(remote.path)} is a path, which {found.value} is not at", remedy)
    asked = _given(found, api) if api else _worked_out(found, remote)
    return ForgePlace(found, asked, _project(asked, found, remote))


def _kind(remote: Remote) -> ForgeKind:
    if remote.is_local:
        return ForgeKind.LOCAL
    for part, kind in _TOLD_BY.items():
        if part in remote.host:
            return kind
    raise _wrong(
        f"{shown(remote.host)} does not say which forge it is",
        "set forge to gitlab, github or gitea (for Forgejo too)",
    )


def _worked_out(kind: ForgeKind, remote: Remote) -> str:
    host = _PAGES_OF.get(remote.host, remote.host)
    if kind is ForgeKind.GITHUB and host == _GITHUB:
        return _GITHUB_API
    host = f"[{host}]" if ":" in host else host
    # The port of ssh is not the one of its pages.
    if remote.scheme in ("http", "https") and remote.port is not None:
        host = f"{host}:{remote.port}"
    scheme = "http" if remote.scheme == "http" and is_loopback(host) else "https"
    return f"{scheme}://{host}{_BELOW[kind]}"


def _given(kind: ForgeKind, api: str) -> str:
    """An address from the settings: that of the API or of the pages."""
    parts = urlsplit(api)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        remedy = "write https://gitlab.example.com"
        problem = Problem("forgeUrl", f"{shown(without_login(api))} is not an address", remedy)
        raise UserError((problem,))
    if "@" in parts.netloc:
        problem = Problem("forgeUrl", "a login in an address can be read", "set forgeToken")
        raise UserError((problem,))
    if parts.netloc in (_GITHUB, f"www.{_GITHUB}"):
        return _GITHUB_API
    path = parts.path.rstrip("/")
    below = "" if path.endswith(_BELOW[kind]) or api.rstrip("/") == _GITHUB_API else _BELOW[kind]
    return f"{parts.scheme}://{parts.netloc}{path}{below}"


def _project(api: str, kind: ForgeKind, remote: Remote) -> str:
    """The path of the remote, without the folder that a forge may be served below."""
    folder = urlsplit(api).path.removesuffix(_BELOW[kind]).strip("/")
    project = remote.path.strip("/").removesuffix(".git")
    if folder and project.startswith(f"{folder}/"):
        project = project[len(folder) + 1 :]
    parts = project.count("/")
    if parts < 1 or (parts > 1 and kind is not ForgeKind.GITLAB):
        wanted = "group/name" if kind is ForgeKind.GITLAB else "owner/name"
        raise _wrong(f"{shown(project)} is not a project of {kind.value}", f"write {wanted}")
    return project


def _wrong(message: str, remedy: str) -> UserError:
    return UserError((Problem("forge", message, remedy),))
