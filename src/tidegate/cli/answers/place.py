"""Where a command finds its journal: on this machine, or at a service."""

import functools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import msgspec

from tidegate.cli.answers.journal import JournalAnswers
from tidegate.cli.answers.local_table import local_reason
from tidegate.cli.answers.port import AnswerSource
from tidegate.cli.live import opened
from tidegate.cli.setting_options import origin_of, setting_option, settings_options
from tidegate.cli.shape import words_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Instant
from tidegate.settings.settings import Merged, Settings, revealed

if TYPE_CHECKING:
    from tidegate.api.client.service import ServiceClient
    from tidegate.cli.answers.contexts import ServiceContext

Function = Callable[..., Any]


class AnswerPlace(msgspec.Struct, frozen=True):
    """What was set: a journal, a service, and where its token is."""

    database: str
    server: str = ""
    server_token: str = ""

    @classmethod
    def of(cls, settings: Settings) -> "AnswerPlace":
        """What the settings name."""
        return cls(settings.database, settings.server, settings.server_token)


def answers_option(function: Function) -> Function:
    """The flags that say where the journal is; the command gets `place`."""

    @functools.wraps(function)
    def command(*args: Any, database: str, server: str, server_token: str, **kwargs: Any) -> Any:
        return function(*args, place=AnswerPlace(database, server, server_token), **kwargs)

    made: Function = command
    for name in ("serverToken", "server", "database"):
        made = setting_option(name)(made)
    return made


def own_journal_option(function: Function) -> Function:
    """The flag of a journal on this machine, for a command that is about no other.

    Logged in to a service, a person means the journal there: the command says why it cannot, and
    does not act on another.
    """

    @functools.wraps(function)
    def command(*args: Any, merged: Merged, **kwargs: Any) -> Any:
        settings = merged.settings()
        service = _service(AnswerPlace.of(settings))
        if service is not None:
            what = f"you are logged in to {service.server}, and this command asks no service"
            why = local_reason(words_of(click.get_current_context()))
            problem = Problem("", f"{what}; it {why}", "name the journal: --database")
            raise UserError((problem,))
        return function(*args, database=settings.database, **kwargs)

    return settings_options("database")(command)


then_option = click.option(
    "--at",
    "then",
    default="",
    metavar="TIME",
    help="As it was then, from the facts recorded by then: 2h ago, RFC 3339, or ENTRY/ROLLOUT.",
)


@contextmanager
def answering(
    place: AnswerPlace,
    *,
    writes: bool = False,
    creates: bool | None = None,
    at: Instant | None = None,
    then: str = "",
) -> Iterator[AnswerSource]:
    """Answers, for as long as a command needs them: of a service, if one is set or logged in to.

    `at`: decided for this moment with the facts of now; `then`: with the facts of that moment, too.

    A journal that is named beside a service that was logged in to wins; one named beside --server
    is a mistake.
    """
    client = service_client(place)
    if client is None:
        with opened(place.database, writes=writes, creates=creates) as store:
            yield JournalAnswers(store, at, then)
        return
    if at is not None:
        raise click.UsageError("--now is for a journal on this machine; a service decides for now")
    from tidegate.cli.answers.service import ServiceAnswers

    yield ServiceAnswers(client, then)


def asks_service(place: AnswerPlace) -> bool:
    """Whether a service is set or logged in to, and no journal is named."""
    return _service(place) is not None


def service_client(place: AnswerPlace) -> "ServiceClient | None":
    """A client of the service to ask; None: the journal on this machine."""
    service = _service(place)
    if service is None:
        return None
    if service.login is not None:
        from tidegate.cli.answers.issued import renewed

        service = renewed(service)
    return client_of(service.server, service.token, service.ca_file)


def client_of(server: str, token: str, ca_file: str = "") -> "ServiceClient":
    """A client of a service; while it takes long to answer, a terminal says so.

    `ca_file`: the authorities that signed its certificate; empty: those of the machine.
    """
    from tidegate.api.client.service import ServiceClient
    from tidegate.cli.render.progress import Waiting

    if token and not _ONE_WORD.fullmatch(token):
        what = "is no token: it has spaces, lines or signs that none has"
        raise UserError((Problem("token", what, "name a file or variable with one token"),))
    waiting = functools.partial(Waiting, f"asking {server}")
    return ServiceClient(server, token, waiting=waiting, ca_file=ca_file)


def _service(place: AnswerPlace) -> "ServiceContext | None":
    """The service to ask; None: the journal on this machine."""
    is_default = origin_of("database", place.database).startswith("the default of ")
    if place.server:
        if not is_default:
            problem = Problem("--server", "and --database cannot be combined", "leave one out")
            raise UserError((problem,))
        return _asked(place)
    if not is_default:
        return None
    from tidegate.cli.answers.contexts import contexts_file, current

    return current() if contexts_file().exists() else None


# What the address of a service does not have.
_API = "/api/"
# What a header can carry, and every token is.
_ONE_WORD = re.compile(r"[!-~]+")


def check_address(server: str, where: str) -> None:
    """UserError for what is no address of a service; a password in it is not said again."""
    try:
        found = urlsplit(server)
        known = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        known, found = False, urlsplit("")
    what, remedy = (
        f'"{server}" is no address of a service',
        "write https://HOST or http://HOST:PORT",
    )
    host = found.netloc.rpartition("@")[2]
    if known and found.username is not None:
        what, remedy = "a login in an address is not used", f"write {found.scheme}://{host}"
    elif known and (found.query or found.fragment or _API in found.path):
        remedy = f"write {found.scheme}://{host}{found.path.partition(_API)[0].rstrip('/')}"
    elif known:
        return
    raise UserError((Problem(where, what, remedy),))


def _asked(place: AnswerPlace) -> "ServiceContext":
    from tidegate.cli.answers.contexts import ServiceContext, known_at

    check_address(place.server, "--server")
    token = revealed(place.server_token, os.environ, "serverToken")
    known = known_at(place.server)
    if not token and known is not None:
        return known
    if not token:
        remedy = f"`tidegate login {place.server}`, or --server-token env:NAME"
        raise UserError((Problem(place.server, "no token for it is known", remedy),))
    trusted = "" if known is None else known.ca_file
    return ServiceContext(name="", server=place.server, token=token, ca_file=trusted)
