"""Whether a name is one of upgrades, and the world it is read from; for `why` and `when`."""

from typing import TYPE_CHECKING

import click

from tidegate.cli.live import journals, opened
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery
from tidegate.kinds.upgrades.cli.source.recorded import is_recorded
from tidegate.kinds.upgrades.cli.source.service import is_served
from tidegate.kinds.upgrades.core.service import CLUSTER, ORGANISATION
from tidegate.model.errors import UserError
from tidegate.model.target import bare

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.app.read.world import FleetReading


def fleet_of(query: WorldQuery, what: str) -> "FleetReading | None":
    """The world, if a name is of upgrades; None: look it up in the journal of rollouts."""
    if is_served(query):
        return None
    plainly = what.startswith(ORGANISATION) or query.alone
    if not plainly and not _has_source(query):
        return None
    if not plainly and not what.startswith(CLUSTER) and _is_rolled_out(query, what):
        return None
    # From here on it is a question about upgrades, and what answers it is imported.
    from tidegate.kinds.upgrades.cli.source.reader import read_fleet

    fleet = read_fleet(query)
    if not plainly and not fleet.has_cluster(bare(what)) and _is_rolled_out(query, what):
        return None
    return fleet


def _has_source(query: WorldQuery) -> bool:
    """Whether flags, settings or the journal name a source at all."""
    return query.alone or bool(query.settings.upgrades) or is_recorded(query.settings)


def _is_rolled_out(query: WorldQuery, what: str) -> bool:
    """Whether the journal has a rollout or a target with a name."""
    try:
        with opened(query.settings.database) as store:
            journals(store).find_target(what)
    except (UserError, click.UsageError):
        return False
    return True
