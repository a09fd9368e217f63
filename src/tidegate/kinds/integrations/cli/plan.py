"""`tidegate plan` and `tidegate diff`: what would change on the clusters; nothing is changed."""

import asyncio
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command, Worded
from tidegate.kinds.integrations.cli.estate import FORMATS, Asked, estate_options

if TYPE_CHECKING:
    from tidegate.kinds.integrations.cli.outlook import Outlook

_ADOPT = "Plan with --adopt: take over objects of other managers."
_MASS = "Plan with --allow-mass-delete."


@click.command(
    cls=Worded,
    words={
        "upgrades": (
            "tidegate.kinds.upgrades.cli.plan:plan_upgrades",
            "What would be written to OpenShift Cluster Manager",
        ),
    },
    examples="""
    tidegate plan                                              the bundle here, on all its clusters
    tidegate plan examples/app-interface --integration terraform-resources
    tidegate plan --revision origin/main --cluster appsrep05ue1 -o json
    tidegate plan upgrades --org o-payments                    of clusters that upgrade by labels
    """,
)
@estate_options()
@click.option("--adopt", is_flag=True, help=_ADOPT)
@click.option("--allow-mass-delete", is_flag=True, help=_MASS)
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def plan(asked: Asked, adopt: bool, allow_mass_delete: bool, output: str) -> None:
    """List what `apply` would do on every cluster, object by object, and how many pods restart.

    The servers do a dry run of each change; nothing is written. Exits 1 if
    something could not be read or the bundle has errors.
    """
    from tidegate.cli.output import emit, terminal_width, wants_colour
    from tidegate.kinds.integrations.cli.change_text import as_data, names, plan_lines
    from tidegate.kinds.integrations.core.workloads.change import Verb

    outlook = looked(asked, adopt, allow_mass_delete)
    if output in ("json", "yaml"):
        emit(_data(asked, outlook, as_data(outlook.changes)), output)
    elif output == "name":
        for name in names(e for e in outlook.changes if e.verb is not Verb.UNCHANGED):
            click.echo(name)
    else:
        colour = wants_colour(asked.settings.color)
        width = terminal_width()
        for line in plan_lines(outlook.changes, wide=output == "wide", width=width, colour=colour):
            click.echo(line, color=colour)
    tell(asked, outlook)
    if outlook.failures or not asked.sound:
        raise click.exceptions.Exit(FAILURE)


@click.command(
    cls=Command,
    examples="""
    tidegate diff                                  everything, field by field; exit 1 if it differs
    tidegate diff --shard terraform-resources/ter-int-dev
    tidegate diff --environment production -o json
    """,
)
@estate_options()
@click.option("--adopt", is_flag=True, help=_ADOPT)
@click.option("--allow-mass-delete", is_flag=True, help=_MASS)
@click.option(
    "-o", "--output", type=click.Choice(("text", "json", "yaml")), default="text", show_default=True
)
def diff(asked: Asked, adopt: bool, allow_mass_delete: bool, output: str) -> None:
    """Show how the clusters differ from the bundle, field by field.

    Exits 1 if something differs, could not be read, or the bundle has errors.
    """
    from tidegate.cli.output import emit, wants_colour
    from tidegate.kinds.integrations.cli.change_text import as_data, diff_lines, summary
    from tidegate.kinds.integrations.cli.outlook import CHANGING
    from tidegate.kinds.integrations.core.workloads.change import Verb

    outlook = looked(asked, adopt, allow_mass_delete)
    differing = [each for each in outlook.changes if each.verb is not Verb.UNCHANGED]
    if output != "text":
        emit(_data(asked, outlook, as_data(differing)), output)
    else:
        colour = wants_colour(asked.settings.color)
        for line in diff_lines(differing, colour=colour):
            click.echo(line, color=colour)
    tell(asked, outlook)
    click.echo(summary(outlook.changes), err=True)
    bad = CHANGING | {Verb.CONFLICT, Verb.REFUSED}
    if outlook.failures or not asked.sound or any(each.verb in bad for each in differing):
        raise click.exceptions.Exit(FAILURE)


def looked(asked: Asked, adopt: bool, allow_mass_delete: bool) -> "Outlook":
    """What would be done."""
    from tidegate.kinds.integrations.cli.outlook import look

    async def looking() -> "Outlook":
        async with asked.clusters(asked.namespaces()) as (clusters, shut):
            return await look(
                asked, clusters, shut, adopt=adopt, allow_mass_delete=allow_mass_delete
            )

    return asyncio.run(looking())


def tell(asked: Asked, outlook: "Outlook") -> None:
    """What is wrong with the bundle, what could not be read, and what else there is to know."""
    asked.tell_problems()
    for line in outlook.failures:
        click.echo(f"Error: {line}", err=True)
    for line in outlook.notes:
        click.echo(f"note: {line}", err=True)


def _data(asked: Asked, outlook: "Outlook", changes: list[dict[str, object]]) -> dict[str, object]:
    return {
        "changes": changes,
        "restarts": outlook.restarts,
        "problems": asked.problems,
        "failures": list(outlook.failures),
        "notes": list(outlook.notes),
    }
