"""Policies of Open Cluster Management for tests: small, and complete enough for a hub."""

from typing import Any

from tidegate.kinds.policies.core.revision import AuthorPolicy


def body(value: str = "1", name: str = "web", **more: Any) -> dict[str, Any]:
    """The spec of a ConfigurationPolicy that wants one ConfigMap."""
    wanted = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"value": value},
    }
    return {
        "remediationAction": "enforce",
        "severity": "low",
        "object-templates": [{"complianceType": "musthave", "objectDefinition": wanted}],
        **more,
    }


def template(name: str = "web", spec: Any = None, kind: str = "ConfigurationPolicy") -> Any:
    """A template of a policy."""
    return {
        "objectDefinition": {
            "apiVersion": "policy.open-cluster-management.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": body() if spec is None else spec,
        }
    }


def spec(*templates: Any, **more: Any) -> dict[str, Any]:
    """The spec of a policy that is enforced."""
    return {
        "disabled": False,
        "remediationAction": "enforce",
        "policy-templates": list(templates) or [template()],
        **more,
    }


def author(*templates: Any, name: str = "web", **more: Any) -> AuthorPolicy:
    """A policy as its author wrote it, in a namespace of its own."""
    return AuthorPolicy("web-source", name, spec(*templates, **more))
