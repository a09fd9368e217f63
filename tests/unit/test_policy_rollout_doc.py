"""The Rollout object: its reader and its schema are one, and what is wrong is named."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import tidegate.kinds.policies.wire.rollout_doc as module
from tidegate.kinds.policies.core.compliance import InformEnd
from tidegate.kinds.policies.core.waves import StageWay
from tidegate.kinds.policies.wire.rollout_doc import (
    GroupKeeping,
    OnDrift,
    PolicyRollout,
    read_annotation,
    read_policy_rollout,
)
from tidegate.kinds.rollouts.core.strategy import OnFailure, OnNewRevision, StrategyType
from tidegate.model.limit import Limit
from tidegate.model.problem import Problems

SPEC: dict[str, Any] = {
    "policy": "web",
    "source": {"namespace": "web-source"},
    "rolloutStrategy": {"type": "All"},
}


def crd() -> dict[str, Any]:
    """The definition in the package."""
    text = (Path(module.__file__).parent / "crd.yaml").read_text()
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def read(spec: dict[str, Any]) -> tuple[PolicyRollout, list[str]]:
    problems = Problems()
    document = {"metadata": {"namespace": "policies", "name": "web"}, "spec": spec}
    found = read_policy_rollout(document, problems)
    return found, [each.text() for each in problems.errors]


def test_everything_is_read() -> None:
    """In the design's spelling."""
    found, errors = read(
        {
            **SPEC,
            "source": {"namespace": "src", "name": "mine"},
            "rolloutStrategy": {
                "type": "manualPerGroup",
                "manualPerGroup": {"maxFailures": "10%"},
                "onFailure": "rollback",
            },
            "decisionGroups": [
                {"groupName": "dev", "rolloutApproved": True},
                {"groupName": "prod", "rolloutApproved": False},
            ],
            "ungrouped": {"rolloutApproved": True},
            "approvalsForVersion": "2.0",
            "retryRollout": {"rolloutUID": "u1", "failedOnly": True, "group": "dev"},
            "paused": True,
            "informSucceeds": "compliant",
            "grouping": "scheduler",
            "onDrift": "leave",
        }
    )
    assert errors == []
    assert (found.name, found.source_namespace, found.source_name) == (
        "policies.web",
        "src",
        "mine",
    )
    assert found.strategy.type is StrategyType.MANUAL_PER_GROUP
    assert found.strategy.max_failures == Limit(10, percent=True)
    assert found.strategy.on_failure is OnFailure.ROLLBACK
    assert (found.approved, found.ungrouped, found.approvals_for) == (
        frozenset({"dev"}),
        True,
        "2.0",
    )
    assert (found.retry_uid, found.retry_failed_only, found.retry_group) == ("u1", True, "dev")
    assert found.paused
    assert (found.inform, found.membership) == (InformEnd.COMPLIANT, GroupKeeping.SCHEDULER)
    assert found.on_drift is OnDrift.LEAVE
    assert found.origin == "rollout/policies/web"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"policy": ""}, "spec.policy: missing"),
        ({"source": {}}, "spec.source.namespace: missing"),
        ({"source": {"namespace": "policies"}}, "the author's policy is the root itself"),
        ({"rolloutStrategy": None}, "spec.rolloutStrategy: missing"),
        ({"decisionGroups": [{"rolloutApproved": True}]}, "decisionGroups[0].groupName: null"),
        ({"approvals": []}, "spec.approvals: unknown field"),
        ({"retryRollout": {"group": "dev"}}, "spec.retryRollout.rolloutUID: missing"),
        ({"paused": "yes"}, 'spec.paused: "yes" is neither true nor false'),
        (
            {"rolloutStrategy": {"type": "Progressive", "progressive": {"maxFailures": "3"}}},
            "spec.rolloutStrategy.progressive.maxFailures",
        ),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], words: str) -> None:
    """With its place and what to write."""
    errors = read({**SPEC, **change})[1]
    assert any(words in each for each in errors), errors


WAVES: dict[str, Any] = {"stage": "waves", "rolloutStrategy": {"type": "All"}}


def test_waves_name_a_policy_or_a_set_and_have_no_source() -> None:
    """The root itself is what is enforced; an older content is never finished."""
    found, errors = read({**WAVES, "policy": "web"})
    assert errors == []
    assert (found.stage, found.name, found.subject) == (StageWay.WAVES, "policies.web", "web")
    assert found.strategy.on_new_revision is OnNewRevision.SUPERSEDE
    found, errors = read({**WAVES, "policySet": "all"})
    assert errors == []
    assert (found.policy_set, found.policy, found.name) == ("all", "", "policies.all")


@pytest.mark.parametrize(
    "fields, words",
    [
        ({**WAVES}, "spec.policy: missing; name a policy, or a policySet"),
        ({**WAVES, "policy": "a", "policySet": "b"}, "spec.policy: named beside a policySet"),
        ({**WAVES, "policy": "a", "source": {"namespace": "b"}}, "spec.source: not with waves"),
        ({**WAVES, "policy": "a", "informSucceeds": "compliant"}, "informSucceeds: not with waves"),
        (
            {
                **WAVES,
                "policy": "a",
                "rolloutStrategy": {"type": "All", "onNewRevision": "finish"},
            },
            "spec.rolloutStrategy.onNewRevision: waves cannot finish what was before",
        ),
        ({**SPEC, "policySet": "all"}, "spec.policy: named beside a policySet"),
        ({**SPEC, "stage": "both"}, "spec.stage"),
    ],
)
def test_what_waves_cannot_do_is_named(fields: dict[str, Any], words: str) -> None:
    """With its place and what to write."""
    errors = read(fields)[1]
    assert any(words in each for each in errors), errors


