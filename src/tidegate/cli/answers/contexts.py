"""The services that were logged in to, in a file that only its owner can read."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem, nearest_or_all


class IssuedLogin(msgspec.Struct, frozen=True, kw_only=True):
    """How a token that an issuer gave is renewed."""

    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    # Empty: it is not renewed.
    refresh_token: str = ""


class ServiceContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """One service, and the token for it."""

    name: str
    server: str
    token: str
    # None: the token is one of the service.
    login: IssuedLogin | None = None
    # The authorities that signed its certificate; empty: those that the machine trusts.
    ca_file: str = ""


class Contexts(msgspec.Struct, frozen=True):
    """All of them, and the one in use."""

    current: str = ""
    contexts: tuple[ServiceContext, ...] = ()


def contexts_file() -> Path:
    """Where they are kept."""
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "tidegate" / "contexts.json"


def read_contexts() -> Contexts:
    """What is kept; UserError if it cannot be read."""
    path = contexts_file()
    try:
        return decode_json(path.read_bytes(), Contexts)
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise UserError((Problem(str(path), error.strerror or str(error)),)) from None
    except msgspec.MsgspecError as error:
        remedy = "delete it, and log in again"
        raise UserError((Problem(str(path), str(error), remedy),)) from None


def write_contexts(contexts: Contexts) -> None:
    """Keep them, whole or not at all."""
    path = contexts_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}.new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(contexts)) + b"\n")
    new.replace(path)


def current() -> ServiceContext | None:
    """The one in use; None: none is."""
    known = read_contexts()
    return next((each for each in known.contexts if each.name == known.current), None)


def known_at(server: str) -> ServiceContext | None:
    """The one at an address; None: it was not logged in to."""
    wanted = server.rstrip("/")
    found = (each for each in read_contexts().contexts if each.server.rstrip("/") == wanted)
    return next(found, None)


@contextmanager
def locked_contexts() -> Iterator[None]:
    """Two commands that renew a token at once would each end that of the other."""
    path = contexts_file().with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replaced(context: ServiceContext) -> None:
    """Keep another token of a service that is known; which one is in use stays."""
    known = read_contexts()
    every = tuple(context if each.name == context.name else each for each in known.contexts)
    write_contexts(Contexts(known.current, every))


def kept(context: ServiceContext) -> None:
    """Keep one, and use it."""
    others = tuple(each for each in read_contexts().contexts if each.name != context.name)
    write_contexts(Contexts(context.name, (*others, context)))


def used(name: str) -> None:
    """Use another one; an empty name uses none."""
    known = read_contexts()
    if name:
        _find(known, name)
    write_contexts(Contexts(name, known.contexts))


def dropped(name: str) -> None:
    """Forget one."""
    known = read_contexts()
    _find(known, name)
    rest = tuple(each for each in known.contexts if each.name != name)
    write_contexts(Contexts("" if known.current == name else known.current, rest))


def _find(known: Contexts, name: str) -> None:
    names = [each.name for each in known.contexts]
    if name not in names:
        raise NotFoundError("context", name, nearest_or_all(name, names))
