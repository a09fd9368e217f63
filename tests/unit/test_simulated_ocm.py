"""The simulated OpenShift Cluster Manager without a socket: requests to a state, at moments."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tidegate.kinds.upgrades.ocm.simulated.answers import OcmCall
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.requests import answer
from tidegate.kinds.upgrades.ocm.simulated.search import SearchError, compile_search
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.world_doc import narrowed, read_world
from tidegate.kinds.upgrades.ocm.simulated.world_shift import moved
from tidegate.model.errors import UserError
from tidegate.model.time import Instant, format_instant, parse_duration, parse_instant

CLUSTERS = "/api/clusters_mgmt/v1/clusters"
ACCOUNTS = "/api/accounts_mgmt/v1"
LOGS = "/api/service_logs/v1"
ADDONS = "/api/addons_mgmt/v1"
PREFIX = "sre-capabilities.aus."


class Asker:
    """Asks a state, and lets time pass."""

    def __init__(self, world: dict[str, Any], org: str = "") -> None:
        self.state = found(read_world(world))
        self.now = self.state.now
        self.org = org

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
        got = answer(self.state, OcmCall(method, path, query, body, self.org), self.now)
        return got.status, msgspec.json.decode(got.body) if got.body else None

    def get(self, path: str, **query: str) -> Any:
        status, document = self.ask("GET", path, **query)
        assert status == 200, document
        return document

    def upgrade(self, path: str, version: str, ahead: str = "6m", **more: Any) -> tuple[int, Any]:
        next_run = format_instant(self.later(ahead))
        body = {"version": version, "schedule_type": "manual", "next_run": next_run, **more}
        return self.ask("POST", path, body)

    def later(self, duration: str) -> Instant:
        return Instant(self.now + parse_duration(duration))

    def wait(self, duration: str) -> None:
        self.now = self.later(duration)


def world(**more: Any) -> dict[str, Any]:
    """A classic cluster, one with a hosted control plane, and what they can go to."""
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o1", "labels": {"blocked-versions": "x"}}, {"id": "o2"}],
        "clusters": [
            {"name": "a", "org": "o1", "version": "4.16.3", "labels": {"soak-days": "1"}},
            {
                "name": "h",
                "org": "o2",
                "version": "4.16.3",
                "product": "rosa",
                "hypershift": True,
                "labels": {"soak-days": "2"},
                "node_pools": [{"id": "np", "version": "4.16.3"}],
                "addons": [{"id": "log", "version": "1.0.0"}],
            },
        ],
        "versions": [
            {"version": "4.16.3"},
            {"version": "4.16.4"},
            {"version": "4.17.0"},
            {"version": "4.16.5", "released_at": "2026-03-05T00:00:00Z"},
        ],
        "gates": [{"id": "g", "prefix": "4.17", "label": "api.openshift.com/gate-ocp"}],
        "addons": [{"id": "log", "version": "1.1.0"}],
        "pace": {"takes": "1h"},
        **more,
    }


A, H = f"{CLUSTERS}/a-id", f"{CLUSTERS}/h-id"


def states(asker: Asker, path: str, waits: list[str]) -> Iterator[str]:
    """What a policy is, now and after each wait; "gone" when it is."""
    for wait in ("0s", *waits):
        asker.wait(wait)
        status, document = asker.ask("GET", f"{path}/state")
        yield document["value"] if status == 200 else "gone"


def test_a_policy_lives_from_pending_to_gone_and_leaves_the_version() -> None:
    """It is scheduled after a minute, starts at its moment, takes its time, and is forgotten."""
    asker = Asker(world())
    status, made = asker.upgrade(f"{A}/upgrade_policies", "4.16.4")
    assert status == 201
    assert made["kind"] == "UpgradePolicy"
    assert "state" not in made
    lived = list(states(asker, made["href"], ["2m", "4m", "1h", "10m"]))
    assert lived == ["pending", "scheduled", "started", "completed", "gone"]
    assert asker.get(A)["version"]["raw_id"] == "4.16.4"
    assert asker.get(f"{A}/upgrade_policies")["total"] == 0


def test_outcomes_delay_and_fail_upgrades_and_a_failed_policy_stays() -> None:
    """A failed upgrade leaves the version as it was, and its policy in the way until deleted."""
    asker = Asker(world(outcomes=[{"clusters": "a", "delayed": "30m", "fails": True}]))
    _, made = asker.upgrade(f"{A}/upgrade_policies", "4.16.4")
    lived = list(states(asker, made["href"], ["6m", "30m", "1h", "24h"]))
    assert lived == ["pending", "delayed", "started", "failed", "failed"]
    assert asker.get(A)["version"]["raw_id"] == "4.16.3"
    assert asker.upgrade(f"{A}/upgrade_policies", "4.16.4")[0] == 400
    assert asker.ask("DELETE", made["href"]) == (204, None)
    assert asker.upgrade(f"{A}/upgrade_policies", "4.16.4")[0] == 201


@pytest.mark.parametrize(
    "path, version, ahead, reason",
    [
        (f"{A}/upgrade_policies", "4.16.4", "4m59s", "at least 5 minutes"),
        (f"{A}/upgrade_policies", "4.16.3", "6m", "not available"),
        (f"{A}/upgrade_policies", "4.17.0", "6m", "not available"),
        (f"{H}/upgrade_policies", "4.16.4", "6m", "a control plane of its own"),
        (f"{A}/control_plane/upgrade_policies", "4.16.4", "6m", "a hosted control plane"),
        (f"{H}/node_pools/np/upgrade_policies", "4.16.4", "6m", "higher than the control plane"),
        (f"{H}/node_pools/np/upgrade_policies", "4.16.3", "6m", "at or above"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    path: str, version: str, ahead: str, reason: str
) -> None:
    """Too soon, to where no way leads, or where a cluster has no such policy: 400 and why."""
    status, error = Asker(world()).upgrade(path, version, ahead)
    assert (status, error["kind"], error["code"]) == (400, "Error", "CLUSTERS-MGMT-400")
    assert reason in error["reason"]


def test_a_cluster_has_one_policy_and_started_ones_stay() -> None:
    """A second is refused, and one that is under way cannot be called off."""
    asker = Asker(world())
    _, made = asker.upgrade(f"{A}/upgrade_policies", "4.16.4")
    status, error = asker.upgrade(f"{A}/upgrade_policies", "4.16.4", "10m")
    assert (status, "already" in error["reason"]) == (400, True)
    asker.wait("7m")
    assert asker.ask("DELETE", made["href"])[0] == 400


def test_a_newer_minor_needs_its_channel_and_an_agreement() -> None:
    """The channel leads there; the gate is agreed to once; patches never need it."""
    asker = Asker(world())
    status, error = asker.ask("PATCH", A, {"channel": "stable-4.99"})
    assert (status, "stable-4.99" in error["reason"]) == (400, True)
    assert asker.ask("PATCH", A, {"channel": "stable-4.17"})[0] == 200
    assert asker.get(A)["version"]["available_upgrades"] == ["4.16.4", "4.17.0"]
    status, error = asker.upgrade(f"{A}/upgrade_policies", "4.17.0")
    assert (status, "api.openshift.com/gate-ocp" in error["reason"]) == (400, True)
    agreement = {"version_gate": {"id": "g"}}
    assert asker.ask("POST", f"{A}/gate_agreements", agreement)[0] == 201
    assert asker.ask("POST", f"{A}/gate_agreements", agreement)[0] == 409
    assert asker.upgrade(f"{A}/upgrade_policies", "4.17.0")[0] == 201


def test_node_pools_follow_their_control_plane() -> None:
    """First the control plane, whose state is in its policy; then the pools, up to its version."""
    asker = Asker(world())
    status, made = asker.upgrade(f"{H}/control_plane/upgrade_policies", "4.16.4")
    assert (status, made["state"]["value"]) == (201, "pending")
    asker.wait("2h")
    assert asker.upgrade(f"{H}/node_pools/np/upgrade_policies", "4.16.4")[0] == 201
    asker.wait("2h")
    pools = asker.get(f"{H}/node_pools")["items"]
    assert [pool["version"]["raw_id"] for pool in pools] == ["4.16.4"]


def test_versions_come_out_when_their_time_has_come() -> None:
    """No one sees a version, or a way to it, before."""
    asker = Asker(world())
    assert asker.get("/api/clusters_mgmt/v1/versions", search="raw_id='4.16.5'")["total"] == 0
    asker.now = parse_instant("2026-03-05T00:00:00Z")
    assert asker.get("/api/clusters_mgmt/v1/versions", search="raw_id='4.16.5'")["total"] == 1
    assert asker.get(A)["version"]["available_upgrades"] == ["4.16.4", "4.16.5"]


def test_an_addon_is_upgraded_by_its_plan() -> None:
    """One plan an add-on, to its newest version."""
    asker = Asker(world())
    path = f"{ADDONS}/clusters/h-id/upgrade_plans"
    plan = {"version": "1.1.0", "type": "manual", "addon_id": "log", "cluster_id": "h-id"}
    assert asker.ask("POST", path, plan)[0] == 201
    assert asker.ask("POST", path, plan)[0] == 400
    asker.wait("1h")
    installed = asker.get(f"{ADDONS}/clusters/h-id/addons", search="state='ready'")["items"]
    assert [each["addon_version"]["id"] for each in installed] == ["1.1.0"]


def test_an_automatic_policy_comes_back() -> None:
    """When its cron says so, each time to the newest patch of its minor."""
    asker = Asker(world())
    body = {"schedule_type": "automatic", "schedule": "0 9 * * 1"}
    status, made = asker.ask("POST", f"{A}/upgrade_policies", body)
    assert (status, made["next_run"]) == (201, "2026-03-02T09:00:00Z")
    asker.wait("3h")
    assert asker.get(A)["version"]["raw_id"] == "4.16.4"
    assert asker.get(made["href"])["next_run"] == "2026-03-09T09:00:00Z"
    asker.wait("192h")
    assert asker.get(A)["version"]["raw_id"] == "4.16.5"


@pytest.mark.parametrize("schedule", ["whenever", "0 0 31 2 *"])
def test_a_schedule_that_is_none_is_refused(schedule: str) -> None:
    """Not a cron, or one that never fires."""
    body = {"schedule_type": "automatic", "schedule": schedule}
    status, error = Asker(world()).ask("POST", f"{A}/upgrade_policies", body)
    assert (status, schedule in error["reason"]) == (400, True)


def test_service_logs_are_found_by_any_text() -> None:
    """Quotes and newlines in what is searched for are doubled or left, and found."""
    asker = Asker(world())
    text = "- label it's: 'wrong'\n- and more"
    log = {"cluster_uuid": "a-uuid", "service_name": "s", "summary": "x", "severity": "Moderate"}
    status, made = asker.ask("POST", f"{LOGS}/cluster_logs", {**log, "description": text})
    assert status == 201
    assert {"id", "href", "event_stream_id", "username", "cluster_id", "timestamp"} <= made.keys()
    doubled = text.replace("'", "''")
    search = f"created_at >= '2026-03-02T07:00:00+00:00' and description='{doubled}'"
    path = f"{LOGS}/clusters/cluster_logs"
    assert asker.get(path, cluster_uuid="a-uuid", search=search)["total"] == 1
    assert asker.get(path, cluster_uuid="h-uuid", search=search)["total"] == 0
    status, error = asker.ask("POST", f"{LOGS}/cluster_logs", {**log, "severity": "Loud"})
    assert (status, error["code"]) == (400, "SERVICE-LOGS-400")


def test_labels_are_made_changed_and_deleted_where_their_owner_is() -> None:
    """A key is there once; among all labels it is found too."""
    asker = Asker(world())
    path = f"{ACCOUNTS}/subscriptions/a-sub/labels"
    label = {"kind": "Label", "key": f"{PREFIX}sector", "value": "prod"}
    assert asker.ask("POST", path, label)[0] == 201
    status, error = asker.ask("POST", path, label)
    assert (status, error["code"]) == (409, "ACCT-MGMT-6")
    assert asker.ask("PATCH", f"{path}/{PREFIX}sector", {"value": "stage"})[0] == 200
    found_ = asker.get(f"{ACCOUNTS}/labels", search=f"key='{PREFIX}sector'")["items"]
    assert [(each["value"], each["subscription_id"]) for each in found_] == [("stage", "a-sub")]
    assert asker.ask("DELETE", f"{path}/{PREFIX}sector")[0] == 204
    assert asker.get(f"{ACCOUNTS}/labels", search=f"key='{PREFIX}sector'")["total"] == 0
    subscriptions = asker.get(f"{ACCOUNTS}/subscriptions", fetchLabels="true")["items"]
    assert [len(each["labels"]) for each in subscriptions] == [1, 1]


def test_a_member_of_an_organisation_sees_no_other() -> None:
    """Not in lists, not by address, not by writing."""
    asker = Asker(world(), org="o1")
    assert [each["id"] for each in asker.get(CLUSTERS)["items"]] == ["a-id"]
    assert asker.get(f"{ACCOUNTS}/subscriptions")["total"] == 1
    labels = asker.get(f"{ACCOUNTS}/labels")["items"]
    assert {each.get("subscription_id") for each in labels} == {"a-sub", None}
    assert asker.get(f"{ACCOUNTS}/current_account")["organization"]["id"] == "o1"
    for method, path in (
        ("GET", H),
        ("POST", f"{H}/control_plane/upgrade_policies"),
        ("GET", f"{ADDONS}/clusters/h-id/addons"),
        ("GET", f"{ACCOUNTS}/organizations/o2"),
        ("POST", f"{ACCOUNTS}/subscriptions/h-sub/labels"),
    ):
        assert asker.ask(method, path, {})[0] == 404
    log = {"service_name": "s", "summary": "x", "severity": "Low"}
    assert asker.ask("POST", f"{LOGS}/cluster_logs", {**log, "cluster_uuid": "h-uuid"})[0] == 404
    assert asker.ask("POST", f"{LOGS}/cluster_logs", {**log, "cluster_uuid": "a-uuid"})[0] == 201


def test_pages_are_the_whole_list_in_order() -> None:
    """Each item is on one page; a page beyond the last is empty."""
    clusters = [{"name": f"c{i:02d}", "org": "o1", "version": "4.16.3"} for i in range(25)]
    asker = Asker(world(clusters=clusters))
    seen = []
    for page in ("1", "2", "3", "4"):
        got = asker.get(CLUSTERS, size="10", page=page, order="name desc")
        assert (got["kind"], got["total"], got["size"]) == ("ClusterList", 25, len(got["items"]))
        seen += [each["name"] for each in got["items"]]
    assert seen == [f"c{i:02d}" for i in reversed(range(25))]
    assert "available_channels" not in asker.get(CLUSTERS)["items"][0]["version"]
    assert asker.ask("GET", CLUSTERS, size="0")[0] == 400


@pytest.mark.parametrize(
    "search, fits",
    [
        ("key like 'a.%' and type='S'", True),
        ("key like 'a_b'", True),
        (r"key like 'a\_b'", False),
        ("key ilike 'A.%'", True),
        ("type in ('X', 'S')", True),
        ("type not in ('X', 'S')", False),
        ("not type = 'X'", True),
        ("(type='X' or on='true') and deep.er = 5", True),
        ("nothing = ''", False),
        ("nothing is null and key is not null", True),
        ("at >= '2026-01-01T00:00:00+00:00' and at < '2026-01-01T00:00:01Z'", True),
        ("type <> 'S'", False),
    ],
)
def test_the_search_language_says_what_it_means(search: str, fits: bool) -> None:
    """One row a form."""
    document = {"key": "a.b", "type": "S", "on": True, "deep": {"er": 5}}
    assert compile_search(search)({**document, "at": "2026-01-01T00:00:00Z"}) is fits


@pytest.mark.parametrize(
    "search", ["a", "a =", "a = 'x' b", "a = 'x", "(a='x'", "a in ()", "= 'x'", "(" * 99 + "a='x'"]
)
def test_a_search_that_makes_no_sense_is_refused(search: str) -> None:
    """As a SearchError, and as HTTP 400."""
    with pytest.raises(SearchError, match="Failed to parse search query"):
        compile_search(search)
    assert Asker(world()).ask("GET", CLUSTERS, search=search)[0] == 400


def test_a_world_with_mistakes_is_refused_with_all_of_them() -> None:
    """Places, values, and what to write."""
    broken = world(pace={"takes": "soon"}, versions=[{"version": "4.1.1", "end_of_life": "May"}])
    broken["clusters"][0]["org"] = "o3"
    broken["clusters"][1]["versoin"] = "4"
    policy = {"id": "p", "version": "", "schedule": "0 0 31 2 *"}
    broken["clusters"][0]["upgrade_policies"] = [policy]
    with pytest.raises(UserError) as caught:
        read_world(broken)
    text = str(caught.value)
    for part in (
        "never fires",
        "pace.takes",
        "versions[0].end_of_life",
        "clusters[1].versoin",
        "did you mean",
    ):
        assert part in text


def test_an_environment_has_its_own_organisations_alone() -> None:
    """The others and their clusters are somewhere else."""
    fleet = world(orgs=[{"id": "o1"}, {"id": "o2", "env": "stage"}])
    stage = narrowed(read_world(fleet), "stage")
    assert [each.name for each in stage.clusters] == ["h"]
    with pytest.raises(UserError, match="there are prod, stage"):
        narrowed(read_world(fleet), "qa")


def test_a_world_that_is_moved_moves_with_every_date() -> None:
    """Whatever is a moment is as much later; whatever is none is as it was."""
    policy = {"id": "p", "version": "4.16.4", "next_run": "2026-03-02T09:00:00Z"}
    cron = {"id": "q", "version": "", "schedule_type": "automatic", "schedule": "0 9 * * 1"}
    document = {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o1"}],
        "clusters": [
            {
                "name": "a",
                "org": "o1",
                "version": "4.16.3",
                "upgrade_policies": [policy, cron],
                "node_pools": [{"id": "w", "version": "4.16.3", "upgrade_policies": [policy]}],
            }
        ],
        "versions": [
            {"version": "4.16.3", "end_of_life": "2026-06-27T00:00:00Z"},
            {"version": "4.16.4", "released_at": "2026-03-03T00:00:00Z"},
        ],
    }
    world = read_world(document)
    later = moved(world, parse_instant("2026-04-02T08:00:30Z"))
    assert later == read_world(_each_moved(document, parse_duration("744h0m30s")))


def _each_moved(value: Any, by: int) -> Any:
    """The same document; every text in it that is a moment is later."""
    if isinstance(value, dict):
        return {name: _each_moved(each, by) for name, each in value.items()}
    if isinstance(value, list):
        return [_each_moved(each, by) for each in value]
    try:
        return format_instant(parse_instant(value) + by)
    except ValueError:
        return value


def test_faults_come_as_often_as_they_are_asked_for_and_again_from_a_seed() -> None:
    """Of a thousand; calls beyond the rate of a second are too many."""
    troubles = OcmFaults({OcmFault.LOST: 100, OcmFault.ERROR: 50})
    first, second = FaultDraw(troubles, 7), FaultDraw(troubles, 7)
    drawn = [first.draw(0.0) for _ in range(2000)]
    assert drawn == [second.draw(0.0) for _ in range(2000)]
    assert 140 < drawn.count(OcmFault.LOST) < 260
    limited = FaultDraw(OcmFaults(rate_max=2))
    assert [limited.draw(at) for at in (0.1, 0.2, 0.3, 1.0)] == [
        None,
        None,
        OcmFault.TOO_MANY,
        None,
    ]
