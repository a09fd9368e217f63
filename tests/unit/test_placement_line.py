"""Placement lines: what the recorded placements do not show, and everything that is refused."""

from typing import Any

import msgspec
import pytest

from tidegate.kinds.policies.wire import placement_line
from tidegate.model.errors import UserError

HUNDREDS = [f"c{i:03}" for i in range(250)]


def line(strategy: object = None, **fields: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"decisionStrategy": {"groupStrategy": strategy}}
    spec |= fields.pop("spec", {})
    placement = {"metadata": {"name": "fleet", "namespace": "ns"}, "spec": spec}
    return {"placement": placement, "clusters": []} | fields


def clusters(*names: str, **labels: str) -> list[dict[str, Any]]:
    return [{"name": name, "labels": labels} for name in names]


def answer(strategy: object = None, **fields: Any) -> Any:
    return msgspec.to_builtins(placement_line.reply(line(strategy, **fields)))


def refusal(raw: Any) -> list[str]:
    with pytest.raises(UserError) as caught:
        placement_line.reply(raw)
    return [problem.text() for problem in caught.value.problems]


def sizes(got: Any) -> list[tuple[str, int]]:
    return [(group["decisionGroupName"], group["clusterCount"]) for group in got["groups"]]


def test_a_group_is_written_in_parts_of_a_hundred() -> None:
    """250 clusters in groups of 120 make 120, 120 and 10, and decisions of 100 and 20 of each."""
    got = answer({"clustersPerDecisionGroup": 120}, clusters=clusters(*HUNDREDS))
    assert sizes(got) == [("", 120), ("", 120), ("", 10)]
    assert [len(each["clusters"]) for each in got["decisions"]] == [100, 20, 100, 20, 10]
    assert got["groups"][1]["decisions"] == ["fleet-decision-3", "fleet-decision-4"]


def test_only_so_many_clusters_are_selected_and_percentages_count_these() -> None:
    """Of 250 the first 100 by name are selected, and 7 % of 100 are 8 in doubles."""
    strategy = {"clustersPerDecisionGroup": "7%"}
    got = answer(strategy, spec={"numberOfClusters": 100}, clusters=clusters(*HUNDREDS[::-1]))
    assert [count for _, count in sizes(got)] == [8] * 12 + [4]
    assert got["decisions"][-1]["clusters"] == HUNDREDS[96:100]


def test_a_group_may_ask_for_labels_and_claims_together() -> None:
    """Both selectors of a group must hold, and the first group that matches takes the cluster."""
    claim = {"key": "region", "operator": "In", "values": ["eu"]}
    selector = {
        "labelSelector": {"matchLabels": {"env": "dev"}},
        "claimSelector": {"matchExpressions": [claim]},
    }
    strategy = {
        "decisionGroups": [
            {"groupName": "dev-eu", "groupClusterSelector": selector},
            {"groupName": "dev", "groupClusterSelector": {"labelSelector": {}}},
        ]
    }
    fleet = [
        {"name": "c1", "labels": {"env": "dev"}, "claims": {"region": "eu"}},
        {"name": "c2", "labels": {"env": "dev"}, "claims": {"region": "us"}},
        {"name": "c3", "labels": {"region": "eu"}, "claims": None},
    ]
    assert sizes(answer(strategy, clusters=fleet)) == [("dev-eu", 1), ("dev", 2)]


@pytest.mark.parametrize("strategy", [None, {}, {"clustersPerDecisionGroup": None}])
def test_without_a_strategy_all_go_together(strategy: object) -> None:
    """The default is one group without a name, and an empty one where there are no clusters."""
    assert sizes(answer(strategy, clusters=clusters("b", "a"))) == [("", 2)]
    assert sizes(answer(strategy)) == [("", 0)]


@pytest.mark.parametrize("value", ["5", 0, -1, "0%", "101%", "", "2.5%", 1.5, True, [], "5 %"])
@pytest.mark.parametrize("grouping", ["scheduler", "stable"])
def test_a_misconfigured_size_is_refused(value: object, grouping: str) -> None:
    """A size that the scheduler would make partial decisions of gets none here."""
    told = refusal(line({"clustersPerDecisionGroup": value}, grouping=grouping))
    assert len(told) == 1
    assert "groupStrategy.clustersPerDecisionGroup" in told[0]
    assert "whole number of 1 or more" in told[0]


@pytest.mark.parametrize("name", ["a", "", "-ab", "ab-", "a b", "x" * 64, 3, None])
def test_a_group_needs_a_name_the_api_takes(name: object) -> None:
    """A name outside the API's pattern is refused."""
    told = refusal(line({"decisionGroups": [{"groupName": name}]}))
    assert len(told) == 1
    assert "decisionGroups[0].groupName" in told[0]


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "env", "operator": "Like", "values": ["x"]},
        {"key": "env", "values": ["x"]},
        {"key": "env", "operator": "In"},
        {"key": "env", "operator": "Exists", "values": ["x"]},
        {"operator": "Exists"},
        {"key": "e nv", "operator": "Exists"},
        {"key": "env", "operator": "In", "values": ["a b"]},
        {"key": "env", "operator": "In", "values": [1]},
    ],
)
@pytest.mark.parametrize("kind", ["labelSelector", "claimSelector"])
def test_a_malformed_selector_is_refused(expression: object, kind: str) -> None:
    """What Kubernetes would refuse as a selector is refused, for labels and claims alike."""
    selector = {kind: {"matchExpressions": [expression]}}
    group = {"groupName": "dev", "groupClusterSelector": selector}
    assert kind in refusal(line({"decisionGroups": [group]}))[0]


