"""A world of upgrades in a document, as `decide upgrades` reads one.

A file that lists versions is a world for the simulator as well: what its clusters are offered
follows from that list, as there. Lines of other programs say themselves what is offered.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tidegate.kinds.upgrades.app.read.world import WorldReading, narrowed, service_in
from tidegate.kinds.upgrades.ocm.simulated.versions import with_offers
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.time import Instant


def is_world(data: object) -> bool:
    """Whether a document is a world of upgrades, and not a rollout."""
    return isinstance(data, dict) and "orgs" in data and "clusters" in data


def read_world_document(
    data: Mapping[str, Any],
    where: str,
    orgs: Sequence[str] = (),
    moment: Callable[[Instant], Instant] = lambda now: now,
) -> WorldReading:
    """The world in a document; UserError if it cannot be used.

    `moment` turns the moment that the document was taken into the one in question.
    """
    read = read_upgrades(with_offers(data))
    now = moment(read.world.now)
    read_at = min(read.world.now, now)
    world = msgspec.structs.replace(read.world, now=now, read_at=read_at)
    return WorldReading(
        world=narrowed(world, orgs),
        service=service_in(world),
        where=where,
        read_at=read_at,
        notes=read.warnings,
    )
