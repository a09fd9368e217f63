"""`tidegate why` of clusters that upgrade by their labels: one in full, or an organisation's."""

from collections.abc import Iterable
from typing import Any

import click

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.kinds.upgrades.app.explanation import (
    ClusterExplanation,
    OrganisationExplanationList,
    explain_cluster,
    explain_organisations,
    is_organisation,
)
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery
from tidegate.kinds.upgrades.cli.source.service import served_answer
from tidegate.kinds.upgrades.cli.text.answer import finish
from tidegate.kinds.upgrades.cli.text.why import cluster_tree, organisation_lines
from tidegate.kinds.upgrades.core.service import CLUSTER, ORGANISATION
from tidegate.model.errors import UserError


def show_upgrades(query: WorldQuery, fleet: FleetReading, name: str, output: str) -> None:
    """Print why a cluster waits, gate by gate; every cluster of an organisation; or all of them."""
    if name and not is_organisation(name):
        _show(explain_cluster(fleet, name, query.mode), query, output)
    else:
        _show(explain_organisations(fleet, name, query.mode), query, output)


def shown_by_service(query: WorldQuery, name: str, output: str) -> bool:
    """Whether a service has all of a cluster or an organisation, and it was printed.

    A caller that sees a part of it is answered as for targets of any kind.
    """
    if not name.startswith((ORGANISATION, CLUSTER)):
        return False
    kinds = (ClusterExplanation, OrganisationExplanationList)
    try:
        found: Any = served_answer(query, f"/upgrades/{name}", *kinds, mode=query.mode)
    except UserError:
        return False
    if found is not None:
        _show(found, query, output)
    return found is not None


def _show(
    found: ClusterExplanation | OrganisationExplanationList, query: WorldQuery, output: str
) -> None:
    if output != "table":
        emit(found, output)
    elif isinstance(found, ClusterExplanation):
        _print(cluster_tree(found, found.now), query)
    else:
        if not found.items:
            click.echo("no organisation that is served has a cluster with labels", err=True)
        _print(organisation_lines(found, terminal_width()), query)
    finish(found)


def _print(lines: Iterable[str], query: WorldQuery) -> None:
    colour = wants_colour(query.settings.color)
    for line in lines:
        say(line, colour)
