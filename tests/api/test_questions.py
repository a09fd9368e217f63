"""Questions over HTTP: the documents of the command line, paged, tagged, refused in its words."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.api.stage import PARTITION, Client, Service
from tidegate.access.roles import Role
from tidegate.cli.main import cli


@pytest.mark.parametrize(
    "path",
    ["/rollouts?kind=simulatd", "/cells?kind=simulatd", "/journal?fact=decidd"],
)
def test_a_misspelt_kind_is_not_answered_with_an_empty_list(service: Service, path: str) -> None:
    """It is said which there are; an empty list would say that nothing goes out."""
    answer = service.client().get(path)
    assert answer.status == 404
    assert "did you mean" in answer.json["detail"]


def test_an_answer_is_what_the_command_prints(service: Service, tmp_path: Path) -> None:
    """`-o json` and the API are one document; only the moment differs."""
    client = service.client()
    for path, command in (
        ("/rollouts", ["get", "rollouts"]),
        (f"/rollouts/{PARTITION}", ["show", PARTITION]),
        (f"/why/{PARTITION}", ["why", PARTITION]),
        (f"/why/{PARTITION}?target=prod-1", ["why", PARTITION, "prod-1"]),
        ("/status", ["status"]),
        ("/holds", ["get", "holds"]),
        (f"/when/{PARTITION}", ["when", PARTITION]),
        (f"/replay/{PARTITION}", ["replay", PARTITION]),
    ):
        journal = str(tmp_path / "journal.db")
        said = CliRunner().invoke(cli, [*command, "-o", "json", "--database", journal])
        assert said.exit_code == 0, said.output
        mine, theirs = client.get(path).json, json.loads(said.stdout)
        for each in (mine, theirs):
            each.pop("at", None)
        assert mine == theirs, path


def test_a_list_is_read_in_parts(service: Service) -> None:
    """Each target once, in order, however small the parts are."""
    client = service.client()
    path, names, parts = "/targets?limit=4", list[str](), 0
    while path:
        answer = client.get(path)
        assert answer.status == 200, answer.text
        names += [each["target"]["name"] for each in answer.json["items"]]
        parts += 1
        link = answer.headers.get("link", "")
        path = link.partition("<")[2].partition(">")[0].removeprefix("/api/v1")
    whole = client.get("/targets").json["items"]
    assert names == [each["target"]["name"] for each in whole]
    assert len(names) == len(set(names)) > 4
    assert parts == -(-len(names) // 4)


# More digits than Python reads as a number.
LONG = "9" * 5000


@pytest.mark.parametrize(
    "path, status, said",
    [
        ("/statsu", 404, 'did you mean "/status"?'),
        ("/why/simulated/rolout", 404, 'did you mean "simulated/rollout"?'),
        (f"/why/{PARTITION}?target=prod-11", 404, "did you mean"),
        ("/targets?limit=0", 400, "limit"),
        ("/targets?limit=x", 400, 'limit: "x"'),
        ("/status/", 404, "there is /status"),
        ("/why", 404, "there is /why/NAME"),
        ("/rollouts?watch=no", 400, "neither true nor false"),
        ("/rollouts?watch&watch", 400, "twice"),
        ("/targets?watch&fieldSelector=state=Failed", 400, "fieldSelector"),
        ("/changes?kind=upgrades", 400, "kind"),
        (f"/watch/{PARTITION}?fact=asked", 400, "fact"),
        ("/targets?lim=1", 400, 'did you mean "limit"?'),
        ("/can-i", 400, "verb: is missing"),
        ("/can-i?verb=hold&group=prod", 422, "group: is of a rollout"),
        (f"/when/{PARTITION}?applyTime=-1m", 400, 'applyTime: "-1m": is negative'),
        (f"/what-if/{PARTITION}?applyTime=soon", 400, 'applyTime: "soon"'),
        ("/targets?limit=1&limit=2", 400, "twice"),
        ("/targets?labelSelector=a=b=c,,(", 400, "labelSelector"),
        ("/targets?fieldSelector=stat=Failed", 422, 'did you mean "state"?'),
        ("/journal/simulated/rollout?since=yesterday", 400, "since"),
        ("/changed?since=200000d", 400, "since"),
        pytest.param(f"/changed?since={LONG}d", 400, "since", id="long ago"),
        pytest.param(f"/status?at={LONG}/{PARTITION}", 422, "at", id="long number"),
        pytest.param(f"/when/{PARTITION}?applyTime={LONG}h", 400, "292 years", id="long time"),
    ],
)
def test_what_cannot_be_answered_says_why(
    service: Service, path: str, status: int, said: str
) -> None:
    """RFC 9457, with what to write instead."""
    answer = service.client().get(path)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json["status"] == status
    assert said in answer.json["detail"], answer.text


@pytest.mark.parametrize("path", ["/changes", f"/watch/{PARTITION}", "/status"])
def test_a_route_says_how_it_is_asked(service: Service, path: str) -> None:
    """A stream, too."""
    answer = service.client().post(path, {"reason": "x"})
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


def test_a_question_that_is_not_to_be_watched_is_answered(service: Service) -> None:
    """As clients of Kubernetes write it."""
    for word in ("false", "0"):
        assert service.client().get(f"/rollouts?watch={word}&limit=5").json["kind"] == "RolloutList"


@pytest.mark.parametrize("path", ["/changed", "/journal", f"/journal/{PARTITION}"])
def test_every_time_that_can_be_written_is_answered(service: Service, path: str) -> None:
    """The years 1 and 9999, too: databases keep none before 1677 or after 2262."""
    client = service.client()
    first, last = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"
    found = [
        client.get(f"{path}?since={since}&until={until}")
        for since, until in ((first, last), (last, last), (first, first))
    ]
    assert [each.status for each in found] == [200, 200, 200], found[0].text
    assert [bool(each.json["items"]) for each in found] == [True, False, False]


def test_a_plan_that_did_not_change_is_not_sent_again(service: Service) -> None:
    """Its tag stays while only the clock goes on, and moves with what a person decides."""
    client = service.client()
    first = client.get(f"/why/{PARTITION}")
    again = client.get(f"/why/{PARTITION}", {"if-none-match": first.tag})
    assert (again.status, again.text) == (304, "")
    client.post(f"/pause/{PARTITION}", {"reason": "a look"})
    moved = client.get(f"/why/{PARTITION}", {"if-none-match": first.tag})
    assert moved.status == 200
    assert moved.tag != first.tag


def test_cells_say_what_targets_say(service: Service) -> None:
    """What targets have in common is sent once, and nothing is lost by it."""
    client = service.client()
    cells, whole = (client.get(f"/{each}/{PARTITION}").json for each in ("cells", "why"))
    kinds = [cells["kinds"][index] for index in cells["cells"]]
    assert cells["names"] == [each["name"] for each in whole["targets"]]
    for kind, target in zip(kinds, whole["targets"], strict=True):
        for field in ("state", "group", "revision", "next", "options", "why"):
            assert kind.get(field) == target.get(field), field
    assert len(cells["kinds"]) < len(cells["cells"])


def test_without_a_token_nothing_is_answered(service: Service) -> None:
    """Nor with one that was never given out, or of another scheme."""
    for client in (Client(service.app), Client(service.app, "tidegate_guess")):
        for path in ("/status", "/rollouts", f"/why/{PARTITION}"):
            answer = client.get(path)
            assert answer.status == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
    basic = Client(service.app).get("/status", {"authorization": "Basic YTpi"})
    assert (basic.status, "Basic" in basic.json["detail"]) == (401, True)


def test_the_journals_of_all_rollouts_are_read_in_parts(service: Service) -> None:
    """By time, each entry once; of one rollout, nothing of brakes and tokens."""
    admin = service.client()
    for name in ("a", "b", "c"):
        admin.post(f"/hold/{name}", {"scope": {"everything": True}, "reason": "x"})
    every = admin.get("/journal?limit=1000").json["items"]
    assert {each["partition"] for each in every} == {PARTITION, "brakes", "access"}
    assert [each["at"] for each in every] == sorted(each["at"] for each in every)
    path, found = "/journal?limit=2", []
    while path:
        answer = admin.get(path)
        found += answer.json["items"]
        link = answer.headers.get("link", "")
        path = link.partition("<")[2].partition(">")[0].removeprefix("/api/v1")
    assert found == every
    assert admin.get("/journal?last=2").json["items"] == every[-2:]
    limited = service.client(Role.VIEWER, rollouts=(PARTITION,))
    seen = limited.get("/journal").json["items"]
    assert {each["partition"] for each in seen} == {PARTITION}
    assert limited.get("/journal?rollout=brakes").status == 404
    stranger = service.client(Role.VIEWER, kinds=("upgrades",))
    assert stranger.get("/journal").json["items"] == []
    assert stranger.get("/verify").json["items"] == []
    assert admin.get("/journal?continue=nonsense").status == 400
