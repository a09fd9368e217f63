"""Labels requested over HTTP: by callers of one organisation, checked, and written by a worker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.stage import Client, Replied, Service
from tests.upgrades_live import Scene
from tidegate.access.policy_doc import AccessPolicy, read_policy
from tidegate.access.roles import Role
from tidegate.wiring import open_store

OWN, OTHER = "upgrades/prod/o", "upgrades/prod/p"
GOOD = {"soak-days": "2", "workloads": "w", "schedule": "0 0 1 1 *"}
MINUTES = 1 / 60


def cluster(name: str, org: str = "o", **labels: str) -> dict[str, Any]:
    """A cluster that upgrades by its labels."""
    mine = {**GOOD, **{key.replace("_", "-"): value for key, value in labels.items()}}
    return {"name": name, "org": org, "version": "4.16.3", "labels": mine}


def document() -> dict[str, Any]:
    """Two organisations, one with sectors."""
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [
            {
                "id": "o",
                "name": "O",
                "labels": {
                    "sector-deps.prod": "stage",
                    "sector-deps.stage": "",
                    "version-data.inherit": "q",
                    "blocked-versions": r"^4\.17\.1$",
                },
            },
            {"id": "p", "name": "P"},
        ],
        "clusters": [
            cluster("a", sector="prod"),
            cluster("b", sector="stage"),
            cluster("c", "p"),
            {"name": "new", "org": "o", "version": "4.16.3"},
        ],
        "versions": [{"version": "4.16.3"}],
    }


class Served:
    """A service over a journal, beside a worker in virtual time."""

    def __init__(
        self,
        folder: Path,
        policy: AccessPolicy | None = None,
        clusters: list[dict[str, Any]] | None = None,
    ) -> None:
        """`clusters`: these, and no others."""
        journal, known = folder / "journal.db", document()
        known["clusters"] = known["clusters"] if clusters is None else clusters
        self.scene = Scene(known, store=open_store(str(journal)))
        self.scene.unlabelled_s = 3600.0
        self.act: tuple[str, ...] = ("*",)
        self.round(2)
        self.service = Service(journal, policy or AccessPolicy(), clock=self.scene)
        self.client = self.service.client

    def round(self, minutes: float = 30) -> None:
        """A worker is at work for a while."""
        self.scene.live(minutes * MINUTES, self.scene.worker(act=self.act))

    def labels(self, holder: str, kind: str = "subscriptions") -> dict[str, str]:
        """What the OpenShift Cluster Manager has."""
        path = f"/api/accounts_mgmt/v1/{kind}/{holder}/labels"
        found = self.scene.state.collections.get(path, {})
        return {key.rpartition("aus.")[2]: each["value"] for key, each in found.items()}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Observed once."""
    made = Served(tmp_path)
    yield made
    made.service.close()


def owner(served: Served, org: str = "o", **limits: Any) -> Client:
    """An operator of one organisation."""
    return served.client(Role.OPERATOR, **(limits or {"organisations": (org,)}))


def policy(name: str = "a", **labels: str | None) -> dict[str, Any]:
    """A body that sets parts of a policy."""
    mine = {key.replace("_", "-"): value for key, value in labels.items()}
    return {"reason": "slower", "policies": [{"name": name, "labels": mine}]}


def done(answer: Replied) -> dict[str, Any]:
    """The document of an answer that is well."""
    assert answer.status == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


def test_an_owner_sets_a_policy_and_a_worker_writes_it(served: Served) -> None:
    """The whole way: dry run, request, rows, the label, and the end of the request."""
    client = owner(served)
    body = policy(soak_days="5", mutexes="m")
    dry = client.post(f"/policy/{OWN}?dryRun=true", body)
    assert [
        (each["target"], each["label"], each["before"], each["after"])
        for each in done(dry)["changes"]
    ] == [("cluster/a", "mutexes", None, "m"), ("cluster/a", "soak-days", "2", "5")]
    assert done(dry)["reach"] == 1
    assert client.get(f"/rollouts/{OWN}").json["requests"] == []
    made = done(client.post(f"/policy/{OWN}", body, if_match=dry.tag))
    (request,) = made["requests"]
    assert (request["by"], request["reason"]) == ("token:operator-0", "slower")
    (row,) = client.get(f"/rollouts/{OWN}").json["requests"]
    assert (row["id"], row["starts"], row["targets"]) == (request["id"], True, ["a"])
    served.round()
    assert served.labels("a-sub") == {**GOOD, "sector": "prod", "soak-days": "5", "mutexes": "m"}
    assert served.labels("b-sub") == {**GOOD, "sector": "stage"}
    assert client.get(f"/rollouts/{OWN}").json["requests"] == []
    (item,) = client.get(f"/upgrade-policies/{OWN}?cluster=a").json["items"]
    assert item["conditions"]["soak_days"] == 5
    journal = client.get(f"/journal/{OWN}").json["items"]
    assert [each["actor"] for each in journal if each["kind"] == "labelsRequested"] == [
        "token:operator-0"
    ]


