"""`tidegate plan` and `tidegate diff`: what would change on the clusters; nothing is changed."""

import asyncio
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.render.causes import cause_lines
from tidegate.cli.shape import Command, Worded
from tidegate.kinds.integrations.cli.estate import (
    FORMATS,
    EstateQuery,
    Phases,
    estate_options,
    tell_troubles,
)

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.plan import ChangePlan, ObjectPlan, PlanRequest

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
def plan(asked: EstateQuery, adopt: bool, allow_mass_delete: bool, output: str) -> None:
    """List what `apply` would do on every cluster, object by object, and how many pods restart.

    The servers do a dry run of each change; nothing is written. Exits 1 if
    something could not be read or the bundle has errors.
    """
    from tidegate.cli.output import emit, terminal_width, wants_colour
    from tidegate.kinds.integrations.cli.objects.change_text import names, plan_lines

    found = _planned(asked, adopt, allow_mass_delete)
    if output in ("json", "yaml"):
        emit(found, output)
    elif output == "name":
        for name in names(found):
            click.echo(name)
    else:
        colour = wants_colour(asked.settings.color)
        width = terminal_width()
        wide = output == "wide"
        lines = plan_lines(found, wide=wide, width=width, colour=colour, verbose=asked.verbose)
        for line in lines:
            click.echo(line, color=colour)
    tell(asked, found)
    if not found.ok:
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
def diff(asked: EstateQuery, adopt: bool, allow_mass_delete: bool, output: str) -> None:
    """Show how the clusters differ from the bundle, field by field.

    Exits 1 if something differs, could not be read, or the bundle has errors.
    """
    from tidegate.cli.output import emit, wants_colour
    from tidegate.kinds.integrations.cli.objects.change_text import diff_lines, summary
    from tidegate.kinds.integrations.core.workloads.change import ACTING, ObjectAction

    found = _planned(asked, adopt, allow_mass_delete, differing=True)
    if output != "text":
        emit(found, output)
    else:
        colour = wants_colour(asked.settings.color)
        for line in diff_lines(found, colour=colour, verbose=asked.verbose):
            click.echo(line, color=colour)
    tell(asked, found)
    click.echo(summary(found), err=True)
    bad = ACTING | {ObjectAction.CONFLICT, ObjectAction.REFUSED}
    if not found.ok or any(each.verb in bad for each in found.changes):
        raise click.exceptions.Exit(FAILURE)


def _planned(
    asked: EstateQuery, adopt: bool, allow_mass_delete: bool, *, differing: bool = False
) -> "ObjectPlan":
    """What would be done: every object, or those that differ."""
    from tidegate.kinds.integrations.app.plan import plan_changes, plan_document

    async def run() -> "ChangePlan":
        async with asked.clusters() as find:
            with Phases(asked.unanswered) as phases:
                wanted = request_of(asked, adopt=adopt, allow_mass_delete=allow_mass_delete)
                return await plan_changes(asked.view, find, wanted, phases)

    return plan_document(asyncio.run(run()), differing=differing)


def request_of(
    asked: EstateQuery, *, adopt: bool = False, allow_mass_delete: bool = False
) -> "PlanRequest":
    """How to plan, as flags and settings say, under the brakes of this moment."""
    from tidegate.cli.by_hand import brakes_now
    from tidegate.kinds.integrations.app.plan import PlanRequest
    from tidegate.kinds.integrations.cli.site import removals_of
    from tidegate.wiring import clock

    now = clock().now()
    return PlanRequest(
        adopt=adopt,
        allow_mass_delete=allow_mass_delete,
        removals=removals_of(asked.settings),
        read_pods=bool(asked.settings.registry),
        concurrency_max=asked.settings.limits_concurrency,
        brakes=brakes_now(asked.settings, now),
        now=now,
    )


def tell(asked: EstateQuery, plan: "ObjectPlan") -> None:
    """Print what is wrong with the bundle, what could not be read, and notes."""
    asked.tell_problems("what is sound is planned, and nothing is removed")
    tell_troubles(plan.failures, verbose=asked.verbose)
    for line in cause_lines(plan.notes, verbose=asked.verbose):
        click.echo(f"note: {line}", err=True)
