"""`tidegate plan upgrades`: what would be written to OpenShift Cluster Manager now, and why."""

import click

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.kinds.upgrades.app import plan
from tidegate.kinds.upgrades.app.plan import BOTH, COMPAT, STRICT
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery, source_options
from tidegate.kinds.upgrades.cli.source.reader import read_fleet
from tidegate.kinds.upgrades.cli.source.service import served_answer
from tidegate.kinds.upgrades.cli.text.answer import finish
from tidegate.kinds.upgrades.cli.text.plan import plan_lines


@click.command(
    cls=Command,
    name="upgrades",
    examples="""
    tidegate plan upgrades --upgrades upgrades.yaml          all organisations, each by its rules
    tidegate plan upgrades --org o-payments -o json
    tidegate plan upgrades --mode both                       what AUS would do, too
    tidegate plan upgrades --world world.json
    """,
)
@source_options()
@click.option(
    "--mode",
    type=click.Choice((STRICT, COMPAT, BOTH)),
    help="strict, compat (the rules of AUS) or both; default: as each organisation is registered.",
)
@click.option(
    "-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table",
    show_default=True,
)  # fmt: skip
def plan_upgrades(query: WorldQuery, mode: str | None, output: str) -> None:
    """List what would be written now for each organisation, and why; write nothing.

    Upgrades, node pools that follow, channels, acknowledgements of version gates, and service
    logs to owners, once a day. `tidegate why` explains why all others wait.
    """
    found = served_answer(query, "/plan", plan.UpgradePlanList, mode=mode)
    found = found or plan.plan_upgrades(read_fleet(query), mode)
    if output == "table":
        for line in plan_lines(found, terminal_width()):
            say(line, wants_colour(query.settings.color))
    else:
        emit(found, output)
    finish(found)
