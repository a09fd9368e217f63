"""Acts over HTTP: on the plan that was seen, once under a key, nothing in a dry run."""

import asyncio
import threading

import pytest

from tests.api.stage import PARTITION, Client, Service
from tests.patience import ended
from tidegate.access.roles import Role
from tidegate.access.tokens import hash_of
from tidegate.api.change_requests import REQUEST_ACTS
from tidegate.api.route_table import ACTS
from tidegate.explain.table import layout
from tidegate.journal.facts import Asked, Requested
from tidegate.kinds.promotions.api.acts import PROMOTION_ACTS
from tidegate.kinds.upgrades.api.label_acts import LABEL_ACTS
from tidegate.machine.system_clock import SystemClock
from tidegate.store.port import TakenPlace

APPROVE = f"/approve/{PARTITION}"
STAGE = {"groups": ["stage"], "reason": "dev looks good"}
HOLD = {"scope": {"everything": True}, "reason": "incident 42"}
EXPEDITE = {
    "scope": {"selector": {"matchLabels": {"org": "o"}}},
    "reason": "a fix",
    "expires": "2d",
    "version": "4.21.3",
}


def asked(service: Service) -> list[Asked]:
    """What people asked for, as the journal has it."""
    facts = (entry.fact() for entry in service.archive.read(PARTITION))
    return [fact for fact in facts if isinstance(fact, Asked)]


def entries(service: Service) -> int:
    """How many entries all journals have."""
    return sum(service.archive.heads().values())


def test_an_approval_is_recorded_with_its_caller(service: Service) -> None:
    """By which actor, how it is known, and why."""
    client = service.client()
    plan = client.get(f"/why/{PARTITION}")
    answer = client.post(APPROVE, STAGE, if_match=plan.tag)
    assert answer.status == 200, answer.text
    assert (answer.json["groups"], answer.json["targets"]) == (["stage"], 2)
    *_, act, request = service.archive.read(PARTITION)
    assert (act.actor, request.actor) == ("token:admin-0", "token:admin-0")
    said, how = act.fact(), request.fact()
    assert isinstance(said, Asked)
    assert said.reason == "dev looks good"
    assert isinstance(how, Requested)
    # The name of a token may be used again; its hash is not.
    known = f"token admin-0, sha256 {hash_of('tidegate_admin-0')[:12]}"
    assert (how.act, how.via) == (f"approve/{PARTITION}", known)
    assert client.get(f"/journal/{PARTITION}").json["items"][-1]["kind"] == "requested"


def test_a_write_that_may_start_something_names_its_plan(service: Service) -> None:
    """428 without one; what stops needs none."""
    client = service.client()
    answer = client.post(APPROVE, STAGE)
    assert answer.status == 428
    assert "If-Match" in answer.json["detail"]
    assert answer.json["tag"] == client.get(f"/why/{PARTITION}").tag.strip('"')
    assert not asked(service)
    assert client.post(f"/pause/{PARTITION}", {"reason": "x"}).status == 200
    assert client.post("/hold/inc-42", HOLD).status == 200


def test_a_retry_may_be_of_one_group(service: Service) -> None:
    """A name that is wrong is refused."""
    client = service.client()
    client.post(f"/abort/{PARTITION}", {"reason": "x"}, if_match="*")
    tag = client.get(f"/why/{PARTITION}").tag
    wrong = client.post(f"/retry/{PARTITION}", {"groups": ["stag"], "reason": "x"}, if_match=tag)
    assert (wrong.status, len(asked(service))) == (404, 1)
    body = {"groups": ["stage"], "failed": True, "reason": "x"}
    done = client.post(f"/retry/{PARTITION}", body, if_match=tag)
    assert done.status == 200, done.text
    assert [(each.verb.value, each.groups) for each in asked(service)] == [
        ("abort", ()),
        ("retryFailed", ("stage",)),
    ]


@pytest.mark.parametrize("query", ["", "?dryRun=true"])
def test_an_act_that_means_nothing_in_this_phase_is_refused(service: Service, query: str) -> None:
    """With the phase and what to use instead, in a dry run, too; nothing is recorded."""
    client = service.client()
    answer = client.post(f"/resume/{PARTITION}{query}", {"reason": "x"}, if_match="*")
    assert answer.status == 422
    (problem,) = answer.json["problems"]
    assert "and is not paused" in problem["message"]
    assert f"tidegate why {PARTITION}" in problem["remedy"]
    assert not asked(service)


