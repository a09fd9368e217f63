"""Route × role × scope, all of it: what each caller may, and that the rest is refused."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.stage import PARTITION, TARGETS, Service, copied
from tidegate.access.policy_doc import AccessPolicy, read_policy
from tidegate.access.roles import Caller, Grant, GrantScope, Reached, Right, Role, refusal
from tidegate.api.login import rates
from tidegate.api.route_table import ACTS, QUESTIONS
from tidegate.kinds.promotions.api.acts import PROMOTION_ACTS
from tidegate.kinds.upgrades.api.label_questions import LABEL_QUESTIONS
from tidegate.model.errors import UserError

# What each scope is, and the groups that are seen by it; all of them: the partition is seen whole.
SCOPES: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "everything": ({}, ("dev", "stage", "prod")),
    "its kind": ({"kinds": ("simulated",)}, ("dev", "stage", "prod")),
    "its name": ({"rollouts": ("simulated/rol*",)}, ("dev", "stage", "prod")),
    "its organisations": ({"organisations": ("o-*",)}, ("dev", "stage", "prod")),
    "one organisation": ({"organisations": ("o-web",)}, ("dev", "stage")),
    "another organisation of it": ({"organisations": ("o-pay",)}, ("prod",)),
    "one environment": ({"environments": ("stage",)}, ("stage",)),
    "one group": ({"groups": ("stage",)}, ("stage",)),
    "some labels": ({"selector": "region=eu"}, ("prod",)),
    "labels that some lack": ({"selector": "!region"}, ("dev", "stage")),
    "both": ({"organisations": ("o-web",), "environments": ("dev",)}, ("dev",)),
    "another kind": ({"kinds": ("upgrades",)}, ()),
    "another name": ({"rollouts": ("simulated/other",)}, ()),
    "another organisation": ({"organisations": ("o-other",)}, ()),
    "another environment": ({"environments": ("qa",)}, ()),
    "another group": ({"groups": ("canary",)}, ()),
    "other labels": ({"selector": "region=us"}, ()),
    "nothing that is both": ({"organisations": ("o-web",), "groups": ("prod",)}, ()),
}


REQUEST_BODIES: dict[str, dict[str, object]] = {
    "withdraw": {"request": "x"},
    "policy": {"policies": [{"name": "x", "labels": {"sector": "y"}}]},
    "remove-policy": {"clusters": ["x"]},
    "sectors": {"sectors": [{"name": "x"}]},
    "remove-sectors": {"sectors": ["x"]},
    "version-blocks": {"add": ["x"]},
    "inheritance": {"add": {"inherit": ["x"]}},
    "gate-approvals": {"gates": ["ocp"]},
}


def hidden_names(groups: tuple[str, ...]) -> list[str]:
    """The targets that are in none of these groups."""
    return [name for group, names in TARGETS.items() if group not in groups for name in names]


@pytest.fixture(scope="module")
def asked(decided: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for callers that change nothing but their tokens."""
    with Service(copied(decided, tmp_path_factory.mktemp("asked"))) as made:
        yield made


