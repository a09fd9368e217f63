"""What is written where a Git remote is named: a host and a path there, or a path here.

    https://user:secret@host:8443/group/name.git   host, port and path; the login is dropped
    ssh://git@host:2222/group/name.git             the same; the port is not the one of its pages
    git@host:group/name.git                        as scp writes it
    file:///srv/name.git, /srv/name.git, ../name   a path on this machine

What git would take for a program to run (`ext::…`) is none of them.
"""

import re
from urllib.parse import unquote, urlsplit

import msgspec

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, shown

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCHEMES = frozenset(("http", "https", "ssh", "git"))
_SCP = re.compile(r"(?:[^@/:]*@)?(?P<host>[^@/:\[\]]+|\[[0-9A-Fa-f:.]+\]):(?P<path>(?!:).+)$")
# The login before the `@`; a password may contain a `/`, a port is not a password.
LOGIN = re.compile(
    r"([a-z][a-z0-9+.-]*://)([^/\s'\"]*|(?!\[)[^/\s'\":]*:(?!\d+/)[^\s'\"]*?)@", re.IGNORECASE
)
_HELPER = re.compile(r"[A-Za-z0-9]+::")


class Remote(msgspec.Struct, frozen=True):
    """Where a remote repository is."""

    # http, https, ssh, git, or file; what scp would take is ssh.
    scheme: str
    # Without a login; empty: this machine.
    host: str
    # None: the usual one.
    port: int | None
    # Of a host: the project, without slashes around it and `.git`; of this machine: as written.
    path: str

    @property
    def is_local(self) -> bool:
        """Whether it is a path on this machine."""
        return self.scheme == "file"


def remote_of(url: str) -> Remote:
    """The parts of a remote's address; UserError if it is none. Its login is in no part."""
    if is_path(url):
        return Remote("file", "", None, url)
    if match := _SCHEME.match(url):
        return _of_url(url, match[1].lower())
    if match := _SCP.match(url):
        return Remote("ssh", match["host"].strip("[]").lower(), None, _project(match["path"]))
    raise _no_remote(url)


def same_repository(one: str, other: str) -> bool:
    """Whether two addresses are of one repository, whichever way each leads there."""
    return repository_key(one) == repository_key(other)


def repository_key(url: str) -> str:
    """The same text for all addresses of one repository: ssh and https, with a login or without.

    Ports are left out: that of ssh is never that of the pages. The key ends with the project.
    """
    bare = url.strip().rstrip("/")
    try:
        remote = remote_of(bare)
    except UserError:
        return bare.removesuffix(".git").lower()
    if remote.is_local:
        return remote.path.rstrip("/").removesuffix(".git")
    return f"{remote.host}/{remote.path}".lower()


def is_path(url: str) -> bool:
    """Whether a remote is a path on this machine, as it is written there; not so `file://…`."""
    return bool(url) and not any(form.match(url) for form in (_SCHEME, _HELPER, _SCP))


def without_login(text: str) -> str:
    """A text with the logins of its addresses removed; the user name of ssh may stay."""
    return LOGIN.sub(_without, text)


def _without(found: re.Match[str]) -> str:
    scheme, login = found.groups()
    name = login.partition(":")[0]
    return f"{scheme}{name}@" if scheme.lower() == "ssh://" and name else scheme


def _of_url(url: str, scheme: str) -> Remote:
    if scheme == "file":
        path = unquote(url[len("file://") :])
        if not path.startswith("/"):
            raise _no_remote(url)
        return Remote("file", "", None, path)
    scheme = scheme.removeprefix("git+")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _no_remote(url) from None
    path = _project(unquote(parts.path))
    if scheme not in _SCHEMES or not host or not path:
        raise _no_remote(url)
    return Remote(scheme, host, port, path)


def _project(path: str) -> str:
    return path.strip("/").removesuffix(".git").strip("/")


def _no_remote(url: str) -> UserError:
    remedy = "write https://host/group/name.git, git@host:group/name.git or a path"
    message = f"{shown(without_login(url))} is not an address of a repository"
    return UserError((Problem("remote", message, remedy),))
