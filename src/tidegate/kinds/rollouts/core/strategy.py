"""What people write about a rollout, as types: the strategy, and what is remembered of it."""

import enum

import msgspec

from tidegate.model.limit import Limit
from tidegate.model.selector import Selector
from tidegate.model.time import Duration


class StrategyType(enum.Enum):
    """How a rollout moves through its groups."""

    ALL = "All"  # all targets at once
    PROGRESSIVE = "Progressive"  # a few at a time, whatever their group
    PROGRESSIVE_PER_GROUP = "ProgressivePerGroup"  # group after group
    MANUAL_PER_GROUP = "ManualPerGroup"  # group after group, among those that are approved


class OnFailure(enum.Enum):
    """What happens to touched targets when the failure budget is spent."""

    PAUSE = "pause"  # they stay where they are
    ROLLBACK = "rollback"  # they return to the last good revision


class OnNewRevision(enum.Enum):
    """What happens to a rollout under way when a newer revision is declared."""

    FINISH = "finish"  # it completes first, so that daily merges do not starve the last group
    SUPERSEDE = "supersede"  # the newest starts at once, from the first group


class OrderBy(enum.Enum):
    """Which targets go first where not all go at once."""

    NAME = "name"
    LABEL = "label"  # the smaller number in a label
    SPREAD = "spread"  # one of each value of a label in turn


class Ordering(msgspec.Struct, frozen=True):
    """Which targets go first where not all go at once."""

    by: OrderBy = OrderBy.NAME
    label: str = ""


class GroupRef(msgspec.Struct, frozen=True):
    """A mandatory group, by name (every group of that name) or by index."""

    name: str = ""
    index: int | None = None


class Strategy(msgspec.Struct, frozen=True):
    """How a rollout moves; every limit and duration already typed."""

    type: StrategyType
    soak: Duration = Duration(0)
    # None: a target may take for ever.
    deadline: Duration | None = None
    # None: failures stop nothing (strategy All).
    max_failures: Limit | None = Limit(0)
    # None: no ceiling.
    max_concurrency: Limit | None = None
    mandatory: tuple[GroupRef, ...] = ()
    on_failure: OnFailure = OnFailure.PAUSE
    on_new_revision: OnNewRevision = OnNewRevision.FINISH
    ordering: Ordering = Ordering()
    # Targets whose status counts neither way; None: none.
    ignore: Selector | None = None

    @property
    def per_group(self) -> bool:
        """Whether groups go one after the other, each with a failure budget of its own."""
        return self.type in (StrategyType.PROGRESSIVE_PER_GROUP, StrategyType.MANUAL_PER_GROUP)


class Approvals(msgspec.Struct, frozen=True):
    """Which groups are approved, and for which revisions."""

    groups: frozenset[str] = frozenset()
    ungrouped: bool = False
    # None: a standing approval, good for every revision.
    for_version: str | None = None


class Retry(enum.Enum):
    """What a person asked to retry."""

    NOTHING = "nothing"
    FAILED = "failed"
    EVERYTHING = "everything"


def wider(one: Retry, other: Retry) -> Retry:
    """The one of two retries that includes the other."""
    order = list(Retry)
    return max(one, other, key=order.index)


class Rollout(msgspec.Struct, frozen=True):
    """What is remembered of the rollout under way."""

    uid: str | None = None
    # What approvals are given for; None: the revision itself.
    version: str | None = None
    # The revision under way where it is not (or no longer) the declared one.
    revision: str | None = None
    completed: bool = False
    paused: bool = False
    aborted: bool = False
    last_good: str | None = None
    approvals: Approvals = Approvals()
    # Of all groups.
    retry: Retry = Retry.NOTHING
    # A retry of everything: it goes in order again, even if it is the last good revision.
    restarted: bool = False
    # Of single groups, by the name that approvals have for each. Older journals have no such field,
    # and nothing is written where nothing was asked.
    retry_groups: dict[str, Retry] | msgspec.UnsetType = msgspec.UNSET
    # A declared revision that was aborted before it began. Unset: none was.
    aborted_early: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_retried(self) -> bool:
        """Whether a person asked to retry any of it."""
        return self.retry is not Retry.NOTHING or bool(self.retry_groups)

    @property
    def retried_groups(self) -> dict[str, Retry]:
        """The groups that are to be retried, each with what of it."""
        return self.retry_groups or {}
