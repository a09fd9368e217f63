"""Differences are reported field by field, by name, and only those that a person wished."""

from copy import deepcopy
from typing import Any

import pytest

from tidegate.kinds.integrations.core.workloads.difference import (
    ObjectDifference,
    differences,
    is_unchanged,
    laid_over,
    restarts,
)
from tidegate.kinds.integrations.core.workloads.estate import DECLARED_AT, RENDERED

CONTAINER = {
    "name": "int",
    "image": "r/i:a",
    "env": [{"name": "A", "value": "1"}, {"name": "EMPTY", "value": ""}],
    "resources": {"limits": {"memory": "1024Mi", "cpu": "1000m"}},
    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
}


def workload(**notes: str) -> dict[str, Any]:
    """A Deployment as it is rendered."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x", "labels": {"app": "x"}, "annotations": {RENDERED: "1", **notes}},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [deepcopy(CONTAINER)]}}},
    }


def served() -> dict[str, Any]:
    """The same as a server gives it back: defaults, bookkeeping, amounts in its own spelling."""
    found = workload(**{"deployment.kubernetes.io/revision": "3"})
    found["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 2}
    found["status"] = {"replicas": 1}
    pod = found["spec"]["template"]["spec"]
    pod |= {"dnsPolicy": "ClusterFirst"}
    pod["containers"][0] |= {
        "env": [{"name": "A", "value": "1"}, {"name": "EMPTY"}],
        "resources": {"limits": {"memory": "1Gi", "cpu": "1"}},
        "imagePullPolicy": "IfNotPresent",
    }
    return found


def test_what_a_server_writes_by_itself_is_no_difference() -> None:
    """Defaults, bookkeeping, an empty text that was dropped, amounts written another way."""
    assert is_unchanged(served(), workload())
    assert differences(served(), laid_over(served(), workload())) == ()


def test_where_something_is_declared_does_not_count() -> None:
    """A line added above moves everything below, and touches no cluster."""
    assert is_unchanged(served(), workload(**{DECLARED_AT: "f.yml:12"}))


def test_what_was_made_from_something_else_is_not_unchanged() -> None:
    """A field that is in the manifest no more is seen by what the object was made from."""
    manifest = workload(**{RENDERED: "2"})
    assert not is_unchanged(served(), manifest)


@pytest.mark.parametrize(
    "path, value, told",
    [
        (("image",), "r/i:b", ("image", "r/i:a", "r/i:b")),
        (("resources", "limits", "cpu"), "2", ("resources.limits.cpu", "1", "2")),
        (("env", 0, "value"), "2", ("env[A].value", "1", "2")),
        (("volumeMounts", 0, "readOnly"), True, ("volumeMounts[/tmp].readOnly", None, True)),
    ],
)
def test_a_field_is_reported_by_its_path_with_both_values(
    path: tuple[Any, ...], value: Any, told: tuple[str, Any, Any]
) -> None:
    """Items by name, not by number; and everything in the template restarts pods."""
    manifest = workload()
    node = manifest["spec"]["template"]["spec"]["containers"][0]
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    live = served()
    found = differences(live, laid_over(live, manifest))
    prefix = "spec.template.spec.containers[int]."
    assert found == (ObjectDifference(prefix + told[0], told[1], told[2]),)
    assert restarts(live, found)
    assert not is_unchanged(live, manifest)


def test_what_is_outside_the_template_restarts_nothing() -> None:
    """Labels with dots stand in brackets; so does a pod of no shard."""
    manifest = workload()
    manifest["metadata"]["labels"]["tidegate.dev/x"] = "y"
    manifest["spec"]["replicas"] = 2
    live = served()
    found = differences(live, laid_over(live, manifest))
    assert [each.field for each in found] == ["metadata.labels[tidegate.dev/x]", "spec.replicas"]
    assert not restarts(live, found)


def test_who_has_no_pods_restarts_none() -> None:
    """A stopped workload may change as it likes, and a CronJob's next run has the new template."""
    live = served()
    image = (ObjectDifference("spec.template.spec.containers[int].image", "a", "b"),)
    assert restarts(live, image)
    live["spec"]["replicas"] = 0
    assert not restarts(live, image)
    assert not restarts({**served(), "kind": "CronJob"}, image)


def test_items_that_come_and_go_are_reported_as_a_whole() -> None:
    """A variable more, a container less."""
    before, after = workload(), workload()
    after["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "B", "value": "2"})
    before["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "s"})
    fields = {each.field: (each.before, each.after) for each in differences(before, after)}
    assert fields == {
        "spec.template.spec.containers[int].env[B]": (None, {"name": "B", "value": "2"}),
        "spec.template.spec.containers[side]": ({"name": "side", "image": "s"}, None),
    }


def test_a_list_without_names_is_replaced_unless_it_only_gained_defaults() -> None:
    """Claims of a StatefulSet come back with a status; one claim more is a difference."""
    claim = {"metadata": {"name": "cache"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    manifest = workload()
    manifest["spec"]["volumeClaimTemplates"] = [claim]
    live = served()
    live["spec"]["volumeClaimTemplates"] = [{**claim, "status": {"phase": "Pending"}}]
    assert is_unchanged(live, manifest)
    manifest["spec"]["volumeClaimTemplates"] = [claim, {**claim, "metadata": {"name": "more"}}]
    assert not is_unchanged(live, manifest)
    manifest["spec"]["volumeClaimTemplates"] = []
    assert laid_over(live, manifest)["spec"]["volumeClaimTemplates"] == []
