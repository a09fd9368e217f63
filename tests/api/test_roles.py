"""Route × role × scope, all of it: what each caller may, and that the rest is refused."""

import itertools

import pytest

from tests.api.stage import PARTITION, Service
from tidegate.access.policy_doc import AccessPolicy, read_policy
from tidegate.access.roles import Caller, Grant, GrantScope, Reached, Right, Role, refusal
from tidegate.api import login
from tidegate.api.route_table import ACTS, QUESTIONS
from tidegate.model.errors import UserError

SCOPES: dict[str, dict[str, tuple[str, ...]]] = {
    "everything": {},
    "its kind": {"kinds": ("simulated",)},
    "its name": {"rollouts": ("simulated/rol*",)},
    "another kind": {"kinds": ("upgrades",)},
    "another name": {"rollouts": ("simulated/other",)},
}
INSIDE = ("everything", "its kind", "its name")


@pytest.mark.parametrize("role, scope", list(itertools.product(Role, SCOPES)))
def test_every_route_for_every_role_and_scope(service: Service, role: Role, scope: str) -> None:
    """Nothing is answered or done beyond a role; what is outside of a scope does not exist."""
    client = service.client(role, **SCOPES[scope])
    inside = scope in INSIDE
    for question in QUESTIONS:
        more = "?verb=why" if question.path == "/can-i" else ""
        answer = client.get(question.path.replace("{name}", PARTITION) + more)
        expected = 404 if question.named and not inside else 200
        assert answer.status == expected, (question.path, answer.text)
        if not inside and not question.named:
            assert PARTITION not in answer.text, question.path
    for route in ACTS:
        may = route.right in role.rights
        body: dict[str, object] = {"reason": "x"}
        name = PARTITION
        if "groups" in route.body.__struct_fields__:
            body["groups"] = ["stage"]
        if "scope" in route.body.__struct_fields__:
            name, body["scope"] = "new", {"everything": True}
        answer = client.post(f"/{route.verb}/{name}?dryRun=true", body)
        if not may:
            assert answer.status == 403, (route.path, answer.text)
            assert "role" in answer.json["detail"]
        elif "scope" in route.body.__struct_fields__ and scope != "everything":
            assert answer.status in (400, 403, 404, 422), (route.path, answer.text)
        elif not inside:
            assert answer.status == 404, (route.path, answer.text)
        else:
            assert answer.status in (200, 400, 404, 422), (route.path, answer.text)


def test_a_group_is_approved_by_those_it_is_granted_to(service: Service) -> None:
    """An approver of stage does not approve prod, nor pause what is beyond its group."""
    client = service.client(Role.APPROVER, groups=("stage",))
    body = {"reason": "x", "groups": ["stage"]}
    assert client.post(f"/approve/{PARTITION}", body, if_match="*").status == 200
    for groups in (["prod"], ["stage", "prod"]):
        answer = client.post(f"/approve/{PARTITION}", {**body, "groups": groups}, if_match="*")
        assert answer.status == 403
        assert "prod" in answer.json["detail"]
    operator = service.client(Role.OPERATOR, groups=("stage",))
    assert operator.post(f"/pause/{PARTITION}", {"reason": "x"}).status == 403
    # A retry of its own group would let the others go on, too.
    assert operator.post(f"/retry/{PARTITION}", body, if_match="*").status == 403


def test_a_hold_reaches_no_further_than_its_caller(service: Service) -> None:
    """By name within the scope; by labels or everything only with a grant for everything."""
    client = service.client(Role.OPERATOR, kinds=("simulated",))
    mine = {"reason": "x", "scope": {"targets": ["prod-1"]}}
    assert client.post("/hold/one", mine).status == 200
    for scope in ({"everything": True}, {"targets": ["nowhere"]}, {"kinds": ["simulated"]}):
        answer = client.post("/hold/more", {"reason": "x", "scope": scope})
        assert answer.status == 403, scope


def test_a_revoked_or_expired_token_is_refused(service: Service) -> None:
    """At once, without a restart."""
    from tidegate.app.tokens import revoke_token
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
    assert "z of b/1" in refusal(both, Right.OPERATE, outside, "pause")
    assert refusal(both, Right.OPERATE, None, "hold")
    assert "needs the role viewer" in refusal(caller(), Right.VIEW, (), "read")


def test_a_policy_file_is_checked() -> None:
    """Every mistake, with its place."""
    data = {
        "grants": [
            {"role": "aprover", "subjects": ["alice"], "kinds": ["upgrade"]},
            {"role": "viewer", "subjects": []},
        ],
        "fourEyes": [{"rollouts": ["x"]}],
    }
    with pytest.raises(UserError) as raised:
        read_policy(data, "policy.yaml")
    text = str(raised.value)
    # What has no effect yet is refused, and not read in silence.
    wanted = ("grants[0].role", 'did you mean "approver"?', '"alice"', "grants[1].subjects")
    for said in (*wanted, "fourEyes"):
        assert said in text
    assert read_policy({}, "x") == AccessPolicy()


def test_a_caller_learns_what_it_may(service: Service) -> None:
    """Yes, or no and why; of what it does not see, nothing."""
    approver = service.client(Role.APPROVER, groups=("stage",))
    path = f"/can-i?verb=approve&rollout={PARTITION}"
    assert approver.get(f"{path}&group=stage").json["allowed"]
    refused = approver.get(f"{path}&group=prod").json
    assert (refused["allowed"], "needs the role approver there" in refused["why"]) == (False, True)
    assert not approver.get("/can-i?verb=hold").json["allowed"]
    assert approver.get("/can-i?verb=aprove").status == 404
    other = service.client(Role.ADMIN, kinds=("upgrades",))
    assert other.get(path).status == 404


def test_a_caller_that_asks_too_much_is_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It alone: another is answered."""
    monkeypatch.setattr(login, "BURST", 3)
    monkeypatch.setattr(login, "RATE", 1)  # far fewer than are sent in a second
    eager, other = service.client(), service.client()
    found = [eager.get("/holds").status for _ in range(5)]
    assert found[:3] == [200, 200, 200]
    assert found[-1] == 429
    assert other.get("/holds").status == 200
