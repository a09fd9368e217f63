"""Access to a cluster: a context of a kubeconfig, or the pod's own account.

As kubectl does: `KUBECONFIG` may name several files; of what is in two of them the first counts.
What Tidegate does not do for a login is refused by name and never ignored: with another
identity than expected, the wrong cluster would be changed.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tidegate.documents.yaml_bounds import YamlBoundError, check_text
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest, shown

# A kubeconfig of a thousand clusters with certificates inside is some 6 MB.
FILE_BYTES_MAX = 32 * 1024 * 1024
IN_CLUSTER = "in-cluster"
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What a user may have and we do not do, and what to do instead.
_LOGINS = {
    "exec": "it starts a program to log in, which Tidegate does not",
    "auth-provider": "Kubernetes itself no longer has this login",
    "username": "Kubernetes itself no longer has this login",
    "as": "it impersonates another user, which Tidegate does not",
    "as-groups": "it impersonates another user, which Tidegate does not",
    "as-uid": "it impersonates another user, which Tidegate does not",
    "as-user-extra": "it impersonates another user, which Tidegate does not",
}
_REMEDY = "use a token, a tokenFile or a client certificate"


class ClusterAccess(msgspec.Struct, frozen=True):
    """One cluster: where it is, how it is known to be it, and how we are known to it."""

    name: str
    server: str
    # None: the context names none.
    namespace: str | None = None
    # PEM; None: the authorities the machine trusts.
    ca: str | None = None
    # False only where the kubeconfig says so.
    verify: bool = True
    # The name in its certificate; None: the one in its address.
    server_name: str | None = None
    proxy: str | None = None
    token: str | None = None
    # Read anew now and then: the kubelet renews it.
    token_file: str | None = None
    # PEM, both or none.
    certificate: str | None = None
    key: str | None = None

    def __repr__(self) -> str:
        """Without anything secret."""
        return f"Access({self.name!r}, {self.server!r})"


def read_access(
    context: str | None = None,
    files: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> ClusterAccess:
    """The access a context gives, or the current one; without a kubeconfig, the pod's own.

    `files` is what stands in KUBECONFIG otherwise. Reads files: not for the event loop.
    """
    paths = _paths(files, environ)
    found = [path for path in paths if path.is_file()]
    named = files or environ.get("KUBECONFIG")
    if context == IN_CLUSTER or (not found and not named and _in_pod(environ)):
        return _pod_access(environ)
    if not found:
        looked = ", ".join(map(str, paths))
        raise _wrong(looked, "no kubeconfig there", "set KUBECONFIG, or --kubeconfig")
    return _Kubeconfig(found).access(context)


def contexts(files: str | None = None, environ: Mapping[str, str] = os.environ) -> list[str]:
    """The names of all contexts, in order."""
    found = [path for path in _paths(files, environ) if path.is_file()]
    return sorted(_Kubeconfig(found).contexts)


def _paths(files: str | None, environ: Mapping[str, str]) -> list[Path]:
    listed = files or environ.get("KUBECONFIG")
    if listed:
        return [Path(each).expanduser() for each in listed.split(os.pathsep) if each]
    return [Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"]


class _Kubeconfig:
    """Several files as one; every entry knows which it came from, as its paths are relative."""

    def __init__(self, paths: list[Path]) -> None:
        self.where = os.pathsep.join(map(str, paths))
        self.current = ""
        self.contexts: dict[str, tuple[Path, Mapping[str, Any]]] = {}
        self.clusters: dict[str, tuple[Path, Mapping[str, Any]]] = {}
        self.users: dict[str, tuple[Path, Mapping[str, Any]]] = {}
        for path in paths:
            document = _load(path)
            self.current = self.current or str(document.get("current-context") or "")
            for table, plural, singular in (
                (self.contexts, "contexts", "context"),
                (self.clusters, "clusters", "cluster"),
                (self.users, "users", "user"),
            ):
                for entry in document.get(plural) or ():
                    _keep(table, entry, singular, path)

    def access(self, context: str | None) -> ClusterAccess:
        """What a context gives."""
        wanted = context or self.current
        if not wanted:
            raise _wrong(self.where, "it has no current context", "name one with --context")
        _, chosen = self._entry(self.contexts, wanted, "context")
        at, cluster = self._entry(self.clusters, str(chosen.get("cluster") or ""), "cluster")
        user_name = str(chosen.get("user") or "")
        its, user = self._entry(self.users, user_name, "user") if user_name else (at, {})
        self._refuse_logins(user_name, user)
        server = str(cluster.get("server") or "")
        if not server.startswith(("https://", "http://")):
            raise _wrong(
                str(at), f"server {shown(server)} is no address", "write https://host:port"
            )
        certificate = _pem(its, user, "client-certificate")
        key = _pem(its, user, "client-key")
        if (certificate is None) != (key is None):
            half = "client-key" if key is None else "client-certificate"
            raise _wrong(str(its), f"user {shown(user_name)} has no {half}", "give both or none")
        token_file = user.get("tokenFile")
        return ClusterAccess(
            name=wanted,
            server=server.rstrip("/"),
            namespace=_text(chosen, "namespace"),
            ca=_pem(at, cluster, "certificate-authority"),
            verify=cluster.get("insecure-skip-tls-verify") is not True,
            server_name=_text(cluster, "tls-server-name"),
            proxy=_text(cluster, "proxy-url"),
            token=_text(user, "token"),
            token_file=str(its.parent / str(token_file)) if token_file else None,
            certificate=certificate,
            key=key,
        )

    def _refuse_logins(self, name: str, user: Mapping[str, Any]) -> None:
        for login, why in _LOGINS.items():
            if user.get(login):
                raise _wrong(self.where, f"user {shown(name)} has {login}: {why}", _REMEDY)

    def _entry(
        self, table: Mapping[str, tuple[Path, Mapping[str, Any]]], name: str, what: str
    ) -> tuple[Path, Mapping[str, Any]]:
        if name not in table:
            hint = nearest(name, table) or f"known: {', '.join(sorted(table)) or 'none'}"
            raise _wrong(self.where, f"no {what} is called {shown(name)}", hint)
        return table[name]


def _keep(
    table: dict[str, tuple[Path, Mapping[str, Any]]], entry: object, singular: str, path: Path
) -> None:
    if not isinstance(entry, dict) or not isinstance(entry.get(singular) or {}, dict):
        raise _wrong(str(path), f"a {singular} is no mapping: {shown(entry)}", "fix the file")
    table.setdefault(str(entry.get("name", "")), (path, entry.get(singular) or {}))


def _load(path: Path) -> Mapping[str, Any]:
    text = _read(path, path)
    try:
        check_text(text)
        document = yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        what = "nested too deeply" if isinstance(error, YamlBoundError) else "not YAML"
        raise _wrong(where, what, "fix the file") from None
    if not isinstance(document, dict):
        raise _wrong(str(path), "it is no kubeconfig", "fix the file")
    return document


def _read(path: Path, told_in: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(FILE_BYTES_MAX + 1)
        if len(found) > FILE_BYTES_MAX:
            raise _wrong(str(path), f"longer than {FILE_BYTES_MAX} bytes", "name another file")
        return found.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise _wrong(str(told_in), f"{path} cannot be read: {why}", "fix the path") from None


def _pem(at: Path, entry: Mapping[str, Any], field: str) -> str | None:
    """What a field holds, or the file it names; the field with `-data` wins, as with kubectl."""
    data = entry.get(f"{field}-data")
    if data:
        try:
            return base64.b64decode(str(data), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise _wrong(
                str(at), f"{field}-data is no base64 of a text", "encode it anew"
            ) from None
    named = entry.get(field)
    return _read(at.parent / str(named), at) if named else None


def _text(entry: Mapping[str, Any], field: str) -> str | None:
    value = entry.get(field)
    return str(value) if value else None


def _in_pod(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (_ACCOUNT / "token").is_file()


def _pod_access(environ: Mapping[str, str]) -> ClusterAccess:
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        what = "this is no pod: KUBERNETES_SERVICE_HOST and _PORT are not set"
        raise _wrong(IN_CLUSTER, what, "name a context")
    named = _ACCOUNT / "namespace"
    return ClusterAccess(
        name=IN_CLUSTER,
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=_read(named, named).strip() if named.is_file() else None,
        ca=_read(_ACCOUNT / "ca.crt", _ACCOUNT),
        token_file=str(_ACCOUNT / "token"),
    )


def _wrong(where: str, what: str, remedy: str) -> UserError:
    return UserError((Problem("", what, remedy),), where=where)