def test_a_plan_that_moved_is_not_acted_on(service: Service) -> None:
    """412 with what is not as it was; with the new tag it works."""
    client = service.client()
    plan = client.get(f"/why/{PARTITION}")
    client.post(f"/pause/{PARTITION}", {"reason": "another person"})
    before = len(asked(service))
    answer = client.post(APPROVE, STAGE, if_match=plan.tag)
    assert answer.status == 412
    assert len(asked(service)) == before
    found = answer.json["difference"]
    assert found["changes"] == len(found["items"]) > 0
    row = next(each for each in found["items"] if each["what"] == PARTITION)
    assert "paused" in row["after"]
    assert "paused" not in row["before"]
    assert client.post(APPROVE, STAGE, if_match=answer.headers["etag"]).status == 200
    assert client.post(APPROVE, STAGE, if_match='"unknown"').status == 412


@pytest.mark.parametrize("query", ["dryRun=true&dryRun=false", "dryRun=false&dryRun=true"])
def test_a_dry_run_that_is_asked_for_twice_is_refused(service: Service, query: str) -> None:
    """Either could be meant, and one of them writes."""
    before = entries(service)
    answer = service.client().post(f"/hold/inc-42?{query}", HOLD)
    assert (answer.status, answer.json["detail"]) == (400, "dryRun: is given twice")
    assert entries(service) == before + 1  # the token of the client


def test_a_plan_is_known_in_a_list_and_through_a_proxy_that_compresses(service: Service) -> None:
    """Such a proxy makes every tag a weak one; several are read as one list."""
    client = service.client()
    tag = client.get(f"/why/{PARTITION}").tag
    for named in (f'"a", {tag}', f"W/{tag}", f'W/"a",W/{tag}'):
        read = client.get(f"/why/{PARTITION}", {"if-none-match": named})
        assert (read.status, read.text) == (304, ""), named
        assert client.post(f"/abort/{PARTITION}?dryRun=true", {"reason": "x"}).tag == tag
        done = client.post(f"/retry/{PARTITION}", {"reason": "x"}, if_match=named)
        assert done.status in (200, 422), (named, done.text)
    assert client.post(APPROVE, STAGE, if_match='"a", W/"b"').status == 412


def test_a_body_in_a_packing_is_refused(service: Service) -> None:
    """With what to send, and not as JSON that is none."""
    answer = service.client().post("/hold/inc-42", HOLD, content_encoding="gzip")
    assert (answer.status, '"gzip"' in answer.json["detail"]) == (415, True)


def test_a_field_within_a_body_has_its_place(service: Service) -> None:
    """A misspelt one, too."""
    body = {"reason": "x", "scope": {"everythin": True}}
    answer = service.client().post("/hold/inc-42", body)
    assert (answer.status, answer.json["problems"][0]["path"]) == (400, "scope.everythin")


DEV = {"reason": "x", "scope": {"targets": ["dev-1", "dev-2"]}}


def test_brakes_are_lifted_together_on_what_follows_from_all_of_them(service: Service) -> None:
    """Either alone lets nothing start: one write, all or none."""
    client = service.client()
    for name in ("a", "b"):
        assert client.post(f"/hold/{name}", DEV).status == 200
    alone = client.post("/lift-hold/a?dryRun=true", {"reason": "over"})
    assert alone.json["rollouts"] == []
    both = {"reason": "over", "also": ["b", "a"]}
    dry = client.post("/lift-hold/a?dryRun=true", both)
    assert [each["partition"] for each in dry.json["rollouts"]] == [PARTITION]
    unknown = client.post("/lift-hold/a", {"reason": "over", "also": ["c"]}, if_match="*")
    assert (unknown.status, 'no hold "c"' in unknown.json["detail"]) == (404, True)
    assert client.post("/lift-hold/a", both, if_match=alone.tag).status == 412
    assert len(client.get("/holds").json["items"]) == 2
    done = client.post("/lift-hold/a", both, if_match=dry.tag)
    assert [each["name"] for each in done.json["items"]] == ["a", "b"]
    assert client.get("/holds").json["items"] == []


