"""What each write of a plan changes, and that it is the request which is sent."""

import msgspec
import pytest

from tests.upgraded import hosted, world
from tidegate.kinds.upgrades.core.explain.writes import planned_step, planned_writes
from tidegate.kinds.upgrades.core.requests import Write
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.plan import OwnerNotice
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.wire.modes import read_upgrades
from tidegate.model.plan import ChangeKind
from tidegate.model.time import parse_instant

CLUSTERS = "/api/clusters_mgmt/v1/clusters"
PLANS = "/api/addons_mgmt/v1/clusters/a-id/upgrade_plans"
POLICY = {"id": "p1", "version": "4.12.18"}
POOL = {"id": "np", "version": "4.12.16", "upgrade_policies": [{"id": "p2", "version": "4.12.17"}]}
ADDON = {"id": "log", "version": "1.2.0", "upgrade_plans": [{"id": "x", "version": "1.2.5"}]}
WORLD = world(
    {"name": "a", "upgrade_policies": [POLICY], "channel": "stable-4.12", "addons": [ADDON]},
    {**hosted("h", {}), "node_pools": [POOL]},
    gates=[{"id": "g", "prefix": "4.13", "label": "api.openshift.com/gate-ocp"}],
)
AT = "2023-05-10T11:00:00Z"
RUN = {"version": "4.12.18", "schedule_type": "manual", "next_run": AT}
HOSTED = {**RUN, "cluster_id": "h-id"}
PLAN = {"version": "1.3.0", "addon_id": "log", "cluster_id": "a-id", "type": "manual"}


@pytest.mark.parametrize(
    "name, doing, revision, more, text, write",
    [
        ("a", StepKind.UPGRADE, "4.12.18", {"starts_at": AT}, "a upgrade 4.12.17 4.12.18 ",
         ("POST", f"{CLUSTERS}/a-id/upgrade_policies", RUN)),
        ("h", StepKind.UPGRADE, "4.12.18", {"starts_at": AT}, "h upgrade 4.12.17 4.12.18 ",
         ("POST", f"{CLUSTERS}/h-id/control_plane/upgrade_policies",
          {**HOSTED, "upgrade_type": "ControlPlane"})),
        ("h", StepKind.POOL, "4.12.18", {"pool": "np", "starts_at": AT},
         "h pool 4.12.16 4.12.18 np",
         ("POST", f"{CLUSTERS}/h-id/node_pools/np/upgrade_policies",
          {**HOSTED, "upgrade_type": "NodePool"})),
        ("a", StepKind.CANCEL, "4.12.18", {"ident": "p1"}, "a cancel 4.12.17 4.12.18 ",
         ("DELETE", f"{CLUSTERS}/a-id/upgrade_policies/p1", {})),
        ("h", StepKind.CANCEL, "4.12.17", {"ident": "p2", "pool": "np"},
         "h cancel 4.12.16 4.12.17 np",
         ("DELETE", f"{CLUSTERS}/h-id/node_pools/np/upgrade_policies/p2", {})),
        ("a", StepKind.CHANNEL, "stable-4.13", {}, "a channel stable-4.12 stable-4.13 ",
         ("PATCH", f"{CLUSTERS}/a-id", {"channel": "stable-4.13"})),
        ("a", StepKind.AGREE, "4.13", {"ident": "g"}, "a agree  gate-ocp for 4.13 ",
         ("POST", f"{CLUSTERS}/a-id/gate_agreements", {"version_gate": {"id": "g"}})),
        ("a", StepKind.AGREE, "4.13", {"ident": "unknown"}, "a agree   ",
         ("POST", f"{CLUSTERS}/a-id/gate_agreements", {"version_gate": {"id": "unknown"}})),
        ("a", StepKind.ADDON, "1.3.0", {"addon": "log", "starts_at": AT}, "a addon 1.2.0 1.3.0 ",
         ("POST", PLANS, {**PLAN, "next_run": AT})),
        ("a", StepKind.CANCEL_ADDON, "1.2.5", {"addon": "log", "ident": "x"},
         "a cancel-addon 1.2.0 1.2.5 ", ("DELETE", f"{PLANS}/x", {})),
    ],
)  # fmt: skip
def test_a_step_shows_what_it_changes_and_the_request_it_takes(
    name: str, doing: StepKind, revision: str, more: dict[str, str], text: str, write: Write
) -> None:
    """From what, to what, of which node pool; and method, path and body."""
    read = read_upgrades(WORLD).world
    cluster = next(each for each in read.clusters if each.name == name)
    at = more.get("starts_at", "")
    step = UpgradeStep(
        kind=ChangeKind.APPLY,
        doing=doing,
        revision=revision,
        pool=more.get("pool", ""),
        addon=more.get("addon", ""),
        ident=more.get("ident", ""),
        starts_at=parse_instant(at) if at else None,
    )
    found = planned_step(cluster, step, read.gates)
    assert found.cluster is not None
    assert " ".join((found.cluster.name, found.do, found.before, found.after, found.pool)) == text
    assert (found.starts_at, found.addon) == (at, more.get("addon", ""))
    assert found.request.write() == write


def test_a_service_log_is_shown_word_for_word() -> None:
    """The cluster is found by its external id; one that is not known stays without."""
    read = read_upgrades(WORLD).world
    told = (OwnerNotice("a-uuid", "S", "- one\n- two"), OwnerNotice("x", "S", "", "Info"))
    plan = msgspec.structs.replace(decide(read, read.now), owner_notices=told, actions=[])
    known, unknown = planned_writes(plan, read)
    assert known.cluster is not None
    assert (known.cluster.name, known.do, known.after, known.text) == (
        "a", "tell", "S", "- one\n- two",
    )  # fmt: skip
    assert unknown.cluster is None
    assert unknown.request.body["severity"] == "Info"
