"""`tidegate get clusters`: version, next version, soak left, and why."""

import click

from tidegate.cli.look.status import FORMATS
from tidegate.cli.main import FAILURE
from tidegate.cli.output import again, emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.documents.scope_doc import selector_of
from tidegate.kinds.upgrades.app.clusters import ClusterList, list_clusters
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery, mode_option, source_options
from tidegate.kinds.upgrades.cli.source.reader import read_fleet
from tidegate.kinds.upgrades.cli.source.service import served_answer
from tidegate.kinds.upgrades.cli.text.answer import report_gaps
from tidegate.kinds.upgrades.cli.text.clusters import cluster_table
from tidegate.model.selector import EVERYTHING, Selector

# How often a watched table is drawn anew: every time all clusters are read.
WATCH_S = 15.0


@click.command(
    cls=Command,
    name="clusters",
    examples="""
    tidegate get clusters --upgrades upgrades.yaml            all registered organisations
    tidegate get clusters --org o-payments -o wide            one organisation of them
    tidegate get clusters -l sector=prod,soak-days!=0
    tidegate get clusters --ocm-url https://api.openshift.com --token file:token    your own
    tidegate get clusters --world world.json -o json
    """,
)
@click.argument("name", required=False)
@source_options()
@click.option("-l", "--selector", metavar="LABELS", help="By labels: 'sector=prod,!mutexes'.")
@mode_option
@click.option("-w", "--watch", is_flag=True, help="Update it as it changes.")
@click.option("--no-headers", is_flag=True, help="Print the table without its head.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def get_clusters(
    name: str | None,
    query: WorldQuery,
    selector: str | None,
    mode: str | None,
    watch: bool,
    no_headers: bool,
    output: str,
) -> None:
    """List clusters that upgrade by their labels: the state of each, and what it waits for.

    NEXT is the version that is wanted next; STARTS, when its next step starts, as `tidegate when`
    foresees it (`~`: it depends on more than the calendar; "not before": nothing starts until then,
    and `when` looks further); WHY, the most important gate. Labels are named without their prefix,
    plus `org` and `env`. A cluster that cannot be read is listed with the reason; exits 1 then.
    """
    chosen = _selector(selector)
    failed = False
    for _ in again(watch, WATCH_S):
        asked = {"name": name, "labelSelector": selector, "mode": mode}
        found = served_answer(query, "/clusters", ClusterList, **asked)
        found = found or list_clusters(read_fleet(query), name, chosen, mode)
        _show(found, output, query, no_headers)
        report_gaps(found)
        failed = bool(found.errors)
    if failed:
        raise click.exceptions.Exit(FAILURE)


def _selector(text: str | None) -> Selector:
    if text is None:
        return EVERYTHING
    try:
        return selector_of(text)
    except ValueError as error:
        raise click.UsageError(f"--selector: {error}") from None


def _show(found: ClusterList, output: str, query: WorldQuery, no_headers: bool) -> None:
    if output in ("json", "yaml"):
        emit(found, output)
        return
    if output == "name":
        lines = [f"cluster/{each.cluster}" for each in found.items]
    else:
        lines = cluster_table(
            found,
            terminal_width(),
            wide=output == "wide",
            headed=not no_headers,
            one_org=len(query.orgs) == 1,
        )
    for line in lines:
        say(line, wants_colour(query.settings.color))
