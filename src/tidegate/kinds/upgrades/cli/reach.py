"""The clusters that a brake covers, as commands on brakes count them."""

from tidegate.cli.braking import Reach
from tidegate.gates.brakes import Brakes
from tidegate.kinds.upgrades.app.brake_reach import brake_reach
from tidegate.model.time import Instant
from tidegate.store.port import Store


def clusters_reached(
    store: Store, field: str, brakes: Brakes, now: Instant
) -> tuple[list[Reach], set[str]]:
    """What a brake covers, organisation by organisation; and the names of all clusters."""
    found = brake_reach(store, field, brakes, now)
    reached = [
        Reach(
            each.partition,
            waiting=list(each.waiting),
            moving=list(each.moving),
            others=each.others,
            ahead=dict(each.ahead),
        )
        for each in found.items
    ]
    return reached, set(found.clusters)