def test_a_plan_from_which_nothing_followed_is_not_a_forgotten_one(service: Service) -> None:
    """412 says what follows now."""
    client = service.client()
    for name in ("a", "b"):
        assert client.post(f"/hold/{name}", DEV).status == 200
    lift = {"reason": "over"}
    dry = client.post("/lift-hold/a?dryRun=true", lift)
    assert client.post("/lift-hold/b", lift, if_match="*").status == 200
    moved = client.post("/lift-hold/a", lift, if_match=dry.tag)
    assert moved.status == 412
    (row,) = moved.json["difference"]["items"]
    assert (row["what"], row["before"]) == (PARTITION, None)
    assert "not known" not in moved.json["detail"]


def test_names_and_reasons_have_a_length(service: Service) -> None:
    """They stand in tables and addresses; line ends in a reason end no line there."""
    client = service.client()
    long = client.post(f"/hold/{'x' * 201}", HOLD)
    assert (long.status, "write 200 at most" in long.json["detail"]) == (422, True)
    much = client.post("/hold/x", {**HOLD, "reason": "x" * 4001})
    assert (much.status, "4000" in much.json["detail"]) == (400, True)
    assert client.post("/hold/x", {**HOLD, "reason": "one\ntwo"}).status == 200
    assert layout(("A", "B"), [("one\ntwo", "b")]) == ["A        B", "one two  b"]


def test_a_dry_run_records_nothing_and_names_the_plan(service: Service) -> None:
    """Of every act: what it would reach, and the tag to do it with."""
    client = service.client()
    client.post("/hold/known", HOLD)
    client.post(
        "/freeze/known",
        {**HOLD, "times": {"from": "2099-01-01T00:00:00Z", "to": "2099-01-02T00:00:00Z"}},
    )
    for brake in ("block", "pin"):
        client.post(f"/{brake}/known", {**HOLD, "scope": {"targets": ["prod-1"]}})
    client.post("/expedite/known", EXPEDITE, if_match="*")
    taken(service)
    before = entries(service)
    # `test_pipeline_reports`, `test_version_requests`, `test_label_requests`
    elsewhere = (*PROMOTION_ACTS, *REQUEST_ACTS, *LABEL_ACTS)
    for route in ACTS:
        if route in elsewhere:
            continue
        name = PARTITION
        body: dict[str, object] = {"reason": "to see"}
        if "groups" in route.body.__struct_fields__:
            body["groups"] = ["stage"]
        if route.verb in ("hold", "freeze", "block", "pin"):
            name, body = "new", {**HOLD}
            if route.verb == "freeze":
                body["times"] = {"from": "2099-01-01T00:00:00Z", "to": "2099-01-02T00:00:00Z"}
        elif route.verb.startswith("lift-"):
            name = "known"
        elif route.verb == "exempt":
            name, body = "known", {**HOLD, "until": "3h"}
        elif route.verb == "expedite":
            name, body = "new", {**EXPEDITE}
        elif route.verb == "free":
            name = "mutex/db"
        elif route.verb == "token":
            name, body = "new", {**body, "hash": "0" * 64, "role": "viewer"}
            del body["groups"]
        elif route.verb == "revoke-token":
            name = "admin-0"
        elif route.verb == "end-session":
            continue  # there is none (`test_sessions.py`)
        answer = client.post(f"/{route.verb}/{name}?dryRun=true", body)
        assert answer.status in (200, 422), (route.path, answer.text)
        if answer.status == 200:
            assert answer.tag
    assert entries(service) == before


def taken(service: Service, partition: str = "simulated/gone") -> None:
    """A mutex that a target of a rollout has, or had."""
    place = TakenPlace("mutex/db", 0, partition, f"{partition}#1/prod-1", SystemClock().now())
    service.archive.append(partition, [], claims=[place])


def test_a_place_of_a_rollout_that_is_gone_is_given_back(service: Service) -> None:
    """On the plan that was seen; to a caller with limits it is not there: no target is known."""
    taken(service)
    client = service.client()
    dry = client.post("/free/mutex/db?dryRun=true", {"reason": "it is gone"})
    assert [each["target"] for each in dry.json["items"]] == ["prod-1"]
    assert client.post("/free/mutex/db", {"reason": "it is gone"}).status == 428
    limited = service.client(Role.OPERATOR, rollouts=(PARTITION,))
    refused = limited.post("/free/mutex/db", {"reason": "it is gone"}, if_match=dry.tag)
    assert refused.status == 404
    assert client.post("/free/mutex/db", {"reason": "gone"}, if_match=dry.tag).status == 200
    assert not service.archive.claims()
    assert client.post("/free/mutex/db", {"reason": "gone"}, if_match=dry.tag).status == 404


