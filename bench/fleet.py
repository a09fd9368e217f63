"""The fleet of the benchmark, laid out exactly as the Go peer in bench/peer lays out its own.

`cluster-0000000` and on, cut in name order into ten groups. A strategy and a stage make a scenario:

    fresh   no target has a status
    half    the first half has one: Succeeded a day ago, its last tenth Progressing for a minute
    done    every target Succeeded a day ago
    apart   every target Progressing, each since an instant of its own: no verdict can be shared

Of 1,000 targets, half way: 0 to 449 succeeded, 450 to 499 are in flight, 500 to 999 were never
touched. `apart` is the worst case for memory; the peer does not know it.
"""

from collections.abc import Iterator

import msgspec

from tidegate.kinds.rollouts.core.compat import rules as compat
from tidegate.kinds.rollouts.core.strategy import (
    Approvals,
    GroupRef,
    Rollout,
    Strategy,
    StrategyType,
)
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld, build_world
from tidegate.model.limit import Limit
from tidegate.model.problem import Problems
from tidegate.model.target import Status, Target
from tidegate.model.time import Duration, Instant, parse_duration, parse_instant

GROUPS = 10
# One target in twenty is in flight: half of what the limit allows, so there are slots to fill.
IN_FLIGHT_SHARE = 20
NOW = parse_instant("2026-01-01T00:00:00Z")
SUCCEEDED_AT = Instant(NOW - parse_duration("24h"))
IN_FLIGHT_AT = Instant(NOW - parse_duration("1m"))

LEGEND = """\
PerGroup is ProgressivePerGroup, ProgMand is Progressive with a mandatory group, Manual is
ManualPerGroup with half of the groups approved. fresh: no target has a status. half: 45 % done,
5 % in flight. done: all. apart: all in flight, each since an instant of its own.
Times are CPU time, the best of several rounds."""

STAGES = ("fresh", "half", "done")
APART = "apart"

_DEADLINE: Duration = parse_duration("10m")
_TENTH = Limit(10, percent=True)
_FIRST_GROUP = (GroupRef("group-0"),)

STRATEGIES = {
    "All": Strategy(StrategyType.ALL, deadline=_DEADLINE, max_failures=None),
    "Progressive": Strategy(
        StrategyType.PROGRESSIVE, deadline=_DEADLINE, max_failures=_TENTH, max_concurrency=_TENTH
    ),
    "PerGroup": Strategy(
        StrategyType.PROGRESSIVE_PER_GROUP, deadline=_DEADLINE, max_failures=_TENTH
    ),
    "ProgMand": Strategy(
        StrategyType.PROGRESSIVE,
        deadline=_DEADLINE,
        max_failures=_TENTH,
        max_concurrency=_TENTH,
        mandatory=_FIRST_GROUP,
    ),
    "Manual": Strategy(StrategyType.MANUAL_PER_GROUP, deadline=_DEADLINE, max_failures=_TENTH),
}

COMPAT_STRATEGIES = {
    "All": compat.CompatStrategy("All", "10m", failures_max="10%"),
    "Progressive": compat.CompatStrategy("Progressive", "10m", Duration(0), "10%", "10%"),
    "PerGroup": compat.CompatStrategy("ProgressivePerGroup", "10m", failures_max="10%"),
    "ProgMand": compat.CompatStrategy(
        "Progressive", "10m", Duration(0), "10%", "10%", (compat.GroupKey("group-0"),)
    ),
}

# The first half of the groups is approved; only ManualPerGroup asks.
_ROLLOUT = Rollout(approvals=Approvals(frozenset(f"group-{i}" for i in range(GROUPS // 2))))


class Scenario(msgspec.Struct, frozen=True):
    """A strategy at a stage of its rollout."""

    strategy: str
    stage: str

    @property
    def name(self) -> str:
        """What the peer calls it too."""
        return f"{self.strategy}/{self.stage}"


OURS = tuple(Scenario(strategy, stage) for strategy in STRATEGIES for stage in STAGES)
SHARED = tuple(each for each in OURS if each.strategy in COMPAT_STRATEGIES)
WORST = Scenario("All", APART)


class Fleet(msgspec.Struct, frozen=True):
    """What is known before anything is built or decided."""

    scenario: Scenario
    memberships: list[Membership]
    statuses: list[Target]

    def build(self) -> RolloutWorld:
        """The world of our rules."""
        return build_world(
            STRATEGIES[self.scenario.strategy],
            self.memberships,
            self.statuses,
            problems=Problems(),
            rollout=_ROLLOUT,
        )

    def compat_world(self) -> compat.CompatWorld:
        """The world of the compat rules."""
        keys = [compat.GroupKey(one.name, one.index) for one in self.memberships]
        groups = [
            compat.CompatGroup(key, one.clusters)
            for key, one in zip(keys, self.memberships, strict=True)
        ]
        home = {name: group.key for group in groups for name in group.clusters}
        statuses = [
            compat.ClusterStatus(one.name, one.status.name, one.since, home[one.name])
            for one in self.statuses
        ]
        return compat.CompatWorld(groups, statuses, COMPAT_STRATEGIES[self.scenario.strategy])


def lay_out(scenario: Scenario, size: int) -> Fleet:
    """A fleet of that size at that stage."""
    members: list[list[str]] = [[] for _ in range(GROUPS)]
    for i in range(size):
        members[i * GROUPS // size].append(_name(i))
    memberships = [Membership(f"group-{i}", i, tuple(names)) for i, names in enumerate(members)]
    return Fleet(scenario, memberships, list(_statuses(scenario.stage, size)))


def _statuses(stage: str, size: int) -> Iterator[Target]:
    if stage == APART:
        for i in range(size):
            yield Target(_name(i), Status.Progressing, Instant(IN_FLIGHT_AT - i))
        return
    touched = {"fresh": 0, "half": size // 2, "done": size}[stage]
    flying = size // IN_FLIGHT_SHARE if stage == "half" else 0
    for i in range(touched):
        if i < touched - flying:
            yield Target(_name(i), Status.Succeeded, SUCCEEDED_AT)
        else:
            yield Target(_name(i), Status.Progressing, IN_FLIGHT_AT)


def _name(i: int) -> str:
    return f"cluster-{i:07d}"
