"""`tidegate lint`: labels that do not have the effect their owner expects."""

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.render.findings import annotation
from tidegate.cli.shape import Command
from tidegate.kinds.upgrades.app.lint import LintReport, lint_fleet
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery, source_options
from tidegate.kinds.upgrades.cli.source.reader import read_fleet
from tidegate.kinds.upgrades.cli.source.service import served_answer
from tidegate.kinds.upgrades.cli.text.answer import report_gaps
from tidegate.kinds.upgrades.cli.text.lint import (
    finding_lines,
    finding_text,
    lint_summary,
    owner_of,
)

FORMATS = ("table", "json", "yaml", "github")


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades lint --upgrades upgrades.yaml           all registered organisations
    tidegate upgrades lint --org o-payments                   one organisation of them
    tidegate upgrades lint --ocm-url https://api.openshift.com --token file:token      your own
    tidegate upgrades lint --world examples/upgrade-world.yaml -o github  for a merge check
    """,
)
@source_options()
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def lint(query: WorldQuery, output: str) -> None:
    """Find labels that cannot work: windows never met, soak never reached, circles.

    Checks the labels of organisations and clusters, and runs the rules ahead to find clusters that
    wait for ever, or are still on a version when it ends. Exits 1 if there is an error or
    a warning; notes are for information.
    """
    found = served_answer(query, "/lint", LintReport) or lint_fleet(read_fleet(query))
    if output == "github":
        for each in found.findings:
            text = f"{owner_of(each)}: {finding_text(each)}"
            click.echo(annotation(each.severity, text, title=f"tidegate: {each.code}"))
    elif output != "table":
        emit(found, output)
    else:
        colour = wants_colour(query.settings.color)
        for line in finding_lines(found.findings, terminal_width()):
            say(line, colour)
    report_gaps(found)
    click.echo(lint_summary(found.findings), err=True)
    if found.errors or not found.clean:
        raise click.exceptions.Exit(FAILURE)