@pytest.mark.parametrize("role, scope", list(itertools.product(Role, SCOPES)))
def test_every_route_for_every_role_and_scope(asked: Service, role: Role, scope: str) -> None:
    """Nothing is answered or done beyond a role; what is outside of a scope does not exist."""
    limits, groups = SCOPES[scope]
    client, whole = asked.client(role, **limits), len(groups) == len(TARGETS)
    for question in QUESTIONS:
        more = "?verb=why" if question.path == "/can-i" else ""
        answer = client.get(question.path.replace("{name}", PARTITION) + more)
        # Of a version, and none is quarantined; of an organisation, and it is none.
        elsewhere = ("/suspects/{name}", "/upgrades/{name}")
        missing = question.path in elsewhere or question in LABEL_QUESTIONS
        expected = 404 if missing or (question.named and not groups) else 200
        if question.right not in role.rights or (question.right is Right.ADMINISTER and limits):
            expected = 403  # tokens are of those who may all
        if question.path in ("/replay/{name}", "/shadow/{name}") and groups and not whole:
            expected = 403  # it shows all, or nothing
        assert answer.status == expected, (question.path, answer.text)
        if not groups and not question.named:
            assert PARTITION not in answer.text, question.path
        for name in hidden_names(groups):
            assert name not in answer.text, question.path
    for route in ACTS:
        fields = route.body.__struct_fields__
        body: dict[str, object] = {"reason": "x"}
        name = PARTITION
        if route in PROMOTION_ACTS:
            known = {"target": "x", "version": "a" * 40, "evidence": "x", "good": True}
            body |= {each: known[each] for each in fields if each in known}
        body |= REQUEST_BODIES.get(route.verb, {})
        if "groups" in fields:
            body["groups"] = ["stage"]
        if "request" in fields:
            body["request"] = "r0"
        if "scope" in fields:
            name, body["scope"] = "new", {"everything": True}
        answer = client.post(f"/{route.verb}/{name}?dryRun=true", body)
        if route.right not in role.rights:
            assert answer.status == 403, (route.path, answer.text)
            assert "role" in answer.json["detail"]
        elif route.right is Right.ADMINISTER or ("scope" in fields and limits):
            assert answer.status in (400, 403, 404, 422), (route.path, answer.text)
        elif not groups:
            assert answer.status == 404, (route.path, answer.text)
        elif whole or (route.right is Right.APPROVE and "stage" in groups):
            assert answer.status in (200, 400, 404, 422), (route.path, answer.text)
        else:
            # It would reach more than is seen, or a group that is not there for this caller.
            assert answer.status in (403, 404, 422), (route.path, answer.text)
        for hidden in hidden_names(groups) if limits else ():
            assert hidden not in answer.text, route.path


def test_an_owner_sees_and_changes_their_own_targets_only(service: Service) -> None:
    """Rows, counts, cells, why, dates, journal and tags: the rest does not exist."""
    owner, every = service.client(Role.OPERATOR, organisations=("o-pay",)), service.client()
    mine = set(TARGETS["prod"])
    shown = owner.get(f"/rollouts/{PARTITION}").json
    assert {each["name"] for each in shown["targets"]} == mine
    assert [each["name"] for each in shown["groups"]] == ["prod"]
    assert shown["headline"] == "Waiting · revision v2 · 6 waiting"
    assert "0 of 10 done" in every.get(f"/rollouts/{PARTITION}").json["headline"]
    assert {each["target"]["name"] for each in owner.get("/targets").json["items"]} == mine
    assert set(owner.get(f"/cells/{PARTITION}").json["names"]) == mine
    assert {each["target"] for each in owner.get(f"/when/{PARTITION}").json["items"]} <= mine
    [listed] = owner.get("/rollouts").json["items"]
    assert sum(listed["counts"].values()) == len(mine)
    assert owner.get(f"/why/{PARTITION}?target=dev-1").status == 404
    assert owner.get("/why/dev-1").status == 404
    assert owner.get("/why/prod-1").json["target"]["name"] == "prod-1"
    entries = owner.get(f"/journal/{PARTITION}").json["items"]
    assert {each["target"] for each in entries} <= mine | {""}
    assert len(entries) < len(every.get(f"/journal/{PARTITION}").json["items"])
    # It writes on the plan that it sees: its tag is its own.
    body = {"reason": "x", "groups": ["prod"]}
    tag = owner.get(f"/why/{PARTITION}").tag
    assert owner.post(f"/approve/{PARTITION}", body, if_match=tag).status == 200
    entries = owner.get(f"/journal/{PARTITION}").json["items"]
    assert [each["actor"] for each in entries if each["kind"] == "asked"] == ["token:operator-0"]
    stage = every.post(f"/approve/{PARTITION}", {"reason": "x", "groups": ["stage"]}, if_match="*")
    assert stage.status == 200
    entries = owner.get(f"/journal/{PARTITION}").json["items"]
    assert [each["actor"] for each in entries if each["kind"] == "asked"] == ["token:operator-0"]
    # What reaches beyond its own is refused, whatever it names.
    for verb, before in (("pause", ""), ("resume", "pause"), ("abort", ""), ("retry", "abort")):
        if before:
            assert every.post(f"/{before}/{PARTITION}", {"reason": "x"}, if_match="*").status == 200
        answer = owner.post(f"/{verb}/{PARTITION}", {"reason": "x"}, if_match="*")
        assert answer.status == 403, verb
        assert "targets it does not see" in answer.json["detail"]
    hold = {"reason": "x", "scope": {"targets": ["prod-1"]}}
    assert owner.post("/hold/mine", hold).status == 200
    beyond = {"reason": "x", "scope": {"targets": ["prod-1", "dev-1"]}}
    assert owner.post("/hold/more", beyond).status == 403


