"""`tidegate report`: every cluster with its labels and what soaks; or what has soaked so far."""

import click

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.app.report import (
    FleetReport,
    VersionHistory,
    report_fleet,
    report_history,
)
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery, source_options
from tidegate.kinds.upgrades.cli.source.reader import read_fleet
from tidegate.kinds.upgrades.cli.source.service import served_answer
from tidegate.kinds.upgrades.cli.text.answer import finish
from tidegate.kinds.upgrades.cli.text.report import (
    FIELDS,
    HISTORY_FIELDS,
    head_of,
    history_rows,
    problem_lines,
    report_rows,
)

FORMATS = ("table", "markdown", "json", "yaml")


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades report --upgrades upgrades.yaml                 all registered organisations
    tidegate upgrades report -o markdown > fleet.md            a page with tables to sort and filter
    tidegate upgrades report --org o-payments -o json
    tidegate upgrades report --history                                what each version has soaked
    """,
)
@source_options()
@click.option(
    "--history", "past", is_flag=True, help="Show what has soaked, by version and workload."
)
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def report(query: WorldQuery, past: bool, output: str) -> None:
    """Show the fleet: labels, versions, and how far each has soaked.

    Of every version a cluster is offered and that is not blocked: the days it ran so far under the
    workload that is furthest behind, and the date at which it will have soaked if those clusters
    keep it. ⏰ its upgrade is to start, 💫 it is under way, 🎉 it is expected next, with the date
    that `tidegate when` has. An excluded cluster is shown with the label at fault.
    """
    if past:
        known = served_answer(query, "/soaked", VersionHistory)
        _show_history(known or report_history(read_fleet(query)), output)
    else:
        found = served_answer(query, "/report", FleetReport) or report_fleet(read_fleet(query))
        _show_report(found, output, wants_colour(query.settings.color))


def _show_report(found: FleetReport, output: str, colour: bool) -> None:
    if output == "markdown":
        from tidegate.kinds.upgrades.cli.text.report_page import report_page

        click.echo(report_page(found), nl=False)
    elif output in ("json", "yaml"):
        emit(found, output)
    else:
        width = terminal_width()
        problems = list(problem_lines(found, width))
        table = layout(head_of(FIELDS), report_rows(found), width)
        for text in (*table, *([""] if problems else []), *problems):
            say(text, colour)
    finish(found)


def _show_history(found: VersionHistory, output: str) -> None:
    if output == "markdown":
        from tidegate.kinds.upgrades.cli.text.report_page import history_page

        click.echo(history_page(found), nl=False)
    elif output in ("json", "yaml"):
        emit(found, output)
    else:
        for text in layout(head_of(HISTORY_FIELDS), history_rows(found), terminal_width()):
            click.echo(text)
    finish(found)
