"""What the rollout library of Open Cluster Management decides, decision for decision.

Frozen. A fleet that comes from that library starts here and sees no decision change; it moves to
the strict rules once the differences were shown. So this module copies what the library does, not
what it is meant to do, and changes only where it is caught deciding otherwise. It shares parsers
with the strict rules and nothing else: it gives no verdicts, and gains no features.

Some of what is kept on purpose, with numbers:

- A target that reports no time changed status just now, at every read: it soaks for ever and never
  times out, save with a deadline of `0s`, which has always passed.
- Failures are counted by name until the slots are full. With one slot and nothing tolerated,
  `a` waiting and `b`, `c` failed starts `a` and reports no breach.
- A group is passed when those in flight are no more than the failures so far: one target that timed
  out and one still in flight make 1 - 1 = 0, and the next group starts.
- Of K group indexes only 0 to K-1 are seen: {0, 2} loses group 2, whose targets count as removed.
  Only `mandatoryDecisionGroups` still finds it.

Where the library draws lots, the first name or the lowest index is taken here.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from tidegate.kinds.rollouts.core.compat.limits import parse_deadline, size
from tidegate.model.time import DURATION_MAX, Duration, Instant

TO_APPLY = "ToApply"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
TIME_OUT = "TimeOut"
SKIP = "Skip"
# Any word but these five, `Progressing` included, is taken as in flight.


class GroupKey(msgspec.Struct, frozen=True, gc=False):
    """What the library knows a group by."""

    name: str = ""
    index: int = 0


NO_KEY = GroupKey()


class CompatGroup(msgspec.Struct, frozen=True, gc=False):
    """Clusters that were placed together."""

    key: GroupKey
    clusters: Sequence[str] = ()


class ClusterStatus(msgspec.Struct, frozen=True, gc=False):
    """A cluster's status, in questions and answers alike."""

    cluster: str
    status: str
    # None: it did not say.
    since: Instant | None = None
    # In questions whatever the caller says; it is only echoed.
    group: GroupKey = NO_KEY
    # Set in answers only: when its soak or its deadline ends.
    recheck_at: Instant | None = None


class CompatStrategy(msgspec.Struct, frozen=True):
    """A strategy's type and the fields of the object of that type; what All ignores included."""

    type: str
    deadline: str = ""
    soak: Duration = Duration(0)
    failures_max: int | str = 0
    concurrency_max: int | str = 0
    # A name means every group that has it; without a name the index counts.
    mandatory: tuple[GroupKey, ...] = ()


class CompatWorld(msgspec.Struct, frozen=True):
    """Everything the library is given."""

    groups: Sequence[CompatGroup]
    statuses: Sequence[ClusterStatus]
    strategy: CompatStrategy
    # Why the typed decoding before the library refused the strategy; empty: it did not.
    refused: str = ""


class CompatResult(msgspec.Struct, frozen=True):
    """Everything the library answers; with an error, the rest is empty."""

    to_rollout: Sequence[ClusterStatus] = ()
    timed_out: Sequence[ClusterStatus] = ()
    removed: Sequence[ClusterStatus] = ()
    breached: bool = False
    # None: time alone changes nothing.
    recheck_after: Duration | None = None
    error: str = ""


def decide(world: CompatWorld, now: Instant) -> CompatResult:
    """What the library answers to this world at this moment."""
    if world.refused:
        return CompatResult(error=world.refused)
    rule = _RULES.get(world.strategy.type)
    if rule is None:
        return CompatResult(error=f'strategy.type: the library knows no "{world.strategy.type}"')
    groups = _by_index(world.groups)
    visible = [group for group in groups if 0 <= group.key.index < len(groups)]
    current, removed = _split(visible, world.statuses)
    mandatory = _named(groups, world.strategy.mandatory)
    try:
        deadline = parse_deadline(world.strategy.deadline)
        draft = rule(_Scene(world.strategy, visible, mandatory, current, deadline, now))
    except ValueError as error:
        return CompatResult(error=str(error))
    wait = _shortest_wait(draft.to_rollout, now)
    return CompatResult(draft.to_rollout, draft.timed_out, removed, draft.breached, wait)


def _by_index(groups: Iterable[CompatGroup]) -> list[CompatGroup]:
    """One group an index, in their order; parts with one key are joined, each cluster once."""
    parts: dict[int, dict[str, set[str]]] = {}
    for group in groups:
        names = parts.setdefault(group.key.index, {})
        names.setdefault(group.key.name, set()).update(group.clusters)
    return [
        CompatGroup(GroupKey(min(names), index), sorted(names[min(names)]))
        for index, names in sorted(parts.items())
    ]


def _named(groups: list[CompatGroup], wanted: Sequence[GroupKey]) -> list[CompatGroup]:
    """The groups that are meant, by index, whatever the order in which they are wanted."""
    names = {one.name for one in wanted if one.name}
    indexes = {one.index for one in wanted if not one.name}
    return [group for group in groups if group.key.name in names or group.key.index in indexes]


def _split(
    visible: list[CompatGroup], statuses: Sequence[ClusterStatus]
) -> tuple[list[ClusterStatus], list[ClusterStatus]]:
    """Statuses of visible clusters and the removed ones, in their order."""
    members = {cluster for group in visible for cluster in group.clusters}
    current = [each for each in statuses if each.cluster in members and each.cluster]
    return current, [each for each in statuses if each.cluster not in members]


