"""How new images move through the shards of an integration: a strategy, groups, what success is.

And how everything else changes that is declared of them: at once, group after group, or by hand.
"""

import enum

import msgspec

from tidegate.kinds.rollouts.core.strategy import Strategy
from tidegate.model.selector import Selector

# A reconcile loop stays up while every run fails: so many runs must end well, or badly, in a row.
RUNS_DEFAULT, FAILING_RUNS_DEFAULT = 3, 3
# Shards that no group chooses go last, together.
REST = "the rest"


class Cohort(msgspec.Struct, frozen=True):
    """Shards that go together: those whose labels a selector chooses and no earlier one did."""

    name: str
    selector: Selector


class DryRunRule(msgspec.Struct, frozen=True):
    """The new image is run once on the data of a shard, changing nothing, before any shard gets it.

    What it says is compared with what the old image says.
    """

    # Which shard it is tried on; None: the first of the first group.
    shard: str | None = None
    # A difference that was read and accepted, by its digest.
    accepts: tuple[str, ...] = ()


class ChangePace(enum.Enum):
    """When a change is carried out that is no image under a rollout."""

    AT_ONCE = "atOnce"
    WAVES = "waves"  # group after group, as images move
    BY_HAND = "byHand"  # `serve` shows it, and `apply` does it


class ChangeRules(msgspec.Struct, frozen=True, kw_only=True):
    """When each class of change is carried out; the defaults are what the existing manager does."""

    # Workloads that are not there yet; `waves`: the rollout of images creates them.
    new: ChangePace = ChangePace.AT_ONCE
    # Changes of one shard with an override.
    overrides: ChangePace = ChangePace.AT_ONCE
    # Resources, arguments, replicas, variables: whatever else differs.
    fields: ChangePace = ChangePace.AT_ONCE
    # What was changed on the cluster since it was applied.
    drift: ChangePace = ChangePace.AT_ONCE
    removals: ChangePace = ChangePace.AT_ONCE


class MoveVia(enum.Enum):
    """What a rollout writes to give a shard its image."""

    CLUSTER = "cluster"  # the workload itself
    GIT = "git"  # the shard's override in the bundle, by a merge request


class ImageRules(msgspec.Struct, frozen=True, kw_only=True):
    """How images of one integration move."""

    strategy: Strategy
    groups: tuple[Cohort, ...] = ()
    runs: int = RUNS_DEFAULT
    failing_runs: int = FAILING_RUNS_DEFAULT
    dry_run: DryRunRule | None = None
    changes: ChangeRules = ChangeRules()
    via: MoveVia = MoveVia.CLUSTER
    # Where it stands; `why` names it.
    where: str = ""
