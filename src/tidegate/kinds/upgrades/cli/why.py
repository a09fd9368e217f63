"""`tidegate why` of clusters that upgrade by their labels: one in full, or an organisation's."""

from typing import Any

import click

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.look.flags import Asked
from tidegate.kinds.upgrades.cli.look.ground import Looked
from tidegate.kinds.upgrades.cli.look.view import (
    View,
    tell_rules,
    the_cluster,
    the_organisation,
    views,
)
from tidegate.kinds.upgrades.core.explain.stand import Stand
from tidegate.kinds.upgrades.core.explain.table import (
    CLUSTER_HEAD,
    cluster_row,
    org_line,
    org_notes,
)
from tidegate.kinds.upgrades.core.explain.tree import cluster_tree
from tidegate.kinds.upgrades.core.rules.fleet import Fleet
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.wire.answer import targets_of
from tidegate.model.target import bare
from tidegate.model.time import format_age

ORGANISATION = f"{PARTITION}/"


def show_upgrades(asked: Asked, looked: Looked, name: str, output: str) -> None:
    """Why a cluster waits, gate by gate; every cluster of an organisation; or of all of them."""
    some = views(looked, asked.mode)
    colour = wants_colour(asked.settings.color)
    if name.startswith(ORGANISATION):
        shown = [the_organisation(some, name)]
        looked = looked.only(shown[0][0].ground)
        _show_organisations(shown, output, colour)
    elif name:
        view, stand = the_cluster(some, name)
        looked = looked.only(view.ground)
        _show_cluster(view, stand, output, colour)
    else:
        shown = [(view, *pair) for view in some for pair in view.by_fleet()]
        _show_organisations(shown, output, colour)
    looked.tell()
    tell_rules([each for each in some if each.ground in looked.grounds], asked.mode)
    looked.end()


def _show_cluster(view: View, stand: Stand, output: str, colour: bool) -> None:
    if output != "table":
        emit(targets_of(view.plan)[stand.position], output)
        return
    for line in cluster_tree(stand, view.ground.now, view.since(stand)):
        say(line, colour)


def _show_organisations(
    shown: list[tuple[View, Fleet, list[Stand]]], output: str, colour: bool
) -> None:
    if output != "table":
        emit([_organisation(*each) for each in shown], output)
        return
    if not shown:
        click.echo("no cluster of anybody who is served has labels", err=True)
    for at, (view, fleet, mine) in enumerate(shown):
        now = view.ground.now
        rows = [cluster_row(each, now) for each in mine]
        lines = [""] if at else []
        lines += [org_line(fleet, mine), *org_notes(fleet), ""]
        lines += layout(CLUSTER_HEAD, rows, terminal_width())
        for line in lines:
            say(line, colour)
    moments = [e.plan.recheck_at - e.ground.now for e, _, _ in shown if e.plan.recheck_at]
    if moments:
        say(f"\nlook again in {format_age(min(moments))}", colour)


def _organisation(view: View, fleet: Fleet, mine: list[Stand]) -> dict[str, Any]:
    targets = targets_of(view.plan)
    return {
        "org": fleet.org.id,
        "name": fleet.org.name,
        "environment": fleet.org.env,
        "problems": [each.text() for each in fleet.complaints],
        "targets": [targets[each.position] for each in mine],
    }


def is_there(looked: Looked, name: str) -> bool:
    """Whether there is a cluster of a name; nothing needs to be decided for that."""
    wanted = bare(name)
    return any(
        wanted in (each.name, each.uuid, each.ident)
        for ground in looked.grounds
        for each in ground.world.clusters
    )
