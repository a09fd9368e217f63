"""Law: looking only at what may have changed foresees what looking at everything does.

`forecast` decides again only where a gate may be open by then; `tests/plain_forecast.py` decides on
every cluster in every look. Both foresee the same steps at the same moments, and the same reasons
for those who go no further.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given

from tests.plain_forecast import plain_forecast
from tests.property import test_upgrade_addon_laws as addon_laws
from tests.property.fleet_worlds import fleet_world
from tests.property.test_upgrade_laws import worlds
from tests.sim import sized
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedUpgrades
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast, forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.time import SECOND, Duration, Instant, format_second

DAY = 24 * 3600 * SECOND
PACE = UpgradePace(horizon=Duration(15 * DAY))
# Fleets that reach every branch that the first 80 reach, and addons those of the first 25. In 0 a
# block matters: without it, one that forecasts do not see would not be found.
FLEETS = (41, 59, 35, 47, 24, 37, 28, 48, 2, 1, 52, 45, 17, 0)
ADDONS = (3, 23, 17, 5, 6, 1, 22)


def lines(outlook: FleetForecast) -> list[str]:
    """What is expected of every cluster, to be read."""
    return [line for each in outlook.expected.values() for line in _lines(each)]


def _lines(one: ExpectedUpgrades) -> list[str]:
    name = one.cluster.uuid
    found = [
        f"{name} {leg.doing.value} {leg.pool} {leg.before}→{leg.version}"
        f" {format_second(leg.asked_at) if leg.asked_at is not None else 'before'}"
        f" {format_second(leg.starts_at)} {leg.ends_at}"
        for leg in one.legs
    ]
    return [*found, f"{name} then {one.wanted} {one.beyond}"]


def is_alike(one: ExpectedUpgrades, other: ExpectedUpgrades) -> bool:
    """Whether the same keeps a cluster; how long a version soaks depends on the last look."""
    if one.held is None or other.held is None:
        return one.held is other.held
    reasons = (one.held.reason, other.held.reason)
    return VersionReason.VersionSoaking in reasons or one.held.facts == other.held.facts


def agree(world: UpgradeWorld) -> int:
    """Both see the same; how many steps."""
    found, plain = forecast(world, world.now, PACE), plain_forecast(world, world.now, PACE)
    assert lines(found) == lines(plain)
    assert all(is_alike(each, plain.expected[uuid]) for uuid, each in found.expected.items())
    return sum(len(each.legs) for each in found.expected.values())


def test_a_fleet_in_motion_is_foreseen_alike() -> None:
    """Mutexes, sectors, limits, soak, inheritance, gates, channels, brakes and owners' own."""
    seeds = {*FLEETS, *range(sized(0, 0, 1000))}
    steps = [agree(read_upgrades(fleet_world(seed)).world) for seed in seeds]
    assert sum(steps) > len(steps)


@given(worlds())
def test_odd_clusters_are_foreseen_alike(asked: dict[str, Any]) -> None:
    """Unreadable labels, equal names, two policies for one thing, alerts, expedited versions."""
    agree(read_upgrades(asked).world)


def test_addons_are_foreseen_alike() -> None:
    """They take mutexes and sectors, and start at moments of their own."""
    for seed in {*ADDONS, *range(sized(0, 0, 200))}:
        agree(read_upgrades(addon_laws.drawn(seed)).world)


@pytest.mark.parametrize("minutes", [1, 30, 110])
def test_an_old_reading_is_foreseen_alike(minutes: int) -> None:
    """What was read some time ago soaks on from there."""
    for seed in {*FLEETS[:8], *range(sized(0, 0, 100))}:
        read = read_upgrades(fleet_world(seed)).world
        read_at = Instant(read.now - minutes * 60 * SECOND)
        agree(msgspec.structs.replace(read, read_at=read_at))
