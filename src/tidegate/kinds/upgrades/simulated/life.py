"""A simulated OpenShift Cluster Manager that goes on: clusters upgrade while a worker looks."""

from tidegate.engine.started import Living, Started
from tidegate.kinds.upgrades.health_port import Alerts
from tidegate.kinds.upgrades.kind import UpgradeKind
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.world_doc import OcmWorld
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.kinds.upgrades.simulated.rehearsal import (
    registered,
    standing_alerts,
    states_of,
    surveys_of,
)
from tidegate.kinds.upgrades.telemetry.observer import UpgradeTelemetry
from tidegate.machine.clock import Clock

# At speed a survey takes long by the clock of the simulation, and is none the worse for it.
LOOKS_MAX = 20


def living_upgrades(world: OcmWorld, clock: Clock, look_s: float) -> Living:
    """Every organisation of a world that begins when the clock does."""
    alerts = standing_alerts(world)

    async def ask(org: str) -> Alerts:
        return alerts.get(org, {})

    ways = {name: SimulatedClusters(each, clock) for name, each in states_of(world).items()}
    surveys = surveys_of(ways, registered(world), clock, look_s, ask, LOOKS_MAX * look_s)
    started = Started(UpgradeKind(surveys), UpgradeTelemetry(), words=(UpgradeRules.word,))
    return Living(started=started)