def test_a_brake_of_all_is_not_replaced_or_lifted_by_an_owner(service: Service) -> None:
    """Not even where it covers only what the owner sees, as far as is known today."""
    owner, every = service.client(Role.OPERATOR, organisations=("o-pay",)), service.client()
    held = {"reason": "incident", "scope": {"everything": True}}
    assert every.post("/hold/inc", held).status == 200
    less = {"reason": "x", "replace": True, "scope": {"targets": ["prod-1"]}}
    assert owner.post("/hold/inc", less, if_match="*").status == 403
    assert owner.post("/lift-hold/inc", {"reason": "x"}, if_match="*").status == 403
    others = {"reason": "x", "scope": {"targets": ["dev-1"]}}
    assert every.post("/hold/theirs", others).status == 200
    both = {"reason": "x", "scope": {"targets": ["dev-1", "prod-2"]}}
    assert every.post("/hold/both", both).status == 200
    seen = {each["name"]: each["scope"] for each in owner.get("/holds").json["items"]}
    assert set(seen) == {"inc", "both"}
    assert seen["both"]["targets"] == ["prod-2"]
    assert owner.post("/lift-hold/both", {"reason": "x"}, if_match="*").status == 403
    assert owner.post("/hold/mine", {**others, "scope": {"targets": ["prod-3"]}}).status == 200
    for more in ("both", "inc"):
        also = {"reason": "x", "also": [more]}
        assert owner.post("/lift-hold/mine", also, if_match="*").status == 403, more
    assert owner.post("/lift-hold/mine", {"reason": "x"}, if_match="*").status == 200


def test_a_group_is_approved_by_those_it_is_granted_to(service: Service) -> None:
    """An approver of stage does not see prod, nor pause what is beyond its group."""
    client = service.client(Role.APPROVER, groups=("stage",))
    body = {"reason": "x", "groups": ["stage"]}
    assert client.post(f"/approve/{PARTITION}", body, if_match="*").status == 200
    for groups in (["prod"], ["stage", "prod"]):
        answer = client.post(f"/approve/{PARTITION}", {**body, "groups": groups}, if_match="*")
        assert answer.status == 404
        assert 'no group "prod"' in answer.json["detail"]
    operator = service.client(Role.OPERATOR, groups=("stage",))
    assert operator.post(f"/pause/{PARTITION}", {"reason": "x"}).status == 403
    # A retry of its own group would let the others go on, too.
    service.client().post(f"/abort/{PARTITION}", {"reason": "x"}, if_match="*")
    assert operator.post(f"/retry/{PARTITION}", body, if_match="*").status == 403


