"""`tidegate auth can-i`: what you may do at a service, and why not."""

from typing import TYPE_CHECKING

import click

from tidegate.app.access.callers import CallerReport, PermissionReport
from tidegate.cli.answers.place import AnswerPlace, answers_option, service_client
from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit
from tidegate.cli.shape import Command, LazyGroup

if TYPE_CHECKING:
    from tidegate.api.client.service import ServiceClient


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "can-i": ("tidegate.cli.access.permission:can_i", "Say whether you may do something"),
        "whoami": ("tidegate.cli.access.permission:whoami", "Show who you are, and your roles"),
    },
    examples="""
    tidegate auth whoami
    tidegate auth can-i approve simulated/demo --group prod
    """,
)
def auth() -> None:
    """Ask a service what you may do."""


@click.command(
    cls=Command,
    name="can-i",
    examples="""
    tidegate auth can-i approve simulated/demo --group prod
    tidegate auth can-i hold prod-eu-1                        one target
    tidegate auth can-i hold                                  everything
    """,
)
@click.argument("verb")
@click.argument("rollout", metavar="[THING]", required=False, default="")
@click.option("--group", "groups", multiple=True, help="Only this group; repeatable.")
@answers_option
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def can_i(
    verb: str, rollout: str, groups: tuple[str, ...], place: AnswerPlace, output: str
) -> None:
    """Say whether you may do something at a service: yes, or no and why.

    VERB is the first word of a route: approve, hold, why. THING is a rollout or a target; without
    one, everything. Roles, scopes and four eyes count. Exits 1 if you may not.
    """
    client = _client(place)
    query = {"verb": verb, "rollout": rollout, "group": groups}
    found = client.get("/can-i", query, PermissionReport)
    if output != "table":
        emit(found, output)
    else:
        click.echo("yes" if found.allowed else f"no: {found.why}")
    if not found.allowed:
        raise click.exceptions.Exit(FAILURE)


@click.command(cls=Command, examples="tidegate auth whoami -o json")
@answers_option
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
def whoami(place: AnswerPlace, output: str) -> None:
    """Show as which actor a service knows you, by which login, and your roles."""
    found = _client(place).get("/whoami", {}, CallerReport)
    if output != "table":
        emit(found, output)
        return
    click.echo(f"{found.actor}, known by {found.via}")
    limited = "" if found.sees_everything else ", limited to a part of the fleet"
    click.echo(f"roles: {', '.join(found.roles) or 'none'}{limited if found.roles else ''}")


def _client(place: AnswerPlace) -> "ServiceClient":
    client = service_client(place)
    if client is None:
        raise click.UsageError("a journal on this machine asks for no login: log in to a service")
    return client