def test_every_label_of_an_organisation_can_be_requested(served: Served) -> None:
    """Sectors, blocks, inheritance and approvals, as their commands do."""
    client = owner(served)
    for path, body in (
        ("sectors", {"sectors": [{"name": "prod", "addDependency": ["b"], "maxParallel": "2"}]}),
        ("version-blocks", {"add": ["^4[.]18"]}),
        ("version-blocks", {"add": ["^4[.]19"]}),
        ("version-blocks", {"remove": [r"^4\.17\.1$"]}),
        ("inheritance", {"add": {"publish": ["p"]}}),
        ("gate-approvals", {"gates": ["ocp", "sts"]}),
    ):
        done(client.post(f"/{path}/{OWN}", {"reason": "x", **body}, if_match="*"))
    served.round()
    assert served.labels("o", "organizations") == {
        "sector-deps.prod": "stage,b",
        "sector-deps.stage": "",
        "sector-max-parallel-upgrades.prod": "2",
        "blocked-versions": "^4[.]18,^4[.]19",
        "version-data.inherit": "q",
        "version-data.publish": "p",
        "version-gate-approvals": "api.openshift.com/gate-ocp,api.openshift.com/gate-sts",
    }
    found = client.get(f"/version-blocks/{OWN}").json
    assert found["items"] == ["^4[.]18", "^4[.]19"]
    sides = client.get(f"/inheritance/{OWN}").json["sides"]
    assert [(each["organisation"], each["agrees"], each["text"]) for each in sides] == [
        ("q", None, "not read by the service"),
        ("p", None, "not read by the service"),
    ]
    assert {each["sector"] for each in client.get(f"/sectors/{OWN}").json["sectors"]} == {
        "prod",
        "stage",
        "b",
    }
    removal = {"reason": "x", "sectors": ["stage"]}
    refused = client.post(f"/remove-sectors/{OWN}", removal, if_match="*")
    assert (refused.status, "b is in it" in refused.text) == (422, True)


def test_a_policy_is_removed(served: Served) -> None:
    """All its labels go, the schedule first."""
    client = owner(served)
    done(client.post(f"/remove-policy/{OWN}", {"reason": "x", "clusters": ["a"]}, if_match="*"))
    served.round()
    assert served.labels("a-sub") == {}
    deleted = [each.path for each in served.scene.writes if each.method == "DELETE"]
    assert deleted[0].endswith(".schedule")


def test_nothing_is_requested_elsewhere(served: Served) -> None:
    """Another organisation does not exist; a viewer may not; a group alone moves nothing."""
    body = policy(soak_days="5")
    other = owner(served, "p")
    assert other.post(f"/policy/{OWN}", body, if_match="*").status == 404
    assert other.get(f"/upgrade-policies/{OWN}").status == 404
    assert (
        done(other.post(f"/policy/{OTHER}?dryRun=true", policy("*", soak_days="5")))["reach"] == 1
    )
    viewer = served.client(Role.VIEWER, organisations=("o",))
    assert viewer.post(f"/policy/{OWN}", body, if_match="*").status == 403
    assert viewer.get(f"/upgrade-policies/{OWN}").status == 200
    approver = served.client(Role.APPROVER)
    assert approver.post(f"/policy/{OWN}", body, if_match="*").status == 403


def test_who_sees_an_organisation_may_not_therefore_change_it(tmp_path: Path) -> None:
    """A viewer of all that is an operator of one: of the other no cluster, and not itself."""
    grants = [{"role": "viewer", "subjects": ["token:operator-*"]}]
    served = Served(tmp_path, read_policy({"grants": grants}, "policy.yaml"))
    client = owner(served, "p")
    assert client.get(f"/upgrade-policies/{OWN}").status == 200
    refused = client.post(f"/policy/{OWN}", policy(soak_days="5"), if_match="*")
    assert (refused.status, f"a of {OWN}" in refused.json["detail"]) == (403, True)
    body = {"reason": "x", "add": ["^4[.]18"]}
    assert client.post(f"/version-blocks/{OWN}", body, if_match="*").status == 403
    served.service.close()