def test_a_viewer_of_all_approves_what_is_granted_beside(decided: Path, tmp_path: Path) -> None:
    """Grants add up: it sees everything, and approves one group."""
    grants = [
        {"role": "viewer", "subjects": ["token:approver-*"]},
    ]
    service = Service(copied(decided, tmp_path), read_policy({"grants": grants}, "policy.yaml"))
    client = service.client(Role.APPROVER, groups=("stage",))
    assert "prod-1" in client.get(f"/why/{PARTITION}").text
    body = {"reason": "x", "groups": ["prod"]}
    refused = client.post(f"/approve/{PARTITION}", body, if_match="*")
    assert (refused.status, "prod-1 of" in refused.json["detail"]) == (403, True)
    allowed = client.post(f"/approve/{PARTITION}", {**body, "groups": ["stage"]}, if_match="*")
    assert allowed.status == 200
    service.close()


def test_a_hold_reaches_no_further_than_its_caller(service: Service) -> None:
    """By name within the scope; by labels or everything only with a grant for everything."""
    client = service.client(Role.OPERATOR, kinds=("simulated",))
    mine = {"reason": "x", "scope": {"targets": ["prod-1"]}}
    assert client.post("/hold/one", mine).status == 200
    for scope in ({"everything": True}, {"targets": ["nowhere"]}, {"kinds": ["simulated"]}):
        answer = client.post("/hold/more", {"reason": "x", "scope": scope})
        assert answer.status == 403, scope


def test_a_token_for_a_kind_that_there_is_not_is_refused(service: Service) -> None:
    """As in a policy file: it would see nothing, and not say why."""
    body = {"reason": "x", "role": "viewer", "hash": "0" * 64, "kinds": ["upgrade", "policies"]}
    answer = service.client().post("/token/ci", body)
    (problem,) = answer.json["problems"]
    assert (answer.status, problem["path"]) == (422, "kinds")
    assert problem["remedy"] == 'did you mean "upgrades"?'


def test_a_brake_on_hidden_targets_is_answered_as_none(service: Service) -> None:
    """Neither its reason nor its actor is said, and it is not offered for a misspelt one."""
    every = service.client()
    for name, target in (("theirs", "dev-1"), ("mine", "prod-1")):
        body = {"reason": f"secret of {name}", "scope": {"targets": [target]}}
        assert every.post(f"/hold/{name}", body).status == 200
    mine = service.client(Role.OPERATOR, environments=("prod",))
    for verb, name, more in (
        ("lift-hold", "theirs", {}),
        ("lift-hold", "their", {}),
        ("lift-hold", "mine", {"also": ["theirs"]}),
        ("hold", "theirs", {"scope": {"targets": ["prod-1"]}}),
        ("hold", "theirs", {"scope": {"targets": ["prod-1"]}, "replace": True}),
        ("exempt", "theirs", {"scope": {"targets": ["prod-1"]}, "until": "2h"}),
        ("free", "theirs", {}),
    ):
        answer = mine.post(f"/{verb}/{name}?dryRun=true", {"reason": "x", **more})
        assert answer.status == (422 if verb == "hold" else 404), answer.text
        assert "secret" not in answer.text
        assert "admin" not in answer.text
        if name != "theirs" and "also" not in more:
            assert "theirs" not in answer.text
    known = mine.post("/hold/mine?dryRun=true", {"reason": "x", "scope": {"targets": ["prod-1"]}})
    assert "secret of mine" in known.json["detail"]


def test_a_hidden_target_is_held_no_more_than_one_that_is_not_there(service: Service) -> None:
    """In the same words: they would say which names there are."""
    mine = service.client(Role.OPERATOR, environments=("prod",))
    for verb, more in (("hold", {}), ("expedite", {"version": "v2", "expires": "2h"})):
        said = [
            mine.post(
                f"/{verb}/x?dryRun=true", {"reason": "x", "scope": {"targets": [name]}, **more}
            ).json
            for name in ("dev-1", "nowhere")
        ]
        assert said[0] == said[1], verb
        assert said[0]["status"] == 403, verb


def test_a_revoked_or_expired_token_is_refused(service: Service) -> None:
    """At once, without a restart."""
    from tidegate.app.access.tokens import revoke_token
    from tidegate.machine.system_clock import SystemClock

    client = service.client()
    assert client.get("/status").status == 200
    revoke_token(service.archive, "admin-0", "leaked", SystemClock().now(), "user:test")
    assert client.get("/status").status == 401


