"""Policies, started from settings: those of one hub that have a rollout."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.engine.started import Started
from tidegate.kinds.policies.fleet import WORD, PolicyFleet
from tidegate.kinds.policies.kind import PolicyKind
from tidegate.kinds.rollouts.telemetry.observer import RolloutTelemetry
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.kinds.policies.bundle import FiledRollout


def start(settings: Settings, _seed: int) -> Started | None:
    """The policies of the hub that is set; None: none is."""
    if not settings.hub:
        return None
    from tidegate.wiring.outside import cluster

    hub = cluster(None, settings.hub, nullcontext)
    fleet = PolicyFleet(hub, files=files_of(settings))
    return Started(PolicyKind(fleet), RolloutTelemetry(), hub.close, (WORD,))


def files_of(settings: Settings) -> "Callable[[], tuple[FiledRollout, ...]] | None":
    """What reads the Rollouts in files; None: none are set."""
    if not settings.policies:
        return None
    return partial(_filed, Path(settings.policies), settings.revision or None)


def _filed(folder: Path, revision: str | None) -> "tuple[FiledRollout, ...]":
    from tidegate.kinds.policies.bundle import POLICIES_SECTION
    from tidegate.wiring.bundles import bundle_cache, read_bundle
    from tidegate.wiring.repositories import open_tree

    bundle = read_bundle(open_tree(folder, revision), bundle_cache())
    return POLICIES_SECTION.of(bundle).rollouts
