"""Policies, started from settings: those of one hub that have a rollout."""

from tidegate.engine.started import Started
from tidegate.kinds.policies.fleet import WORD, PolicyFleet
from tidegate.kinds.policies.kind import PolicyKind
from tidegate.kinds.rollouts.telemetry.observer import RolloutTelemetry
from tidegate.settings.settings import Settings


def start(settings: Settings, _seed: int) -> Started | None:
    """The policies of the hub that is set; None: none is."""
    if not settings.hub:
        return None
    from tidegate.wiring import cluster

    hub = cluster(None, settings.hub)
    return Started(PolicyKind(PolicyFleet(hub)), RolloutTelemetry(), hub.close, (WORD,))
