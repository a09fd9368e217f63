"""The past by API and command line: the documents of now, decided for then, as far as seen."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.stage import PARTITION, Service, copied, rollout_journal
from tests.command import tidegate
from tidegate.access.roles import Role


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which a rollout was decided once."""
    return rollout_journal(tmp_path_factory.mktemp("past"))


@pytest.fixture
def journal(decided: Path, tmp_path: Path) -> Path:
    """A journal of its own."""
    return copied(decided, tmp_path)


@pytest.fixture
def service(journal: Path) -> Iterator[Service]:
    """An API over it."""
    made = Service(journal)
    yield made
    made.close()


ROUTES = (
    "/status",
    "/rollouts",
    f"/rollouts/{PARTITION}",
    f"/why/{PARTITION}",
    f"/why/{PARTITION}?target=stage-1",
    "/cells",
    f"/cells/{PARTITION}",
    "/targets",
)


@pytest.mark.parametrize("route", ROUTES)
def test_every_question_is_answered_for_then_after_people_acted(
    route: str, service: Service
) -> None:
    """An approval and a hold change the answer of now, and not that of the entry before them."""
    client = service.client()
    at = f"at={service.archive.head(PARTITION).seq}/{PARTITION}"
    asked = f"{route}{'&' if '?' in route else '?'}{at}"
    before = client.get(asked)
    assert before.status == 200, before.text
    approval = {"groups": ["stage"], "reason": "r"}
    assert client.post(f"/approve/{PARTITION}", approval, if_match="*").status == 200
    hold = {"reason": "incident", "scope": {"everything": True}}
    assert client.post("/hold/inc-1", hold).status == 200
    now, then = client.get(route), client.get(asked)
    assert then.json == before.json
    assert "inc-1" not in then.text
    assert now.json != then.json
    assert type(now.json) is type(then.json)
    assert now.json["kind"] == then.json["kind"]


def test_a_plan_of_the_past_is_not_acted_on(service: Service) -> None:
    """Its tag is not that of the plan of now."""
    client = service.client()
    at = f"{service.archive.head(PARTITION).seq}/{PARTITION}"
    hold = {"reason": "incident", "scope": {"everything": True}}
    assert client.post("/hold/inc-1", hold).status == 200
    tag = client.get(f"/why/{PARTITION}?at={at}").tag
    body = {"groups": ["stage"], "reason": "r"}
    assert client.post(f"/approve/{PARTITION}", body, if_match=tag).status == 412


@pytest.mark.parametrize("route", ROUTES)
def test_a_caller_sees_no_more_of_the_past_than_of_now(route: str, service: Service) -> None:
    client = service.client(Role.VIEWER, groups=("dev",))
    at = f"at={service.archive.head(PARTITION).seq}/{PARTITION}"
    target = route.replace("stage-1", "dev-1")
    found = client.get(f"{target}{'&' if '?' in target else '?'}{at}")
    assert found.status == 200, found.text
    assert "stage-1" not in found.text
    assert "prod-1" not in found.text
    assert "dev-1" in found.text or route in ("/status", "/rollouts")
    stranger = service.client(Role.VIEWER, rollouts=("simulated/other",))
    assert stranger.get(f"/status?{at}").status == 404


@pytest.mark.parametrize(
    "text, status", [("yesterday", 422), ("2999-01-01T00:00:00Z", 422), (f"999/{PARTITION}", 404)]
)
def test_a_moment_that_is_none_is_refused(text: str, status: int, service: Service) -> None:
    assert service.client().get(f"/status?at={text}").status == status


def test_before_the_first_entry_there_is_nothing(service: Service) -> None:
    found = service.client().get("/status?at=2001-01-01T00:00:00Z").json
    assert (found["kinds"], found["at"]) == ({}, "2001-01-01T00:00:00Z")


def test_commands_say_that_they_show_the_past(journal: Path) -> None:
    """On stderr, so that a program reads the document alone."""
    place = ("--database", str(journal))
    done = tidegate("why", "prod-1", "--at", f"2/{PARTITION}", "-o", "json", *place)
    assert done.returncode == 0, done.stderr
    assert "this is the past" in done.stderr
    assert json.loads(done.stdout)["target"]["name"] == "prod-1"
    assert "cannot be combined" in tidegate("status", "--at", "2h", "-w", *place).stderr
    both = tidegate("why", "prod-1", "--at", "2h", "--now", "2026-01-01T00:00:00Z", *place)
    assert "cannot be combined" in both.stderr
