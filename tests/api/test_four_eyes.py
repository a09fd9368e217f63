"""A change is not approved by the person who proposed it, nor by a token that they made."""

from pathlib import Path

import pytest

from tests.api.stage import AUTHOR, PARTITION, Client, Service, copied, rollout_journal
from tidegate.access.policy_doc import read_policy
from tidegate.access.roles import Role
from tidegate.app.access.tokens import TokenRequest, create_token
from tidegate.machine.system_clock import SystemClock

APPROVE = f"/approve/{PARTITION}"
STAGE = {"groups": ["stage"], "reason": "dev looks good"}
GRANTS = [{"role": "approver", "subjects": ["user:bob@example.com", "group:sre"]}]


def service_with(decided: Path, folder: Path, *rules: dict[str, object]) -> Service:
    """A service under these rules."""
    oidc = {"issuer": "https://issuer.example", "clientId": "tidegate"}
    data = {"oidc": oidc, "grants": GRANTS, "fourEyes": list(rules)}
    policy = read_policy(data, "policy.yaml")
    return Service(copied(decided, folder), policy)


def client_of(service: Service, creator: str) -> Client:
    """A client with a token that this person made."""
    token = f"tidegate_of-{creator}"
    request = TokenRequest(name=f"of-{creator}", role=Role.APPROVER, reason="a test")
    create_token(service.archive, request, token, SystemClock().now(), creator)
    return Client(service.app, token)


def test_the_proposer_does_not_approve(decided: Path, tmp_path: Path) -> None:
    """Another does; the refusal says who proposed it, and which subjects may approve."""
    service = service_with(decided, tmp_path, {"kinds": ["simulated"]})
    author, other = (
        client_of(service, f"user:{name}") for name in (AUTHOR.upper(), "bob@example.com")
    )
    refused = author.post(APPROVE, STAGE, if_match="*")
    assert (refused.status, refused.json["type"]) == (403, "urn:tidegate:problem:four-eyes")
    for said in (f"{AUTHOR} proposed v2 of {PARTITION}", "four eyes", "group:sre, user:bob@ex"):
        assert said in refused.json["detail"]
    assert author.post(f"{APPROVE}?dryRun=true", STAGE).status == 403
    asked = author.get(f"/can-i?verb=approve&rollout={PARTITION}&group=stage").json
    assert (asked["allowed"], "four eyes" in asked["why"]) == (False, True)
    # To stop is never kept from the proposer.
    assert author.post(f"/reject/{PARTITION}", STAGE).status in (200, 422)
    standing = other.post(APPROVE, {**STAGE, "standing": True}, if_match="*")
    assert (standing.status, "one revision" in standing.json["detail"]) == (403, True)
    assert other.get(f"/can-i?verb=approve&rollout={PARTITION}&group=stage").json["allowed"]
    assert other.post(APPROVE, STAGE, if_match="*").status == 200
    service.close()


@pytest.mark.parametrize(
    "rule, bound",
    [
        ({}, True),
        ({"groups": ["stage"]}, True),
        ({"environments": ["stage"]}, True),
        ({"groups": ["prod"]}, False),
        ({"kinds": ["policies"]}, False),
        ({"organisations": ["o-pay"]}, False),
        ({"gates": ["change-board"]}, False),
    ],
)
def test_a_rule_binds_what_it_is_for(
    decided: Path, tmp_path: Path, rule: dict[str, object], bound: bool
) -> None:
    """By kind, organisation, environment, group and gate."""
    service = service_with(decided, tmp_path, rule)
    answer = client_of(service, f"user:{AUTHOR}").post(f"{APPROVE}?dryRun=true", STAGE)
    assert answer.status == (403 if bound else 200), answer.text
    service.close()


def test_a_proposer_who_is_not_known_could_be_anyone(tmp_path: Path) -> None:
    """So no approval is taken, and it is said what to do."""
    service = service_with(rollout_journal(tmp_path, author=""), tmp_path, {})
    refused = client_of(service, "user:bob@example.com").post(APPROVE, STAGE, if_match="*")
    assert (refused.status, "is not known" in refused.json["detail"]) == (403, True)
    service.close()
