"""The status of a Rollout object stays small, however large the fleet."""

import msgspec

from tests.hub_stage import HubStage
from tidegate.kinds.policies.wire.event_doc import events_between
from tidegate.kinds.policies.wire.status_doc import CLUSTERS_MAX, GROUPS_MAX, status_of
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.core.strategy import Rollout, Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld, build_world
from tidegate.model.limit import Limit
from tidegate.model.problem import Problems
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant, parse_instant

NOW = parse_instant("2026-01-05T10:00:00Z")
# What an API server takes at most is five times as much.
BYTES_MAX = 300_000


def world(clusters: int, groups: int, status: Status) -> RolloutWorld:
    """A fleet in which every cluster says the same, with the longest words."""
    names = [f"{'c' * 50}-{at:05d}" for at in range(clusters)]
    members = [
        Membership(f"{'g' * 50}-{at:05d}", at, tuple(names[at::groups])) for at in range(groups)
    ]
    said = [Target(each, status, Instant(NOW), "r1", detail="é" * 5000) for each in names]
    strategy = Strategy(StrategyType.PROGRESSIVE, max_failures=Limit(100, percent=True))
    return build_world(strategy, members, said, problems=Problems(), revision="r1")


def status(clusters: int, groups: int, said: Status) -> dict[str, object]:
    """The status of such a fleet."""
    seen = world(clusters, groups, said)
    document = {"metadata": {"name": "web"}}
    return status_of(seen, decide(seen, NOW), Rollout(), document, NOW)


def test_a_large_fleet_in_which_all_fails_has_a_small_status() -> None:
    """The first are named, the others counted."""
    found = status(2000, 1500, Status.Failed)
    assert len(msgspec.json.encode(found)) < BYTES_MAX
    named, groups = found["exceptionalClusters"], found["decisionGroups"]
    assert isinstance(named, list)
    assert isinstance(groups, list)
    assert (len(named), found["exceptionalClustersNotNamed"]) == (CLUSTERS_MAX, 2000 - CLUSTERS_MAX)
    assert (len(groups), found["decisionGroupsNotNamed"]) == (GROUPS_MAX, 1500 - GROUPS_MAX)
    assert found["clusters"]["failed"] == 2000  # type: ignore[index]


def test_many_groups_that_end_at_once_are_few_events() -> None:
    """No more than one of each kind, and each of them fits."""
    found = events_between({}, status(600, 300, Status.Succeeded))
    assert [each.reason.value for each in found] == [
        *("RolloutStarted", "GroupStarted", "GroupDone", "RolloutSucceeded")
    ]
    assert "300 groups" in found[1].note


def test_a_stage_has_no_status_before_a_worker_acts() -> None:
    """So that the first Event is not taken for a second."""
    assert HubStage().status() == {}
    assert events_between({}, {}) == []
