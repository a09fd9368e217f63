"""Labels requested by callers of a part: what they see, infer and withdraw ends where it does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.test_label_requests import GOOD, OWN, Served, cluster, done, owner, policy
from tidegate.access.policy_doc import read_policy

PROD: dict[str, Any] = {"groups": ("prod",)}
NEW = {"name": "new", "org": "o", "version": "4.16.3"}
FIRST = {"reason": "x", "policies": [{"name": "new", "labels": GOOD}]}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Observed once."""
    made = Served(tmp_path)
    yield made
    made.service.close()


@pytest.mark.parametrize(
    "verb, body",
    [
        ("version-blocks", {"remove": ["x"]}),
        ("version-blocks", {"add": [r"^4\.17\.1$"]}),
        ("remove-sectors", {"sectors": ["x"]}),
        ("sectors", {"sectors": [{"name": "prod", "removeDependency": ["x"]}]}),
        ("sectors", {"sectors": [{"name": "prod", "dependsOn": ["prod"]}]}),
        ("inheritance", {"remove": {"inherit": ["x"]}}),
        ("inheritance", {"add": {"inherit": ["q"]}}),
        ("gate-approvals", {"gates": []}),
    ],
)
@pytest.mark.parametrize("limits", [PROD, {"selector": "sector=prod"}])
def test_no_answer_tells_the_labels_of_an_organisation_to_a_caller_of_a_sector(
    served: Served, verb: str, body: dict[str, Any], limits: dict[str, Any]
) -> None:
    """Neither a mistake nor that nothing would change: it is refused before it is looked at."""
    client = owner(served, **limits)
    for path in (f"/{verb}/{OWN}", f"/{verb}/{OWN}?dryRun=true"):
        answer = client.post(path, {"reason": "x", **body}, if_match="*")
        assert answer.status == 403, answer.text
        assert "stage" not in answer.text
        assert "4\\" not in answer.text


def test_a_move_out_of_a_sector_is_refused_before_it_is_checked(served: Served) -> None:
    """What is wrong with it names the sectors there are."""
    body = {"reason": "x", "policies": [{"name": "a", "labels": {"sector": "nowhere"}}]}
    answer = owner(served, **PROD).post(f"/policy/{OWN}", body, if_match="*")
    assert answer.status == 403, answer.text


def test_a_request_shows_and_hides_no_cluster_before_it_is_carried_out(served: Served) -> None:
    """A caller of a sector sees the clusters that are in it, and not those that are to be."""
    served.act = ()
    whole, client = owner(served), owner(served, **PROD)
    done(whole.post(f"/policy/{OWN}", policy("b", sector="prod"), if_match="*"))
    wrong = client.post(f"/policy/{OWN}", policy("z", soak_days="5"), if_match="*")
    assert (wrong.status, "there are a;" in wrong.text) == (422, True), wrong.text
    every = client.post(f"/policy/{OWN}?dryRun=true", policy("*", soak_days="5"))
    assert [each["target"] for each in done(every)["changes"]] == ["cluster/a"]
    done(whole.post(f"/policy/{OWN}", policy("a", sector="stage"), if_match="*"))
    mine = client.post(f"/policy/{OWN}?dryRun=true", policy("a", soak_days="5"))
    assert [each["target"] for each in done(mine)["changes"]] == ["cluster/a"]


def test_a_sector_is_not_an_organisation_where_all_its_clusters_are_in_it(tmp_path: Path) -> None:
    """Its labels, and clusters without labels, are not seen, and requests of them not withdrawn."""
    served = Served(tmp_path, clusters=[cluster("a", sector="prod"), NEW])
    served.act = ()
    whole, client = owner(served), owner(served, **PROD)
    blocks = {"reason": "x", "add": ["^4[.]18"]}
    made = [
        done(whole.post(f"/version-blocks/{OWN}", blocks, if_match="*")),
        done(whole.post(f"/policy/{OWN}", FIRST, if_match="*")),
    ]
    assert client.get(f"/rollouts/{OWN}").json["requests"] == []
    assert [each["name"] for each in client.get(f"/rollouts/{OWN}").json["targets"]] == ["a"]
    assert client.get(f"/version-blocks/{OWN}").status == 404
    kinds = {each["kind"] for each in client.get(f"/journal/{OWN}").json["items"]}
    assert kinds.isdisjoint(("surveyed", "labelsRequested", "requested"))
    for each in made:
        body = {"reason": "x", "request": each["requests"][0]["id"]}
        assert client.post(f"/withdraw/{OWN}", body, if_match="*").status == 404
        done(whole.post(f"/withdraw/{OWN}", body, if_match="*"))
    served.service.close()


