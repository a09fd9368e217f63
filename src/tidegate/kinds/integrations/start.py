"""Integrations, started from settings: images of a bundle's shards are rolled out to clusters."""

from tidegate.engine.started import Started
from tidegate.kinds.integrations.cli.shard_fleet import ShardFleet
from tidegate.kinds.rollouts.start import BUNDLE, started
from tidegate.model.problem import Problem
from tidegate.settings.settings import Settings


def start(settings: Settings, _seed: int) -> Started | None:
    """The shards of the bundle that is set; None: the fleet is another one."""
    return started(ShardFleet(settings, _warn)) if settings.fleet == BUNDLE else None


def _warn(problem: Problem) -> None:
    from tidegate.wiring import warn

    warn(problem.text())
