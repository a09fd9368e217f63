"""Deployments, evidence and quarantines over HTTP: who may, once, and what follows."""

from pathlib import Path

import pytest

from tests.api.listener import listening, steady_text
from tests.api.stage import Service, copied
from tests.command import tidegate
from tests.pipeline_stage import Shelf, Stage, publisher, subscriber
from tests.pipelined import NEW, declared
from tidegate.access.roles import Role
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import tag_of
from tidegate.kinds.promotions.core.channels.pipeline import EvidenceRule
from tidegate.wiring import open_store

PARTITION = "channels/payments"
STAGE, PROD = publisher("stage", "payments"), subscriber("prod", "payments")
GOOD = {"reason": "run 12", "target": STAGE.name, "version": NEW, "good": True}
BAD = {**GOOD, "good": False, "reason": "probe failed"}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """A service over the journal of a pipeline that was read once."""
    rules = declared(evidence=EvidenceRule(named=("load-test",)), quarantine_role="operator")
    stage = Stage(Shelf(rules, [STAGE], [PROD]))
    stage.round(2)
    store = open_store(str(tmp_path / "journal.db"))
    entries = stage.store.read(PARTITION)
    store.append(PARTITION, [JournalNote(e.at, e.actor, e.fact()) for e in entries])
    store.close()
    return Service(tmp_path / "journal.db")


def tags(service: Service) -> list[str]:
    """The facts of the pipeline that were reported."""
    found = (tag_of(each.fact()) for each in service.archive.read(PARTITION))
    return [each for each in found if each.endswith(("Seen", "Reported", "Lifted"))]


def why(service: Service) -> str:
    """What is said of the subscriber."""
    return service.client().get(f"/why/{PROD.name}").text


def test_a_deployment_is_reported_once_whatever_is_delivered(service: Service) -> None:
    """By its key the same request is answered the same, and recorded once."""
    before, client = tags(service), service.client(Role.OPERATOR)
    assert "PublisherUndeployed" in why(service)
    headers = {"if_match": "*", "idempotency_key": "run-12"}
    first = client.post(f"/deployed/{PARTITION}", GOOD, **headers)
    again = client.post(f"/deployed/{PARTITION}", GOOD, **headers)
    assert (first.status, again.status) == (200, 200)
    assert first.text == again.text
    assert first.json["isNew"] is True
    assert tags(service) == [*before, "deploymentsSeen"]
    assert "PublishersDeployed" in why(service)


def test_a_target_may_be_named_by_its_id_in_the_existing_state(service: Service) -> None:
    """The deployer knows no other name of it."""
    body = {**GOOD, "target": STAGE.place.uid()}
    found = service.client().post(f"/deployed/{PARTITION}", body, if_match="*")
    assert found.json["target"] == STAGE.name


@pytest.mark.parametrize(
    "changed, status",
    [
        ({"target": "saas:x"}, 404),
        ({"version": "b" * 7}, 422),
        ({"at": "2999-01-01T00:00:00Z"}, 422),
        ({"at": "soon"}, 400),
    ],
)
def test_what_cannot_have_been_deployed_is_refused(
    service: Service, changed: dict[str, object], status: int
) -> None:
    """And nothing is recorded of it."""
    before = tags(service)
    found = service.client().post(f"/deployed/{PARTITION}", {**GOOD, **changed}, if_match="*")
    assert found.status == status, found.text
    assert tags(service) == before


def test_a_failure_quarantines_and_only_the_role_lifts_it(service: Service) -> None:
    """The pipeline names the role; a lesser one is told which."""
    client = service.client(Role.OPERATOR)
    found = client.post(f"/deployed/{PARTITION}", BAD, if_match="*")
    assert found.json["quarantines"] is True
    assert "PromotionQuarantined" in why(service)
    lift = {"reason": "the node was full", "version": NEW[:7]}
    path = f"/lift-quarantine/{PARTITION}"
    refused = service.client(Role.APPROVER).post(path, lift, if_match="*")
    assert refused.status == 403
    assert "operator" in refused.json["detail"]
    lifted = client.post(path, lift, if_match="*")
    assert (lifted.status, lifted.json["version"]) == (200, NEW)
    assert lifted.json["why"] == "probe failed"
    assert "PromotionQuarantined" not in why(service)
    assert client.post(path, lift, if_match="*").status == 404