@pytest.mark.parametrize("limits", [{"groups": ("prod",)}, {"selector": "sector=prod"}])
def test_a_caller_of_a_sector_changes_its_clusters_alone(
    served: Served, limits: dict[str, Any]
) -> None:
    """It moves none in or out, and the organisation is not its own."""
    client = owner(served, **limits)
    every = client.post(f"/policy/{OWN}?dryRun=true", policy("*", soak_days="5"))
    assert {each["target"] for each in done(every)["changes"]} == {"cluster/a"}
    assert client.post(f"/policy/{OWN}", policy(sector="stage"), if_match="*").status == 403
    hidden = client.post(f"/policy/{OWN}", policy("b", soak_days="5"), if_match="*")
    assert (hidden.status, "stage" in hidden.text) == (422, False)
    body = {"reason": "x", "add": ["^4[.]18"]}
    assert client.post(f"/version-blocks/{OWN}", body, if_match="*").status == 403
    assert client.get(f"/version-blocks/{OWN}").status == 404
    found = client.get(f"/upgrade-policies/{OWN}").json["clusters"]
    assert [each["called"] for each in found] == ["a"]


def test_a_request_is_made_on_the_plan_that_was_seen(served: Served) -> None:
    """428 without a plan, 412 on one that moved, once under one key."""
    client = owner(served)
    body = policy(soak_days="5")
    assert client.post(f"/policy/{OWN}", body).status == 428
    tag = client.post(f"/policy/{OWN}?dryRun=true", body).tag
    done(client.post(f"/pause/{OWN}", {"reason": "x"}))
    assert client.post(f"/policy/{OWN}", body, if_match=tag).status == 412
    first = client.post(f"/policy/{OWN}", body, if_match="*", idempotency_key="k")
    again = client.post(f"/policy/{OWN}", body, if_match="*", idempotency_key="k")
    assert done(first) == done(again)
    assert client.post(f"/policy/{OWN}", policy(soak_days="6"), if_match="*",
                       idempotency_key="k").status == 422  # fmt: skip


def test_what_is_wrong_is_refused_with_its_remedy(served: Served) -> None:
    """422, and nothing is recorded."""
    client = owner(served)
    for path, body, said in (
        ("policy", policy(soak_days="many"), "soak-days"),
        ("policy", policy(sector="nowhere"), "nowhere"),
        ("policy", policy("z", soak_days="5"), "not in o"),
        ("policy", policy(soak_day="5"), "soak-days"),
        ("version-blocks", {"reason": "x", "remove": ["nothing"]}, "not a blocked pattern"),
        ("remove-sectors", {"reason": "x", "sectors": ["prod"]}, "a is in it"),
        ("inheritance", {"reason": "x", "remove": {"publish": ["p"]}}, "is not there"),
    ):
        answer = client.post(f"/{path}/{OWN}", body, if_match="*")
        assert (answer.status, said in answer.text) == (422, True), (path, answer.text)
    for path, body in (
        ("version-blocks", {}),
        ("version-blocks", {"set": ["a"], "add": ["b"]}),
        ("inheritance", {}),
        ("inheritance", {"add": {}}),
        ("policy", {"policies": []}),
    ):
        assert client.post(f"/{path}/{OWN}", {"reason": "x", **body}, if_match="*").status == 400
    assert client.get(f"/rollouts/{OWN}").json["requests"] == []


def test_what_is_there_already_is_no_request(served: Served) -> None:
    """Nothing is recorded; what is requested already is named."""
    client = owner(served)
    before = len(client.get(f"/journal/{OWN}").json["items"])
    found = done(client.post(f"/policy/{OWN}", policy(soak_days="2"), if_match="*"))
    assert (found["changes"], found["requests"]) == ([], [])
    assert len(client.get(f"/journal/{OWN}").json["items"]) == before
    (made,) = done(client.post(f"/policy/{OWN}", policy(soak_days="5"), if_match="*"))["requests"]
    again = done(client.post(f"/policy/{OWN}", policy(soak_days="5"), if_match="*"))
    assert again["changes"] == []
    assert made["id"] in again["notes"][0]
    # Back to what is there: the request is over.
    back = done(client.post(f"/policy/{OWN}", policy(soak_days="2"), if_match="*"))
    assert [each["id"] for each in back["replaces"]] == [made["id"]]
    assert client.get(f"/rollouts/{OWN}").json["requests"] == []


def test_a_request_waits_for_a_worker_that_acts_and_can_be_withdrawn(served: Served) -> None:
    """By its owner, and by no other."""
    served.act = ()
    client = owner(served)
    made = done(client.post(f"/policy/{OWN}", policy(soak_days="5"), if_match="*"))
    ident = made["requests"][0]["id"]
    served.round()
    assert served.labels("a-sub")["soak-days"] == "2"
    body = {"reason": "not needed", "request": ident}
    assert owner(served, "p").post(f"/withdraw/{OWN}", body, if_match="*").status == 404
    done(client.post(f"/withdraw/{OWN}", body, if_match="*"))
    served.act = ("*",)
    served.round()
    assert served.labels("a-sub")["soak-days"] == "2"