STAGED_SET: dict[str, Any] = {"policySet": "all", "rolloutStrategy": {"type": "All"}}


def test_a_set_is_staged_from_a_namespace_of_its_author() -> None:
    """Each of its policies is called there as its root is."""
    found, errors = read({**STAGED_SET, "source": {"namespace": "web-source"}})
    assert errors == []
    assert (found.stage, found.name, found.bound_as) == (StageWay.STAGED, "policies.all", "all")
    one = found.member("web")
    assert (one.name, one.bound_as, one.policy_set) == ("policies.web", "all", "")
    assert (one.source_namespace, one.source_name) == ("web-source", "web")
    for source, words in (
        ({}, "spec.source.namespace: missing"),
        ({"namespace": "a", "name": "b"}, "spec.source.name: not with a policySet"),
        ({"namespace": "policies"}, "spec.source: the author's policy is the root itself"),
    ):
        errors = read({**STAGED_SET, "source": source})[1]
        assert any(words in each for each in errors), errors


def test_an_annotation_of_a_policy_that_informs_asks_for_waves() -> None:
    """In its own namespace: the policy itself is the root."""
    problems = Problems()
    found = read_annotation(WAVES, "policies", "web", problems)
    assert not problems.errors
    assert (found.stage, found.name) == (StageWay.WAVES, "policies.web")
    read_annotation({**WAVES, "namespace": "x", "policySet": "y"}, "policies", "web", problems)
    assert {each.path for each in problems.errors} >= {"namespace", "policySet"}


def test_an_annotation_says_the_same_of_its_policy() -> None:
    """But approvals are for commands, and the policy itself is the source."""
    problems = Problems()
    fields = {"namespace": "policies", "rolloutStrategy": {"type": "All"}, "paused": True}
    found = read_annotation(fields, "src", "web", problems)
    assert not problems.errors
    assert (found.name, found.source_namespace, found.source_name) == ("policies.web", "src", "web")
    assert (found.paused, found.origin) == (True, "policy/src/web")
    read_annotation({"decisionGroups": [], "source": {"namespace": "x"}}, "src", "web", problems)
    named = {each.path for each in problems.errors}
    assert named >= {"namespace", "source", "decisionGroups", "rolloutStrategy"}


class Recorder(dict[str, Any]):
    """An object that remembers which of its fields were asked for."""

    def __init__(self, fields: dict[str, Any], path: str, asked: set[str]) -> None:
        super().__init__(fields)
        self._path, self._asked = path, asked

    def get(self, key: str, default: Any = None) -> Any:
        self._asked.add(f"{self._path}.{key}")
        return super().get(key, default)


def sample(schema: dict[str, Any], path: str, asked: set[str], paths: set[str]) -> Any:
    """A value that fits a schema, with every field; the paths of all fields are added."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    match schema.get("type"):
        case "object" if "properties" in schema:
            fields = {}
            for name, inner in schema["properties"].items():
                paths.add(f"{path}.{name}")
                fields[name] = sample(inner, f"{path}.{name}", asked, paths)
            return Recorder(fields, path, asked)
        case "object":
            return {"env": "prod"}
        case "array":
            return [sample(schema["items"], f"{path}[]", asked, paths)]
        case "boolean":
            return True
        case "integer":
            return 1
        case _ if "pattern" in schema:
            return "30m"
        case _:
            return "x"


@pytest.mark.parametrize("kind", ["All", "Progressive", "ProgressivePerGroup", "ManualPerGroup"])
def test_the_schema_has_the_fields_that_are_read_and_no_other(kind: str) -> None:
    """What the server prunes is never read, and what it takes is never unknown."""
    schema = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    asked: set[str] = set()
    paths: set[str] = set()
    spec = sample(schema, "spec", asked, paths)
    spec["rolloutStrategy"]["type"] = kind
    errors = read(spec)[1]
    assert not [each for each in errors if "unknown field" in each]
    # Only the settings of the chosen type are looked into.
    body = f"spec.rolloutStrategy.{kind[0].lower()}{kind[1:]}"
    others = {
        each
        for each in paths
        if each.startswith("spec.rolloutStrategy.")
        and each.count(".") > 2
        and f"{body}." not in each
    } - {each for each in paths if ".order." in each or "ignoreCluster" in each}
    limits = {f"{body}.{each}" for each in ("minSuccessTime", "maxFailures", "maxConcurrency")}
    # Under All these are read to say that they do not count.
    beyond = limits | {f"{body}.mandatoryDecisionGroups"} if kind == "All" else set()
    assert asked - beyond == paths - others


def test_the_definition_is_whole() -> None:
    """Status is apart, columns point at fields there are, and rules have messages."""
    version = crd()["spec"]["versions"][0]
    assert version["subresources"] == {"status": {}}
    schema = version["schema"]["openAPIV3Schema"]
    for column in version["additionalPrinterColumns"]:
        at = schema
        for part in column["jsonPath"].strip(".").split("."):
            if at.get("type") == "object" and "properties" not in at:
                break
            at = at["properties"][part]
    rules = list(_rules(schema))
    assert len(rules) >= 7
    assert all(rule["message"] for rule in rules)


def _rules(value: Any) -> Any:
    if isinstance(value, dict):
        yield from value.get("x-kubernetes-validations", ())
        for inner in value.values():
            yield from _rules(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _rules(inner)
