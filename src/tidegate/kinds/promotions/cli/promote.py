"""`tidegate promote`: a version moved to environments by one commit and one merge request."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.proposing import Proposing, proposing_options
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import LazyGroup
from tidegate.kinds.promotions.cli.ground import SETTINGS
from tidegate.settings.settings import Merged

if TYPE_CHECKING:
    from tidegate.kinds.promotions.cli.plan import Planned

FORMATS = ("table", "json", "yaml")
Function = Callable[..., Any]
_OPTIONS = (
    click.option("--ref", default="", metavar="REF", help="A commit; else the branch's newest."),
    click.option("--promotion", "name", metavar="NAME", help="Which, where several are declared."),
    click.option("--base", default="", metavar="REF", help="Change this revision of the bundle."),
    click.option("--allow-backward", is_flag=True, help="Allow older versions and other branches."),
    click.option("--no-fetch", is_flag=True, help="Use what was fetched before."),
)


def promotion_options(function: Function) -> Function:
    """What every promotion can be told."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "schemas": (
            "tidegate.kinds.promotions.cli.promote_schemas:schemas",
            "Move the schemas, alone",
        ),
    },
    invoke_without_command=True,
    examples="""
    tidegate promote                          what would move everywhere, and whose work that is
    tidegate promote --to jenkins --ref 1a2b3c4
    tidegate promote --to manager --to tekton --open-mr --reason "the fix of inc-42"
    tidegate promote schemas --open-mr        the schemas first, where something needs them
    """,
)
@click.option("--to", "to", multiple=True, metavar="ENV", help="Only this environment; repeatable.")
@promotion_options
@click.option("--no-registry-check", is_flag=True, help="Do not check that the image exists.")
@proposing_options
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@settings_options(*SETTINGS)
def promote(merged: Merged, proposing: Proposing, output: str, **asked: Any) -> None:
    """Show what a promotion changes: lines, shards, authors; then propose it.

    Nothing is written unless --write, --commit, --push or --open-mr says so. Exits 1 if an
    environment that was asked for has to wait.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    from tidegate.kinds.promotions.cli.plan import plan_promotion

    carried_out(plan_promotion(merged.settings(), **asked), proposing, output)


def carried_out(planned: "Planned", proposing: Proposing, output: str) -> None:
    """Show what is planned and offer it; exit 1 where something asked for has to wait."""
    planned.show(output)
    if planned.edited:
        ground = planned.ground
        offer = planned.offer(proposing.reason)
        done = proposing.carry_out(offer, ground.folder, ground.settings, output)
        if done is not None and done.commit:
            planned.write_down(done, proposing.reason)
    if planned.waiting:
        raise click.exceptions.Exit(FAILURE)