def test_evidence_is_reported_under_a_name_that_is_asked_for(service: Service) -> None:
    """Any other name is a mistake."""
    client, path = service.client(Role.OPERATOR), f"/evidence/{PARTITION}"
    body = {"reason": "p99 as before", "version": NEW[:7], "evidence": "load-test", "good": True}
    assert client.post(path, {**body, "evidence": "smoke"}, if_match="*").status == 404
    found = client.post(path, body, if_match="*")
    assert (found.status, found.json["missing"], found.json["version"]) == (200, [], NEW)
    assert "NamedEvidenceGood" in why(service)


def test_a_viewer_reports_nothing_and_a_dry_run_records_nothing(service: Service) -> None:
    """Neither is written down."""
    before = tags(service)
    viewer = service.client(Role.VIEWER)
    assert viewer.post(f"/deployed/{PARTITION}", GOOD, if_match="*").status == 403
    dry = service.client().post(f"/deployed/{PARTITION}?dryRun=true", GOOD)
    assert (dry.status, dry.json["isNew"]) == (200, True)
    limited = service.client(Role.OPERATOR, environments=("another",))
    assert limited.post(f"/deployed/{PARTITION}", GOOD, if_match="*").status == 404
    assert tags(service) == before


def test_the_command_line_reports_alike_and_the_service_checks_the_role(
    service: Service, tmp_path: Path
) -> None:
    """The same words and documents on a journal, where the role is recorded unchecked."""
    (tmp_path / "here").mkdir()
    here = copied(tmp_path / "journal.db", tmp_path / "here")
    deployed = ["promotions", "deployed", STAGE.name, NEW, "--pipeline", "payments"]
    lift = ["promotions", "lift", NEW[:7], "--pipeline", "payments", "--reason", "full", "--yes"]
    lines = (
        [*deployed, "--good"],
        [*deployed, "--bad", "--reason", "probe failed", "-o", "json"],
        ["promotions", "suspects", NEW[:7], "--bisect"],
        ["promotions", "suspects", NEW[:7], "--pipeline", "payments", "-o", "json"],
        ["promotions", "suspects", "0" * 7],
        ["promotions", "evidence", NEW[:7], "load-test", "--good", "--pipeline", "payments"],
        ["promotions", "evidence", NEW[:7], "smoke", "--bad", "--pipeline", "payments"],
        ["promotions", "lift", NEW[:7], "--pipeline", "payment", "--reason", "x", "--yes"],
        lift,
        lift,
    )
    token = tmp_path / "token"
    with listening(service) as address:
        where = ["--server", address, "--server-token", f"file:{token}"]
        token.write_text(service.client(Role.OPERATOR).token)
        refusals: list[int] = []
        for each in lines:
            if each is lift:
                token.write_text(service.client(Role.APPROVER).token)
                refused = tidegate(*lift, *where)
                refusals.append(refused.returncode)
                token.write_text(service.client(Role.OPERATOR).token)
            local, remote = tidegate(*each, "--database", str(here)), tidegate(*each, *where)
            assert steady_text(remote.stdout) == steady_text(local.stdout), each
            assert remote.returncode == local.returncode, each
            said, checked = (steady_text(one.stderr) for one in (local, remote))
            unchecked = "recorded unchecked: the pipeline asks for the role operator"
            assert (unchecked in said) == (each is lift and local.returncode == 0)
            if unchecked not in said:
                assert checked == said, each
        # Not allowed; and then there is nothing to lift any more.
        assert refusals == [4, 2]
