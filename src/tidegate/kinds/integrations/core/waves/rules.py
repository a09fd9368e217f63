"""How new images move through the shards of an integration: a strategy, groups, what success is."""

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


class ImageRules(msgspec.Struct, frozen=True, kw_only=True):
    """How images of one integration move."""

    strategy: Strategy
    groups: tuple[Cohort, ...] = ()
    runs: int = RUNS_DEFAULT
    failing_runs: int = FAILING_RUNS_DEFAULT
    dry_run: DryRunRule | None = None
    # Where it stands; `why` names it.
    where: str = ""
