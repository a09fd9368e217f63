"""Policies as people write them in a rehearsal: a revision is a ConfigMap with its name in it."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidegate.kinds.policies.core.names import OCM_CLUSTER, OCM_POLICY
from tidegate.kinds.policies.core.revision import Fields
from tidegate.kinds.policies.simulated.scenario import PolicyScenario


def made_up_spec(policy: str, revision: str, action: str = "enforce") -> dict[str, Any]:
    """A policy that wants one ConfigMap, called as the policy is."""
    wanted = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": policy, "namespace": "default"},
        "data": {"value": revision},
    }
    template = {
        "apiVersion": f"{OCM_POLICY}/v1",
        "kind": "ConfigurationPolicy",
        "metadata": {"name": policy},
        "spec": {
            "remediationAction": action,
            "severity": "low",
            "object-templates": [{"complianceType": "musthave", "objectDefinition": wanted}],
        },
    }
    return {
        "disabled": False,
        "remediationAction": action,
        "policy-templates": [{"objectDefinition": template}],
    }


def objects_in(spec: Fields) -> Iterator[Any]:
    """The objects that a policy wants on a cluster."""
    for template in spec.get("policy-templates") or ():
        body = template["objectDefinition"].get("spec")
        for each in body.get("object-templates") or () if isinstance(body, Mapping) else ():
            yield each["objectDefinition"]


def placement_spec(scenario: PolicyScenario) -> dict[str, Any]:
    """The clusters of a rehearsal by their label, in its groups; one without a name is the rest."""
    key = scenario.group_label
    groups = [
        {
            "groupName": group.name,
            "groupClusterSelector": {"labelSelector": {"matchLabels": {key: group.name}}},
        }
        for group in scenario.groups
        if group.name
    ]
    chosen = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    return {
        "predicates": [{"requiredClusterSelector": {"labelSelector": chosen}}],
        "decisionStrategy": {"groupStrategy": {"decisionGroups": groups}},
    }


def binding_fields(subject: str, placement: str, kind: str) -> dict[str, Any]:
    """A PlacementBinding of one policy, or of one set."""
    return {
        "placementRef": {"apiGroup": OCM_CLUSTER, "kind": "Placement", "name": placement},
        "subjects": [{"apiGroup": OCM_POLICY, "kind": kind, "name": subject}],
    }
