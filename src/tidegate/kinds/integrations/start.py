"""Integrations, started from settings: images of a bundle's shards are rolled out to clusters."""

from tidegate.engine.started import Started
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.integrations.cli.shard_fleet import ShardFleet
from tidegate.kinds.rollouts.start import BUNDLE, started
from tidegate.model.problem import Problem
from tidegate.settings.settings import Settings


def start(settings: Settings, _seed: int) -> Started | None:
    """The shards of the bundle that is set; None: the fleet is another one."""
    if settings.fleet != BUNDLE:
        return None
    return started(ShardFleet(settings, _warn), (KindOfChange.INTEGRATIONS.value,))


def _warn(problem: Problem) -> None:
    from tidegate.wiring import warn

    warn(problem.text())