def test_claims_are_matched_by_expressions_only() -> None:
    """The API has no matchLabels for claims."""
    selector = {"claimSelector": {"matchLabels": {"a": "b"}}}
    told = refusal(
        line({"decisionGroups": [{"groupName": "dev", "groupClusterSelector": selector}]})
    )
    assert "claimSelector.matchLabels: not for claims" in told[0]


def test_all_problems_of_a_line_are_reported_at_once() -> None:
    """A person who fixes a line is shown everything that is wrong with it."""
    told = refusal(
        {
            "placement": {
                "spec": {
                    "numberOfClusters": -1,
                    "decisionStrategy": {
                        "groupStrategy": {
                            "decisionGroups": [{"groupName": "dev", "clusterSelector": {}}],
                            "clustersPerDecisionGroup": "5",
                        }
                    },
                }
            },
            "clusters": [*clusters("a", "a", ""), {"name": 3}],
            "grouping": "stabel",
            "previous": [
                {"name": "dev", "index": 0, "clusters": ["a"]},
                {"name": "dev", "index": 2, "clusters": ["a"]},
            ],
        }
    )
    text = "\n".join(told)
    for said in (
        "placement.metadata.name: missing",
        "decisionGroups[0].clusterSelector: unknown field",
        '"5" is a number in quotes',
        "placement.spec.numberOfClusters: -1",
        "clusters[3].name",
        'clusters: "a" is listed more than once',
        "clusters: a cluster without a name",
        'did you mean "stable"?',
        'previous: "a" is in more than one group',
        "previous: the indexes are [0,2]",
    ):
        assert said in text


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    """A line that is no JSON object is a problem of the line, not a crash."""
    assert len(refusal(raw)) == 1


@pytest.mark.parametrize("placement", [None, {}, {"metadata": {}}, {"metadata": {"name": ""}}])
def test_a_line_needs_a_named_placement_and_clusters(placement: object) -> None:
    """Decisions are named after their placement; no clusters at all is said as an empty list."""
    told = refusal({"placement": placement})
    assert told == [
        "clusters: missing; write a list of {name, labels, claims}",
        "placement.metadata.name: missing; name the placement",
    ]


STAGES = {
    "decisionGroups": [
        {"groupName": env, "groupClusterSelector": {"labelSelector": {"matchLabels": {"env": env}}}}
        for env in ("dev", "prod")
    ],
    "clustersPerDecisionGroup": 3,
}
OLD = [
    {"name": "dev", "index": 0, "clusters": ["b", "c", "d"]},
    {"name": "dev", "index": 1, "clusters": ["e"]},
    {"name": "prod", "index": 2, "clusters": ["p"]},
]


def test_stable_groups_keep_every_target_in_place() -> None:
    """Newcomers fill the free places of their name, then open groups at the end."""
    fleet = [*clusters("a", "aa", "ab", "b", "c", "d", "e", env="dev"), *clusters("p", env="prod")]
    got = answer(STAGES, clusters=fleet, grouping="stable", previous=OLD)
    members = [each["clusters"] for each in got["decisions"]]
    assert sizes(got) == [("dev", 3), ("dev", 3), ("prod", 1), ("dev", 1)]
    assert members == [["b", "c", "d"], ["a", "aa", "e"], ["p"], ["ab"]]


def test_stable_groups_stay_when_their_last_member_leaves() -> None:
    """An empty group in the middle or the only one of its name is kept, one behind is not."""
    fleet = clusters("b", env="dev")
    got = answer(STAGES, clusters=fleet, grouping="stable", previous=OLD)
    assert sizes(got) == [("dev", 1), ("dev", 0), ("prod", 0)]
    assert [each["clusters"] for each in got["decisions"]] == [["b"], [], []]
    longer = [*OLD, {"name": "dev", "index": 3}]
    shorter = answer(STAGES, clusters=fleet, grouping="stable", previous=longer)
    assert sizes(shorter) == sizes(got)


def test_warnings_are_there_only_if_there_are_any() -> None:
    """What is probably a mistake but has one safe meaning is said beside the answer."""
    assert "warnings" not in answer()
    got = answer(previous=[{"index": 0}], groping="stable")
    assert [text.split(":")[0] for text in got["warnings"]] == ["previous", "groping"]
    twins = {"decisionGroups": [{"groupName": "same"}, {"groupName": "same"}]}
    assert "more than once" in answer(twins, grouping="stable")["warnings"][0]
