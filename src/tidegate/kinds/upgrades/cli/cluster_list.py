"""`tidegate get clusters`: version, next version, soak left, and why: of all served, or yours."""

from typing import Any

import click

from tidegate.cli.look.status import FORMATS
from tidegate.cli.output import again, emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.documents.reader import Reader
from tidegate.documents.selector_doc import read_selector
from tidegate.documents.selector_text import parse_selector
from tidegate.explain.table import Row, layout
from tidegate.explain.verdict_doc import verdict_doc
from tidegate.kinds.upgrades.cli.look.flags import Asked, ground_options, mode_option
from tidegate.kinds.upgrades.cli.look.ground import Looked
from tidegate.kinds.upgrades.cli.look.view import (
    View,
    called,
    tell_rules,
    the_cluster,
    views,
)
from tidegate.kinds.upgrades.core.explain.stand import Stand
from tidegate.kinds.upgrades.core.explain.table import (
    CLUSTER_HEAD,
    WIDE_HEAD,
    cluster_row,
    wide_cells,
)
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.model.problem import Problems
from tidegate.model.selector import EVERYTHING, Selector
from tidegate.model.time import format_instant

# How often a watched table is drawn anew: a look asks every cluster.
WATCH_S = 15.0

Found = list[tuple[View, Stand]]


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
@ground_options()
@click.option("-l", "--selector", metavar="LABELS", help="By labels: 'sector=prod,!mutexes'.")
@mode_option
@click.option("-w", "--watch", is_flag=True, help="Keep showing it.")
@click.option("--no-headers", is_flag=True, help="Leave the head of the table out.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def get_clusters(
    name: str | None,
    asked: Asked,
    selector: str | None,
    mode: str | None,
    watch: bool,
    no_headers: bool,
    output: str,
) -> None:
    """List clusters that upgrade by their labels: the state of each, and what it waits for.

    NEXT is the version that comes next; WINDOW, when its schedule lets an upgrade start; WHY, the
    most important gate. Labels are named without their prefix, plus `org` and `env`. A cluster
    that cannot be read is listed with the reason; exits 1 then.
    """
    chosen = _selector(selector)
    looked = Looked(())
    for _ in again(watch, WATCH_S):
        looked = asked.look()
        some = views(looked, mode)
        found = _found(some, name, chosen)
        for line in cluster_lines(found, output, no_headers, one_org=len(asked.orgs) == 1):
            say(line, wants_colour(asked.settings.color))
        if name:
            looked = looked.only(*(view.ground for view, _ in found))
        looked.tell()
        tell_rules([each for each in some if each.ground in looked.grounds], mode)
    looked.end()


def _selector(text: str | None) -> Selector:
    if text is None:
        return EVERYTHING
    try:
        document = parse_selector(text)
    except ValueError as error:
        raise click.UsageError(f"--selector: {error}") from None
    return read_selector(Reader(document, "--selector", Problems()))


def _found(some: list[View], name: str | None, chosen: Selector) -> Found:
    """Who is meant; several, where several have the name."""
    found = [(view, stand) for view in some for stand in view.stands]
    if name:
        found = called(some, name) or [the_cluster(some, name)]
    return [(view, stand) for view, stand in found if chosen.matches(_labels(stand))]


def _labels(stand: Stand) -> dict[str, str]:
    return brake_labels(stand.fleet.org, stand.member.cluster)


def cluster_lines(found: Found, output: str, no_headers: bool, *, one_org: bool) -> list[str]:
    """Clusters as lines; as data they are printed at once."""
    if output == "name":
        return [f"cluster/{stand.member.cluster.name}" for _, stand in found]
    if output in ("json", "yaml"):
        items = [cluster_item(view, stand) for view, stand in found]
        emit({"kind": "ClusterList", "items": items}, output)
        return []
    wide = output == "wide"
    rows = [_cells(view, stand, wide) for view, stand in found]
    head: Row = ("ORG", *CLUSTER_HEAD[:-1], *(WIDE_HEAD if wide else ()), CLUSTER_HEAD[-1])
    if one_org:
        head, rows = head[1:], [row[1:] for row in rows]
    return layout(head, rows, terminal_width(), headed=not no_headers)


def _cells(view: View, stand: Stand, wide: bool) -> Row:
    *cells, why = cluster_row(stand, view.ground.now)
    return (stand.fleet.org.id, *cells, *(wide_cells(stand) if wide else ()), why)


def cluster_item(view: View, stand: Stand) -> dict[str, Any]:
    """One cluster as data."""
    cluster, wishes, org = stand.member.cluster, stand.member.wishes, stand.fleet.org
    since, fires_at = view.since(stand), stand.fires_at
    return {
        "cluster": cluster.name,
        "uuid": cluster.uuid,
        "id": cluster.ident,
        "org": org.id,
        "environment": org.env,
        "version": cluster.version,
        "behind": [{"pool": e.id, "version": e.version} for e in stand.member.standing.behind],
        "since": None if since is None else format_instant(since),
        "next": stand.next or None,
        "soakLeftDays": float(stand.soak_left) if stand.soak_left else None,
        "windowAt": None if fires_at is None else format_instant(fires_at),
        "starts": stand.starts,
        "why": None if stand.shut is None else verdict_doc(stand.shut),
        "problems": [each.text() for each in stand.member.complaints],
        "state": cluster.state,
        "channel": cluster.updates_from,
        "schedule": wishes.schedule,
        "timezone": wishes.zone or None,
        "soakDays": wishes.soak_days,
        "sector": wishes.sector or None,
        "mutexes": wishes.mutexes,
        "workloads": wishes.workloads,
    }
