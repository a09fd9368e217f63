"""Integrations, started from settings: a bundle's shards, on the clusters that it names.

Two kinds of partitions share one reading of the bundle and of each namespace: images move through
the shards of an integration by its rules, and whatever else is declared of a namespace's objects.
"""

from tidegate.engine.started import Started
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.integrations.cli.shard_fleet import ShardFleet
from tidegate.kinds.integrations.cli.site import removals_of
from tidegate.kinds.integrations.kind import NamespaceKind
from tidegate.kinds.rollouts.start import BUNDLE, started
from tidegate.model.problem import Problem
from tidegate.settings.settings import Settings
from tidegate.telemetry.kind import KindTelemetry


def start(settings: Settings, _seed: int) -> list[Started]:
    """The shards of the bundle that is set; none: the fleet is another one."""
    if settings.fleet != BUNDLE:
        return []
    words = (KindOfChange.INTEGRATIONS.value,)
    fleet = ShardFleet(settings, _warn)
    namespaces = NamespaceKind(fleet, removals_of(settings))
    # What both hold open is closed once, with the images.
    return [started(fleet, words), Started(namespaces, KindTelemetry(), words=words)]


def _warn(problem: Problem) -> None:
    from tidegate.wiring import warn

    warn(problem.text())
