"""`tidegate auth can-i`: what you may do at a service, and why not."""

import click

from tidegate.app.access.callers import PermissionReport
from tidegate.cli.answers.place import AnswerPlace, answers_option, service_client
from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit
from tidegate.cli.shape import Command, LazyGroup


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "can-i": ("tidegate.cli.access.permission:can_i", "Say whether you may do something"),
    },
    examples="tidegate auth can-i approve simulated/demo --group prod",
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
    client = service_client(place)
    if client is None:
        raise click.UsageError("a journal on this machine asks for no login: log in to a service")
    query = {"verb": verb, "rollout": rollout, "group": groups}
    found = client.get("/can-i", query, PermissionReport)
    if output != "table":
        emit(found, output)
    else:
        click.echo("yes" if found.allowed else f"no: {found.why}")
    if not found.allowed:
        raise click.exceptions.Exit(FAILURE)