def test_who_sees_all_of_an_organisation_withdraws_by_a_role_for_it_alone(tmp_path: Path) -> None:
    """A viewer of all that is an operator of the sector that every cluster is in."""
    grants = [{"role": "viewer", "subjects": ["token:operator-*"]}]
    policies = read_policy({"grants": grants}, "policy.yaml")
    served = Served(tmp_path, policies, clusters=[cluster("a", sector="prod"), NEW])
    served.act = ()
    whole, client = owner(served), owner(served, **PROD)
    blocks = {"reason": "x", "add": ["^4[.]18"]}
    made = done(whole.post(f"/version-blocks/{OWN}", blocks, if_match="*"))
    body = {"reason": "x", "request": made["requests"][0]["id"]}
    assert client.post(f"/withdraw/{OWN}", body, if_match="*").status == 403
    done(whole.post(f"/withdraw/{OWN}", body, if_match="*"))
    served.service.close()


def test_an_organisation_without_labels_is_its_owners(tmp_path: Path) -> None:
    """The first labels of its first cluster are requested as all others are."""
    served = Served(tmp_path, clusters=[NEW, cluster("c", "p")])
    client = owner(served)
    found = client.get(f"/upgrade-policies/{OWN}?all=true").json["clusters"]
    assert [each["called"] for each in found] == ["new"]
    assert owner(served, "p").get(f"/upgrade-policies/{OWN}?all=true").status == 404
    assert owner(served, **PROD).get(f"/upgrade-policies/{OWN}?all=true").status == 404
    (request,) = done(client.post(f"/policy/{OWN}", FIRST, if_match="*"))["requests"]
    assert [each["id"] for each in client.get(f"/rollouts/{OWN}").json["requests"]] == [
        request["id"]
    ]
    served.round()
    assert served.labels("new-sub") == GOOD
    served.service.close()


def test_a_request_is_of_one_cluster_among_those_that_are_called_the_same(tmp_path: Path) -> None:
    """It names that one, is seen by callers of all of the organisation, and does not lend labels:
    who sees the row of that name sees it as before.
    """
    more = {**cluster("a", sector="stage"), "id": "a2", "external_id": "a2-uuid"}
    first = {"name": "b", "id": "b2", "external_id": "b2-uuid", "org": "o", "version": "4.16.3"}
    clusters = [cluster("a", sector="prod"), more, cluster("b", sector="prod"), first]
    served = Served(tmp_path, clusters=clusters)
    served.act = ()
    whole = owner(served)
    stage = done(whole.post(f"/policy/{OWN}", policy("a2-uuid", soak_days="5"), if_match="*"))
    body = {"reason": "x", "policies": [{"name": "b2-uuid", "labels": GOOD}]}
    made = done(whole.post(f"/policy/{OWN}", body, if_match="*"))
    rows = whole.get(f"/rollouts/{OWN}").json["requests"]
    assert [each["targets"] for each in rows] == [["a (a2-uuid)"], ["b (b2-uuid)"]]
    assert whole.get("/upgrades/a-uuid").json["requests"] == []
    assert [each["id"] for each in whole.get("/upgrades/a2-uuid").json["requests"]] == [
        stage["requests"][0]["id"]
    ]
    both = whole.post(f"/policy/{OWN}?dryRun=true", policy("a*", soak_days="6"))
    assert (len(done(both)["changes"]), done(both)["reach"]) == (2, 2)
    for limits in (PROD, {"selector": "sector=prod"}):
        client = owner(served, **limits)
        assert client.get(f"/rollouts/{OWN}").json["requests"] == []
        names = {each["name"] for each in client.get(f"/rollouts/{OWN}").json["targets"]}
        assert "b" in names
        for each in (stage, made):
            withdrawn = {"reason": "x", "request": each["requests"][0]["id"]}
            assert client.post(f"/withdraw/{OWN}", withdrawn, if_match="*").status == 404
    served.service.close()