def test_a_version_is_expedited_until_a_time(service: Service) -> None:
    """It names the plan it was decided on; lifting it needs none, for less starts then."""
    client = service.client()
    endless = client.post("/expedite/4.21.3", {**EXPEDITE, "expires": ""}, if_match="*")
    assert endless.status == 422
    assert "say until when it is expedited" in endless.text
    unknown = client.post("/expedite/4.21.3", {**EXPEDITE, "scope": {"labels": "org=o"}})
    assert (unknown.status, "labels" in unknown.text) == (400, True)
    assert client.post("/expedite/4.21.3", EXPEDITE).status == 428
    dry = client.post("/expedite/4.21.3?dryRun=true", EXPEDITE)
    assert dry.json == {"apiVersion": dry.json["apiVersion"], "kind": "ExpediteEffect", "items": []}
    assert client.post("/expedite/4.21.3", EXPEDITE, if_match=dry.tag).json["name"] == "4.21.3"
    (item,) = client.get("/expedites").json["items"]
    assert (item["version"], item["reason"]) == ("4.21.3", "a fix")
    assert client.post("/lift-expedite/4.21.3", {"reason": "done"}).status == 200


def test_a_brake_says_what_it_covers_and_whom_it_binds(service: Service) -> None:
    """Set, listed, lifted; the plan says that it is held."""
    client = service.client()
    dry = client.post("/hold/inc-42?dryRun=true", HOLD)
    assert dry.json["kind"] == "BrakeReach"
    assert dry.json["targets"] == 10
    done = client.post("/hold/inc-42", HOLD, if_match=dry.tag)
    assert (done.status, done.json["kind"], done.json["covers"]) == (200, "BrakeReport", 1)
    assert [each["name"] for each in client.get("/holds").json["items"]] == ["inc-42"]
    held = client.get("/targets?fieldSelector=gate=hold").json["items"]
    assert held
    assert client.post("/hold/inc-42", HOLD).status == 422
    narrower = {**HOLD, "scope": {"targets": ["prod-1"]}, "replace": True}
    assert client.post("/hold/inc-42", narrower).status == 428  # more may start by it
    lift = client.post("/lift-hold/inc-42?dryRun=true", {"reason": "solved"})
    assert lift.json["rollouts"][0]["partition"] == PARTITION
    assert client.post("/lift-hold/inc-42", {"reason": "solved"}).status == 428
    answer = client.post("/lift-hold/inc-42", {"reason": "solved"}, if_match=lift.tag)
    assert (answer.status, answer.json["items"][0]["name"]) == (200, "inc-42")
    assert client.get("/holds").json["items"] == []


def test_a_request_is_carried_out_once_under_its_key(service: Service) -> None:
    """Asked for again, it is answered alike, even after the plan moved; another one is refused."""
    client = service.client()
    plan = client.get(f"/why/{PARTITION}")
    first = client.post(APPROVE, STAGE, if_match=plan.tag, idempotency_key="k1")
    assert first.status == 200
    before = entries(service)
    again = client.post(APPROVE, STAGE, if_match=plan.tag, idempotency_key="k1")
    assert (again.status, again.json) == (200, first.json)
    assert again.headers["idempotency-replayed"] == "true"
    # It shows no plan of now, and so is none to act on.
    assert "etag" not in again.headers
    other = client.post(APPROVE, {**STAGE, "groups": ["prod"]}, if_match="*", idempotency_key="k1")
    assert (other.status, "k1" in other.json["detail"]) == (422, True)
    assert entries(service) == before
    another = service.client().post(APPROVE, STAGE, if_match="*", idempotency_key="k1")
    assert "idempotency-replayed" not in another.headers


def test_a_lost_answer_is_given_again_though_the_act_cannot_be_done_again(
    service: Service,
) -> None:
    """A hold that was lifted is not there to be lifted: the key says that it was done."""
    client = service.client()
    scope = {"reason": "incident", "scope": {"everything": True}}
    assert client.post("/hold/inc", scope, idempotency_key="h1").status == 200
    lift = {"reason": "solved"}
    first = client.post("/lift-hold/inc", lift, if_match="*", idempotency_key="l1")
    assert first.status == 200, first.text
    again = client.post("/lift-hold/inc", lift, if_match="*", idempotency_key="l1")
    assert (again.status, again.json) == (200, first.json)
    assert again.headers["idempotency-replayed"] == "true"
    new = client.post("/lift-hold/inc", lift, if_match="*", idempotency_key="l2")
    assert new.status == 404


