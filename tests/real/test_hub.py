"""The stock hub does what its documents say: what everything about policies rests on."""

from typing import Any

from tests.contract.clusters import REAL
from tests.real.hub import PLACEMENTS, POLICIES, SETS, Hub, until

pytestmark = REAL


def _policy(name: str, value: str) -> dict[str, Any]:
    content = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"value": value},
    }
    template = {
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "ConfigurationPolicy",
        "metadata": {"name": name},
        "spec": {
            "remediationAction": "enforce",
            "severity": "low",
            "pruneObjectBehavior": "DeleteIfCreated",
            "object-templates": [{"complianceType": "musthave", "objectDefinition": content}],
        },
    }
    return {
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "Policy",
        "metadata": {"name": name},
        "spec": {
            "disabled": False,
            "remediationAction": "enforce",
            "policy-templates": [{"objectDefinition": template}],
        },
    }


def test_a_policy_reaches_a_cluster_and_its_compliance_comes_back(hub: Hub) -> None:
    namespace = hub.plane.namespace("policies")
    hub.plane.ask(
        "POST",
        f"{SETS}/namespaces/{namespace}/managedclustersetbindings",
        {
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "default"},
            "spec": {"clusterSet": "default"},
        },
    )
    hub.plane.ask("POST", f"{POLICIES}/namespaces/{namespace}/policies", _policy("p", "one"))
    hub.plane.ask(
        "POST",
        f"{PLACEMENTS}/namespaces/{namespace}/placements",
        {
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "Placement",
            "metadata": {"name": "all"},
            "spec": {},
        },
    )
    hub.plane.ask(
        "POST",
        f"{POLICIES}/namespaces/{namespace}/placementbindings",
        {
            "apiVersion": "policy.open-cluster-management.io/v1",
            "kind": "PlacementBinding",
            "metadata": {"name": "all"},
            "placementRef": {
                "apiGroup": "cluster.open-cluster-management.io",
                "kind": "Placement",
                "name": "all",
            },
            "subjects": [
                {"apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "p"}
            ],
        },
    )

    def compliant() -> bool:
        status: dict[str, Any] = hub.replicated("m1", namespace, "p").get("status", {})
        return status.get("compliant") == "Compliant"

    until(compliant, "the replicated policy is compliant")
    found: Any = hub.clusters["m1"].plane.ask("GET", "/api/v1/namespaces/default/configmaps/p")
    assert found["data"] == {"value": "one"}
