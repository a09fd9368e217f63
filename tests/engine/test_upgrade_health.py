"""Health in the rounds of upgrades: an enforced check holds unless all is known to be well."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.upgrades_live import Scene, example
from tidegate.kinds.upgrades.core.world import HealthCheck
from tidegate.kinds.upgrades.health_port import Alerts
from tidegate.model.errors import OutsideError

Asked = Callable[[str], Coroutine[Any, Any, Alerts]]
ENFORCED = (HealthCheck("telemeter", True),)
SHOWN = (HealthCheck("telemeter", False),)


async def well(_org: str) -> Alerts:
    """Nothing fires."""
    return {}


async def ill(_org: str) -> Alerts:
    """One cluster is not well."""
    return {"pay-stage-1-uuid": ("Down",)}


async def silent(_org: str) -> Alerts:
    """It is not known."""
    raise OutsideError("telemeter: no answer in 20 s")


@pytest.mark.parametrize(
    "checks, alerts, moves",
    [
        (ENFORCED, well, {"pay-stage-1", "maps-1"}),
        (ENFORCED, ill, {"maps-1"}),
        (ENFORCED, silent, set()),
        (ENFORCED, None, set()),
        (SHOWN, ill, {"pay-stage-1", "maps-1"}),
        (SHOWN, silent, {"pay-stage-1", "maps-1"}),
        (SHOWN, None, {"pay-stage-1", "maps-1"}),
    ],
)
def test_what_is_not_known_to_be_well_waits_where_it_is_enforced(
    checks: tuple[HealthCheck, ...], alerts: Asked | None, moves: set[str]
) -> None:
    """An alert holds its cluster; no answer, and no one to ask, hold all; shown only, none."""
    scene = Scene(example(), health_checks=checks)
    scene.live(2.5, scene.worker(alerts=alerts))
    begun = {name for name, version in scene.versions().items() if version != "4.16.3"}
    assert begun == moves