def test_the_same_request_at_once_is_carried_out_once(service: Service) -> None:
    """Eight callers with one key: one entry, and one answer for all."""
    client = service.client()
    plan = client.get(f"/why/{PARTITION}")
    found: list[tuple[int, str]] = []

    def ask() -> None:
        answer = client.post(APPROVE, STAGE, if_match=plan.tag, idempotency_key="once")
        found.append((answer.status, answer.text))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        ended(each)
    assert len(asked(service)) == 1
    assert len(set(found)) == 1
    assert found[0][0] == 200


@pytest.mark.parametrize(
    "path, body, status, said",
    [
        (APPROVE, {"groups": ["stage"]}, 400, "reason: is missing"),
        (APPROVE, {"groups": ["stage"], "reason": " "}, 400, "write why"),
        (APPROVE, {"groups": ["stage"], "reason": 5}, 400, "reason: Expected `str`, got `int`"),
        (APPROVE, {"groups": ["stagee"], "reason": "x"}, 404, 'did you mean "stage"?'),
        (APPROVE, {"reason": "x"}, 422, "--group NAME"),
        (APPROVE, {"groups": "stage", "reason": "x"}, 400, "groups"),
        (APPROVE, {**STAGE, "gruops": []}, 400, 'did you mean "groups"?'),
        (APPROVE, b"{", 400, "JSON"),
        pytest.param(
            APPROVE, b'{"reason":' + b"[" * 50_000, 400, "reason: Expected `str`", id="deep"
        ),
        pytest.param(APPROVE, b'"' + b"x" * (1 << 20) + b'"', 413, "bytes", id="long"),
        ("/hold/x", {"scope": {}, "reason": "x"}, 422, "covers nothing"),
        ("/hold/x", {**HOLD, "expires": "soon"}, 400, "expires"),
        ("/hold/x", {**HOLD, "expires": "2020-01-01T00:00:00Z"}, 400, "past"),
        ("/lift-hold/x", {"reason": "x"}, 404, 'no hold "x"'),
        (f"{APPROVE}?dryRun=maybe", STAGE, 400, "dryRun"),
        (f"{APPROVE}?dry=true", STAGE, 400, "dry"),
    ],
)
def test_a_mistake_is_named(
    service: Service, path: str, body: object, status: int, said: str
) -> None:
    """What, where, and what to write instead; nothing is recorded."""
    client, before = service.client(), entries(service)
    answer = client.post(path, body, if_match="*")
    assert answer.status == status, answer.text
    assert said in answer.json["detail"], answer.text
    assert entries(service) == before


def test_only_json_is_read(service: Service) -> None:
    """Neither a form nor a text: a page of a stranger cannot send JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = service.client().post(APPROVE, STAGE, if_match="*", content_type=kind)
        assert answer.status == 415


def test_a_caller_without_a_token_changes_nothing(service: Service) -> None:
    """Every act, without a token."""
    before = entries(service)
    for route in ACTS:
        assert Client(service.app).post(f"/{route.verb}/x", HOLD, if_match="*").status == 401
    assert entries(service) == before


def test_a_caller_that_leaves_before_its_body_is_whole_does_nothing(service: Service) -> None:
    """It is no error of ours, and nothing is recorded."""
    client, before = service.client(), entries(service)
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    login = (b"authorization", f"Bearer {client.token}".encode())
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/api/v1{APPROVE}",
        "query_string": b"",
        "headers": [login, (b"content-type", b"application/json")],
    }
    asyncio.run(service.app(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 400
    assert entries(service) == before


def test_what_is_done_to_tokens_is_done_once_under_a_key(service: Service) -> None:
    """An answer that was lost is given again: a token that is in use by then is not refused."""
    client, before = service.client(), len(list(service.archive.read("access")))
    made = {"hash": hash_of("tidegate_x"), "role": "viewer", "reason": "boards"}
    first, again = (client.post("/token/ci", made, idempotency_key="k-1") for _ in range(2))
    assert (first.status, again.status) == (200, 200), again.text
    assert first.text == again.text
    gone, twice = (
        client.post("/revoke-token/ci", {"reason": "leaked"}, idempotency_key="k-2")
        for _ in range(2)
    )
    assert (gone.status, twice.status, gone.text) == (200, 200, twice.text)
    # Each act is a fact, and what was asked.
    assert len(list(service.archive.read("access"))) == before + 4