def test_a_stopped_request_needs_a_person(served: Served) -> None:
    """A label that was changed meanwhile: status counts it, and says why."""
    client = owner(served)
    made = done(client.post(f"/policy/{OWN}", policy(soak_days="5"), if_match="*"))
    path = "/api/accounts_mgmt/v1/subscriptions/a-sub/labels"
    served.scene.state.below(path)["sre-capabilities.aus.soak-days"]["value"] = "3"
    served.scene.state.touch()
    served.round()
    assert served.labels("a-sub")["soak-days"] == "3"
    (row,) = client.get(f"/rollouts/{OWN}").json["requests"]
    assert (row["id"], "starts" in row) == (made["requests"][0]["id"], False)
    assert row["why"] == "soak-days is 3 by now, and was 2 when 5 was requested"
    # Made again on what is there, it takes the place of the one that stopped.
    again = done(client.post(f"/policy/{OWN}", policy(soak_days="5"), if_match="*"))
    assert [each["before"] for each in again["changes"]] == ["3"]
    assert [each["id"] for each in again["replaces"]] == [row["id"]]
    served.round()
    assert served.labels("a-sub")["soak-days"] == "5"


def test_a_cluster_gets_its_first_labels(served: Served) -> None:
    """All that a policy needs, or none; a caller of a sector does not see it."""
    client = owner(served)
    found = client.get(f"/upgrade-policies/{OWN}?all=true").json["clusters"]
    assert [each["called"] for each in found] == ["a", "b", "new"]
    listed = client.get(f"/upgrade-policies/{OWN}").json["clusters"]
    assert [each["called"] for each in listed] == ["a", "b"]
    refused = client.post(f"/policy/{OWN}", policy("new", soak_days="1"), if_match="*")
    assert (refused.status, "workloads" in refused.text) == (422, True)
    whole = policy("new", soak_days="1", workloads="w", schedule="* * * * *", sector="prod")
    prod = owner(served, groups=("prod",))
    assert prod.post(f"/policy/{OWN}", whole, if_match="*").status == 422
    assert owner(served, "p").post(f"/policy/{OWN}", whole, if_match="*").status == 404
    made = done(client.post(f"/policy/{OWN}", whole, if_match="*"))
    assert made["reach"] == 1
    (row,) = client.get(f"/rollouts/{OWN}").json["requests"]
    assert (row["targets"], row["starts"]) == (["new"], True)
    served.round()
    assert served.labels("new-sub") == {
        "soak-days": "1",
        "workloads": "w",
        "schedule": "* * * * *",
        "sector": "prod",
    }
    shown = client.get(f"/rollouts/{OWN}").json
    assert shown["requests"] == []
    assert "new" in {each["name"] for each in shown["targets"]}
    served.round(90)
    listed = client.get(f"/upgrade-policies/{OWN}").json["clusters"]
    assert [each["called"] for each in listed] == ["a", "b", "new"]


def test_a_request_of_a_cluster_without_labels_is_withdrawn_by_its_owner_alone(
    served: Served,
) -> None:
    """It is no row yet: who may change all of the organisation may."""
    served.act = ()
    client = owner(served)
    whole = policy("new", soak_days="1", workloads="w", schedule="* * * * *")
    ident = done(client.post(f"/policy/{OWN}", whole, if_match="*"))["requests"][0]["id"]
    body = {"reason": "x", "request": ident}
    prod = owner(served, groups=("prod",))
    assert prod.post(f"/withdraw/{OWN}", body, if_match="*").status in (403, 404)
    assert done(client.post(f"/withdraw/{OWN}", body, if_match="*"))["request"]["id"] == ident


def test_what_is_asked_for_twice_and_differs_is_refused(served: Served) -> None:
    """Nothing of it is dropped; the same twice, as two patterns have it, is no mistake."""
    client = owner(served)
    body = policy("a", soak_days="5")
    body["policies"] += policy("a*", sector="stage")["policies"]
    refused = client.post(f"/policy/{OWN}?dryRun=true", body)
    assert (refused.status, "cluster/a is listed twice" in refused.text) == (422, True)
    body["policies"] = (
        policy("a", soak_days="5")["policies"] + policy("?", soak_days="5")["policies"]
    )
    assert done(client.post(f"/policy/{OWN}?dryRun=true", body))["reach"] == 2


def test_the_mark_of_a_bundle_is_no_label_of_a_policy(served: Served) -> None:
    """It says which labels `policy sync` may remove."""
    body = policy("a", soak_days="5")
    body["policies"][0]["others"] = {"sre-capabilities.tidegate.declared": "workloads"}
    refused = owner(served).post(f"/policy/{OWN}", body, if_match="*")
    assert (refused.status, "policy sync" in refused.text) == (422, True)
