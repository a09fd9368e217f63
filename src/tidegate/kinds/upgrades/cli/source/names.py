"""Whether a name is one of upgrades, and the world it is read from; for `why` and `when`."""

import click

from tidegate.cli.live import journals, opened
from tidegate.kinds.upgrades.app.read.view import CLUSTER, ORGANISATION
from tidegate.kinds.upgrades.app.read.world import FleetReading
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery
from tidegate.kinds.upgrades.cli.source.reader import has_source, read_fleet
from tidegate.model.errors import UserError
from tidegate.model.target import bare


def fleet_of(query: WorldQuery, what: str) -> FleetReading | None:
    """The world, if a name is of upgrades; None: look it up in the journal of rollouts."""
    plainly = what.startswith(ORGANISATION) or query.alone
    if not plainly and not has_source(query):
        return None
    if not plainly and not what.startswith(CLUSTER) and _is_rolled_out(query, what):
        return None
    fleet = read_fleet(query)
    if not plainly and not fleet.has_cluster(bare(what)) and _is_rolled_out(query, what):
        return None
    return fleet


def _is_rolled_out(query: WorldQuery, what: str) -> bool:
    """Whether the journal has a rollout or a target with a name."""
    try:
        with opened(query.settings.database) as store:
            journals(store).find_target(what)
    except (UserError, click.UsageError):
        return False
    return True
