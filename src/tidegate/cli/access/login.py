"""`tidegate login` and `tidegate context`: the services that commands ask."""

from pathlib import Path
from urllib.parse import urlsplit

import click

from tidegate.api.client.service import ServiceClient
from tidegate.app.callers import CallerReport
from tidegate.cli.answers.contexts import (
    ServiceContext,
    contexts_file,
    dropped,
    kept,
    read_contexts,
    used,
)
from tidegate.cli.output import terminal_width
from tidegate.cli.shape import Command, LazyGroup
from tidegate.explain.table import layout


@click.command(
    cls=Command,
    examples="""
    tidegate login https://tidegate.example          asks for a token
    tidegate login http://127.0.0.1:8080 --token-file tidegate.db.admin-token
    """,
)
@click.argument("server")
@click.option("--token-file", type=click.Path(path_type=Path), help="The file with the token.")
@click.option("--name", help="What to call it; the host, if left out.")
def login(server: str, token_file: Path | None, name: str | None) -> None:
    """Keep a token for a service, and ask that service from now on.

    The token is checked, and kept in a file that only you can read. Commands ask the service unless
    a journal is named (--database); `tidegate context use none` ends that.
    """
    if not server.startswith(("http://", "https://")):
        raise click.UsageError(f'"{server}" is no address; write https://HOST or http://HOST:PORT')
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise click.UsageError(f"--token-file {token_file}: {error.strerror}") from None
    else:
        token = click.prompt("Token", hide_input=True).strip()
    report = ServiceClient(server, token).get("/whoami", {}, CallerReport)
    called = name or urlsplit(server).netloc
    kept(ServiceContext(name=called, server=server.rstrip("/"), token=token))
    click.echo(f"logged in to {server} as {report.actor} ({', '.join(report.roles)})")
    click.echo(f"the token is kept in {contexts_file()}", err=True)


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