class _Scene(msgspec.Struct, frozen=True):
    """What a rule reads."""

    strategy: CompatStrategy
    visible: list[CompatGroup]
    mandatory: list[CompatGroup]
    current: list[ClusterStatus]
    deadline: Duration
    now: Instant

    def draft(self, soak: Duration) -> "_Draft":
        return _Draft(soak, self.deadline, self.now)

    def rest(self) -> list[CompatGroup]:
        """What is visible and not mandatory."""
        mandatory = {group.key for group in self.mandatory}
        return [group for group in self.visible if group.key not in mandatory]

    def cluster_count(self) -> int:
        return len({cluster for group in self.visible for cluster in group.clusters})


class _Draft:
    """An answer in the making."""

    def __init__(self, soak: Duration, deadline: Duration, now: Instant) -> None:
        self.to_rollout: list[ClusterStatus] = []
        self.timed_out: list[ClusterStatus] = []
        self.breached = False
        self._soak, self._deadline, self._now = soak, deadline, now

    def file(self, one: ClusterStatus) -> str:
        """Put a status on the list it belongs to, if any; the word it ends with."""
        if one.status in (TIME_OUT, SKIP):
            return one.status
        if one.status == TO_APPLY:
            self.to_rollout.append(one)
            return TO_APPLY
        soaking = one.status == SUCCEEDED
        duration = self._soak if soaking else self._deadline
        if duration == DURATION_MAX:  # no soak at all, and no deadline at all
            if not soaking:
                self.to_rollout.append(one)
            return one.status
        ends_at = Instant((self._now if one.since is None else one.since) + duration)
        if self._now < ends_at:
            self.to_rollout.append(_until(one, one.status, ends_at))
            return one.status
        if soaking:
            return SUCCEEDED
        self.timed_out.append(_until(one, TIME_OUT, ends_at))
        return TIME_OUT

    def start(self, cluster: str, group: GroupKey) -> None:
        self.to_rollout.append(ClusterStatus(cluster, TO_APPLY, None, group))


def _until(one: ClusterStatus, status: str, ends_at: Instant) -> ClusterStatus:
    return ClusterStatus(one.cluster, status, one.since, one.group, ends_at)


def _all(scene: _Scene) -> _Draft:
    count = scene.cluster_count()
    return _per_cluster(scene, scene.visible, count, count, Duration(0))


def _progressive(scene: _Scene) -> _Draft:
    failures_max = _limit("maxFailures", scene.strategy.failures_max, scene.cluster_count(), 0)
    if (draft := _mandatory(scene)) is not None:
        return draft
    rest = scene.rest()
    total = len({cluster for group in rest for cluster in group.clusters})
    window = _limit("maxConcurrency", scene.strategy.concurrency_max, total, total)
    return _per_cluster(scene, rest, window, failures_max, scene.strategy.soak)


def _progressive_per_group(scene: _Scene) -> _Draft:
    _limit("maxFailures", scene.strategy.failures_max, scene.cluster_count(), 0)
    if (draft := _mandatory(scene)) is not None:
        return draft
    return _per_group(scene, scene.rest(), scene.strategy.failures_max)


_RULES: dict[str, Callable[[_Scene], _Draft]] = {
    "All": _all,
    "Progressive": _progressive,
    "ProgressivePerGroup": _progressive_per_group,
}


def _limit(name: str, limit: int | str, total: int, default: int) -> int:
    try:
        return size(limit, total, default)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _mandatory(scene: _Scene) -> _Draft | None:
    """What the mandatory groups ask for; None once there is neither work nor a fresh time-out."""
    if not scene.mandatory:
        return None
    draft = _per_group(scene, scene.mandatory, 0)
    return draft if draft.to_rollout or draft.timed_out else None


def _per_cluster(
    scene: _Scene, groups: list[CompatGroup], window: int, failures_max: int, soak: Duration
) -> _Draft:
    """By name: first those with a status, then those without one, until the window is full."""
    draft = scene.draft(soak)
    failures = 0
    for one in sorted(scene.current, key=lambda one: one.cluster):
        if not (draft.breached and one.status == TO_APPLY):
            failures += draft.file(one) in (TIME_OUT, FAILED)
            draft.breached = failures > failures_max
        if len(draft.to_rollout) >= window:
            return draft
    if draft.breached:
        return draft
    keys = {cluster: group.key for group in reversed(groups) for cluster in group.clusters}
    for cluster in sorted(keys.keys() - {one.cluster for one in scene.current}):
        draft.start(cluster, keys[cluster])
        if len(draft.to_rollout) >= window:
            break
    return draft


def _per_group(scene: _Scene, groups: list[CompatGroup], failures_max: int | str) -> _Draft:
    """Group by group, until more is in flight, in whatever group, than has failed so far."""
    draft = scene.draft(scene.strategy.soak)
    words = {one.cluster: draft.file(one) for one in scene.current if one.status != TO_APPLY}
    failures = 0
    for group in groups:
        tolerated = size(failures_max, len(group.clusters), 0)
        failed = 0
        for cluster in group.clusters:
            if cluster not in words:
                draft.start(cluster, group.key)
            failed += words.get(cluster) in (TIME_OUT, FAILED)
        draft.breached = failed > tolerated
        failures += failed
        if draft.breached or len(draft.to_rollout) > failures:
            break
    return draft


def _shortest_wait(to_rollout: Sequence[ClusterStatus], now: Instant) -> Duration | None:
    """Go keeps a duration in 64 bits: a longer wait is the longest it can say."""
    ends = (one.recheck_at for one in to_rollout if one.recheck_at is not None)
    waits = (end - now for end in ends if end > now)
    shortest = min(waits, default=None)
    return None if shortest is None else Duration(min(shortest, DURATION_MAX))
