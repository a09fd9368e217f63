"""`tidegate session`: sessions of browsers at a service, listed and ended."""

import click

from tidegate.cli.access.answers import access_answers
from tidegate.cli.answers.place import AnswerPlace, answers_option
from tidegate.cli.output import emit, terminal_width
from tidegate.cli.shape import Act, Command, LazyGroup
from tidegate.explain.table import layout
from tidegate.model.counted import counted

FORMATS = ("table", "json", "yaml")


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "list": ("tidegate.cli.access.sessions:list_sessions", "List sessions of browsers"),
        "end": ("tidegate.cli.access.sessions:end", "End a session, or all of a person"),
    },
    examples="""
    tidegate session list
    tidegate session end ada@example.com --reason "left the team"
    """,
)
def session() -> None:
    """List and end the sessions of browsers at a service."""


@click.command(cls=Command, examples="tidegate session list")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@answers_option
def list_sessions(output: str, place: AnswerPlace) -> None:
    """List sessions that have not ended: of which person, by which issuer, until when."""
    with access_answers(place) as answers:
        found = answers.sessions()
    if output != "table":
        emit(found, output)
        return
    rows = [
        (each.id, each.name, each.issuer or "a token", each.started_at, each.expires_at)
        for each in found.items
    ]
    head = ("ID", "NAME", "KNOWN BY", "STARTED", "EXPIRES")
    for line in layout(head, rows, terminal_width()):
        click.echo(line)


@click.command(cls=Act, examples='tidegate session end ada@example.com --reason "left the team"')
@click.argument("name")
@click.option("--reason", required=True, help="Why; kept in the journal.")
@answers_option
def end(name: str, reason: str, place: AnswerPlace) -> None:
    """End a session by its id, or all sessions of a person: they have to log in again.

    It keeps no one from logging in: that is for the issuer, or for `tidegate token revoke`.
    """
    with access_answers(place, writes=True) as answers:
        found = answers.end_sessions(name, reason)
    names = ", ".join(sorted({each.name for each in found.items}))
    click.echo(f"ended {counted(len(found.items), 'session')} of {names}")