def caller(*grants: Grant) -> Caller:
    """A caller with grants."""
    return Caller(actor="user:a", via="a test", grants=grants)


def test_grants_add_up_and_none_is_assumed() -> None:
    """Each target must be in one of the scopes; no grant, no right."""
    scopes = (GrantScope(rollouts=("a/*",)), GrantScope(groups=("dev",)))
    both = caller(*(Grant(role=Role.OPERATOR, subjects=("*",), scope=each) for each in scopes))
    inside = (Reached("a/1", "prod", "x", {}), Reached("b/1", "dev", "y", {}))
    assert refusal(both, Right.OPERATE, inside, "pause") == ""
    outside = (*inside, Reached("b/1", "prod", "z", {}))
    assert "targets it does not see" in refusal(both, Right.OPERATE, outside, "pause")
    viewer = Grant(role=Role.VIEWER, subjects=("*",))
    assert "z of b/1" in refusal(caller(*both.grants, viewer), Right.OPERATE, outside, "pause")
    assert refusal(both, Right.OPERATE, None, "hold")
    assert "needs the role viewer" in refusal(caller(), Right.VIEW, (), "read")


def test_a_policy_file_is_checked() -> None:
    """Every mistake, with its place."""
    data = {
        "grants": [
            {"role": "aprover", "subjects": ["alice"], "kinds": ["upgrade"]},
            {"role": "viewer", "subjects": []},
        ],
        "fourEyes": [{"rollouts": ["x"], "gate": "y"}],
    }
    with pytest.raises(UserError) as raised:
        read_policy(data, "policy.yaml")
    text = str(raised.value)
    # What has no effect is refused, and not read in silence.
    wanted = ("grants[0].role", 'did you mean "approver"?', '"alice"', "grants[1].subjects")
    for said in (*wanted, 'fourEyes[0].gate: unknown field; did you mean "gates"?'):
        assert said in text
    assert read_policy({}, "x") == AccessPolicy()


def test_a_caller_learns_what_it_may(service: Service) -> None:
    """Yes, or no and why; of what it does not see, nothing."""
    approver = service.client(Role.APPROVER, groups=("stage",))
    path = f"/can-i?verb=approve&rollout={PARTITION}"
    assert approver.get(f"{path}&group=stage").json["allowed"]
    assert approver.get(f"{path}&group=prod").status == 404  # it does not exist for it
    refused = approver.get(f"/can-i?verb=pause&rollout={PARTITION}").json
    assert (refused["allowed"], "needs the role operator" in refused["why"]) == (False, True)
    operator = service.client(Role.OPERATOR, groups=("stage",))
    refused = operator.get(f"/can-i?verb=pause&rollout={PARTITION}").json
    assert (refused["allowed"], "targets it does not see" in refused["why"]) == (False, True)
    assert not approver.get("/can-i?verb=hold").json["allowed"]
    mine = operator.get("/can-i?verb=hold&rollout=stage-1").json
    assert (mine["allowed"], mine["what"]) == (True, f"{PARTITION}, stage-1")
    assert operator.get("/can-i?verb=hold&rollout=dev-1").status == 404
    assert approver.get("/can-i?verb=aprove").status == 404
    other = service.client(Role.ADMIN, kinds=("upgrades",))
    assert other.get(path).status == 404


def test_a_caller_that_asks_too_much_is_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It alone: another is answered."""
    monkeypatch.setattr(rates, "BURST", 3)
    monkeypatch.setattr(rates, "RATE", 1)  # far fewer than are sent in a second
    eager, other = service.client(), service.client()
    found = [eager.get("/holds").status for _ in range(5)]
    assert found[:3] == [200, 200, 200]
    assert found[-1] == 429
    assert other.get("/holds").status == 200
