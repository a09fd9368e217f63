"""What a write comes to, told by its path, whoever made it."""

from typing import Any

import pytest

from tests.upgraded import hosted, world
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.kinds.upgrades.wire.writes import described

CLUSTERS = "/api/clusters_mgmt/v1/clusters"
POLICY = {"id": "p1", "version": "4.12.18"}
POOL = {"id": "np", "version": "4.12.16", "upgrade_policies": [{"id": "p2", "version": "4.12.17"}]}
WORLD = world(
    {"name": "a", "upgrade_policies": [POLICY], "channel": "stable-4.12"},
    {**hosted("h", {}), "node_pools": [POOL]},
    gates=[{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}],
)
AGREED = {"version_gate": {"id": "g"}}
RUN = {"version": "4.12.18", "next_run": "2023-05-10T11:00:00Z"}


@pytest.mark.parametrize(
    "method, path, body, comes_to",
    [
        ("POST", "a-id/upgrade_policies", RUN, "a upgrade 4.12.17 4.12.18 "),
        ("POST", "h-id/control_plane/upgrade_policies", RUN, "h upgrade 4.12.17 4.12.18 "),
        ("POST", "h-id/node_pools/np/upgrade_policies", RUN, "h pool 4.12.16 4.12.18 np"),
        ("DELETE", "a-id/upgrade_policies/p1", {}, "a cancel 4.12.17 4.12.18 "),
        ("DELETE", "h-id/node_pools/np/upgrade_policies/p2", {}, "h cancel 4.12.16 4.12.17 np"),
        ("PATCH", "a-id", {"channel": "stable-4.13"}, "a channel stable-4.12 stable-4.13 "),
        ("POST", "a-id/gate_agreements", AGREED, "a agree  gate-ocp for 4.13 "),
        ("POST", "a-id/addons", {}, "a write  POST addons "),
    ],
)  # fmt: skip
def test_a_write_below_a_cluster_says_what_it_does(
    method: str, path: str, body: dict[str, Any], comes_to: str
) -> None:
    """From what, to what, of which node pool."""
    read = read_upgrades(WORLD).world
    (found,) = described([(method, f"{CLUSTERS}/{path}", body)], read)
    assert found.cluster is not None
    words = (found.cluster.name, found.do, found.before, found.after, found.pool)
    assert " ".join(words) == comes_to
    assert found.starts_at == body.get("next_run", "")


def test_what_is_told_is_told_word_for_word() -> None:
    """Whose cluster it is stands in the body; somebody unknown is nobody."""
    body = {"cluster_uuid": "a-uuid", "summary": "S", "description": "- one\n- two"}
    path = "/api/service_logs/v1/cluster_logs"
    other = {**body, "cluster_uuid": "x"}
    found, nobody = described(
        [("POST", path, body), ("POST", path, other)], read_upgrades(WORLD)[1]
    )
    assert found.cluster is not None
    assert (found.cluster.name, found.do, found.after, found.text) == (
        "a", "tell", "S", "- one\n- two",
    )  # fmt: skip
    assert nobody.cluster is None


def test_a_plan_of_an_add_on_says_which_and_from_what_to_what() -> None:
    """Asked for, and deleted; of a plan nobody knows only that."""
    plans = "/api/addons_mgmt/v1/clusters/a-id/upgrade_plans"
    addon = {"id": "log", "version": "1.2.0", "upgrade_plans": [{"id": "x", "version": "1.2.5"}]}
    read = read_upgrades(world({"name": "a", "addons": [addon]}))[1]
    body = {"addon_id": "log", "version": "1.3.0", "next_run": "2023-05-10T10:06:00Z"}
    found = described(
        [("POST", plans, body), ("DELETE", f"{plans}/x", {}), ("DELETE", f"{plans}/y", {})], read
    )
    assert [(e.do, e.addon, e.before, e.after, e.starts_at) for e in found] == [
        ("addon", "log", "1.2.0", "1.3.0", "2023-05-10T10:06:00Z"),
        ("cancel-addon", "log", "1.2.0", "1.2.5", ""),
        ("cancel-addon", "", "", "", ""),
    ]
