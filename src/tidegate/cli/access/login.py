"""`tidegate login`, `logout` and `context`: the services that commands ask."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
from msgspec.structs import replace

from tidegate.api.login.offer import LoginOffer
from tidegate.app.access.callers import CallerReport
from tidegate.cli.answers.contexts import (
    IssuedLogin,
    ServiceContext,
    contexts_file,
    dropped,
    kept,
    read_contexts,
    used,
)
from tidegate.cli.answers.place import check_address, client_of
from tidegate.cli.output import terminal_width
from tidegate.cli.shape import Command, LazyGroup
from tidegate.documents.files import bounded_text
from tidegate.explain.table import layout
from tidegate.model.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.oidc.issuer import DeviceCode


@click.command(
    cls=Command,
    examples="""
    tidegate login https://tidegate.example             by a browser on this machine
    tidegate login https://tidegate.example --device    by one on another machine
    tidegate login https://tidegate.example --ca-file ca.pem
    tidegate login http://127.0.0.1:8080 --token-file tidegate.db.admin-token
    """,
)
@click.argument("server")
@click.option("--token-file", type=click.Path(path_type=Path), help="The file with the token.")
@click.option("--token", "asks", is_flag=True, help="Ask for a token of the service.")
@click.option("--device", is_flag=True, help="Log in with a browser on another machine.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option("--name", help="The name of the login; default: the host.")
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="The certificate authorities to trust for it, in PEM; kept with the login.",
)
def login(
    server: str,
    token_file: Path | None,
    asks: bool,
    device: bool,
    no_browser: bool,
    name: str | None,
    ca_file: str | None,
) -> None:
    """Log in to a service, and ask that service from now on.

    By the issuer that the service names; without one, or with --token, by a token of the service.
    What is got is checked, kept in a file that only you can read, and renewed before it ends.
    Commands ask the service unless a journal is named (--database); `tidegate context use none`
    ends that, and `tidegate logout` forgets the login.
    """
    check_address(server, "SERVER")
    read_contexts()  # what cannot be read is said before a login begins
    trusted = ca_file or ""
    issued = None if token_file is not None or asks else _offered(server, trusted)
    if device and issued is None:
        raise click.UsageError("--device is for a service whose callers log in by an issuer")
    if token_file is not None:
        try:
            token = bounded_text(token_file).strip()
        except OSError as error:
            raise click.UsageError(f"--token-file {token_file}: {error.strerror}") from None
    elif issued is None:
        token = click.prompt("Token", hide_input=True).strip()
    else:
        token, issued = _issued(issued, device, no_browser)
    report = client_of(server, token, trusted).get("/whoami", {}, CallerReport)
    called = name or urlsplit(server).netloc
    kept(ServiceContext(called, server.rstrip("/"), token, issued, trusted))
    roles = ", ".join(report.roles) or "no role"
    click.echo(f"logged in to {server} as {report.actor} ({roles})")
    click.echo(f"the token is kept in {contexts_file()}", err=True)


def _offered(server: str, ca_file: str) -> IssuedLogin | None:
    """The issuer that a service names; None: it has none."""
    offer = client_of(server, "", ca_file).offer(LoginOffer)
    if not offer.issuer:
        return None
    return IssuedLogin(issuer=offer.issuer, client_id=offer.client_id, scopes=offer.scopes)


def _issued(login: IssuedLogin, device: bool, no_browser: bool) -> tuple[str, IssuedLogin]:
    from tidegate.cli.answers.issued import browser_tokens, device_tokens

    def show_address(address: str) -> None:
        click.echo(f"Log in at {address}", err=True)
        if not no_browser:
            import webbrowser
            from threading import Thread

            # Some return only when the page was read, and the page is read from here.
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    def show_code(code: "DeviceCode") -> None:
        where = code.verification_uri_complete or code.verification_uri
        click.echo(f"Log in at {where} with the code {code.user_code}", err=True)

    given = device_tokens(login, show_code) if device else browser_tokens(login, show_address)
    return given.id_token, replace(login, refresh_token=given.refresh_token)


@click.command(
    cls=Command,
    examples="""
    tidegate logout                of the service in use
    tidegate logout staging
    """,
)
@click.argument("name", required=False)
def logout(name: str | None) -> None:
    """Forget a login, and end it at its issuer where that can be done.

    A token of the service itself is forgotten here, and works on: `tidegate token revoke` ends it.
    """
    known = read_contexts()
    called = name or known.current
    if not called:
        raise click.UsageError("no service is in use; name one: `tidegate context list`")
    found = next((each for each in known.contexts if each.name == called), None)
    ended = False
    if found is not None and found.login is not None:
        from tidegate.cli.answers.issued import revoked

        try:
            ended = revoked(found.login)
        except TidegateError as error:
            click.echo(f"Warning: it is not ended at the issuer: {error}", err=True)
    dropped(called)
    click.echo(f"logged out of {called}" + (", and ended at the issuer" if ended else ""))


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "list": ("tidegate.cli.access.login:list_contexts", "List the services logged in to"),
        "use": ("tidegate.cli.access.login:use", "Ask another service, or none"),
        "remove": ("tidegate.cli.access.login:remove", "Forget a service and its token"),
    },
    examples="""
    tidegate context list
    tidegate context use staging
    tidegate context use none            journals on this machine again
    """,
)
def context() -> None:
    """Choose which service commands ask."""


@click.command(cls=Command, examples="tidegate context list")
def list_contexts() -> None:
    """List the services that were logged in to; a star marks the one in use."""
    known = read_contexts()
    if not known.contexts:
        click.echo("no service is known; `tidegate login URL`", err=True)
        return
    rows = [
        ("*" if each.name == known.current else "", each.name, each.server)
        for each in sorted(known.contexts, key=lambda each: each.name)
    ]
    for line in layout(("USED", "NAME", "SERVER"), rows, terminal_width()):
        click.echo(line)


@click.command(cls=Command, examples="tidegate context use staging")
@click.argument("name")
def use(name: str) -> None:
    """Ask this service from now on; `none`: journals on this machine."""
    used("" if name == "none" else name)
    click.echo("no service is asked" if name == "none" else f"asks {name}")


@click.command(cls=Command, examples="tidegate context remove staging")
@click.argument("name")
def remove(name: str) -> None:
    """Forget a service and its token."""
    dropped(name)
    click.echo(f"forgot {name}")
