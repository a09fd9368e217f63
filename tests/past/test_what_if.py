"""What if: dates of a rollout with other settings or another brake, beside those it has."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.stage import Client, Service
from tests.command import tidegate
from tests.page.stage import journal_of
from tidegate.access.roles import Role
from tidegate.app.brakes.what_if import RolloutWhatIf
from tidegate.app.text.date_text import end_words, shift_words
from tidegate.model.json_text import decode_json

ROLLOUT = "simulated/stage"
STRATEGY = {"minSuccessTime": "30m", "maxConcurrency": 2}


def scenario(**settings: object) -> dict[str, object]:
    """Three waves of two behind a canary."""
    body = {**STRATEGY, **settings}
    return {
        "revision": "v2",
        "lastGood": "v1",
        "groups": [{"name": "canary", "clusters": ["a"]}, {"name": "prod", "count": 6}],
        "strategy": {"type": "ProgressivePerGroup", "progressivePerGroup": body},
    }


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which it was decided once."""
    return journal_of(tmp_path_factory.mktemp("what-if"), scenario())


@pytest.fixture(scope="module")
def service(journal: Path) -> Iterator[Service]:
    """An API over it."""
    made = Service(journal)
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(service: Service) -> Client:
    """A person who may do everything."""
    return service.client()


def asked(client: Client, query: str) -> RolloutWhatIf:
    """The answer of the API."""
    answer = client.get(f"/what-if/{ROLLOUT}?{query}")
    assert answer.status == 200, answer.text
    return decode_json(answer.text.encode(), RolloutWhatIf)


def test_before_is_what_when_says_and_nothing_is_written(service: Service, client: Client) -> None:
    end = service.archive.heads()
    found = asked(client, "set=minSuccessTime=5m&applyTime=10m")
    assert service.archive.heads() == end
    dates = client.get(f"/when/{ROLLOUT}?applyTime=10m").json["items"]
    before = {each.target: each.before for each in found.items}
    assert {each["target"]: each["doneAt"] for each in dates} == {
        name: None if each is None else each.done_at for name, each in before.items()
    }


def test_after_is_what_when_says_once_it_is_written(client: Client, tmp_path: Path) -> None:
    """The same rollout, declared with these settings: the same lengths of time."""
    found = asked(client, "set=minSuccessTime=5m&set=maxConcurrency=50%25&applyTime=10m")
    written = journal_of(tmp_path, scenario(minSuccessTime="5m", maxConcurrency="50%"))
    other = Service(written)
    dates = other.client().get(f"/when/{ROLLOUT}?applyTime=10m").json["items"]
    other.close()
    mine = {each.target: each.after for each in found.items}

    def waves(done: dict[str, str | None]) -> list[list[str]]:
        """Targets that are done at the same time, in order."""
        moments = sorted({each or "" for each in done.values()})
        return [sorted(name for name, at in done.items() if at == each) for each in moments]

    assert waves({each["target"]: each["doneAt"] for each in dates}) == waves(
        {name: None if each is None else each.done_at for name, each in mine.items()}
    )
    assert found.ends_after is not None
    assert found.ends_before is not None
    assert found.ends_after < found.ends_before
    assert found.shifted == len(found.items)
    assert [(each.name, each.before, each.after) for each in found.settings] == [
        ("minSuccessTime", "30m", "5m"),
        ("maxConcurrency", "2", "50%"),
    ]


def test_the_same_settings_move_nothing(client: Client) -> None:
    found = asked(client, "set=minSuccessTime=30m&set=maxConcurrency=2")
    assert found.shifted == 0
    assert found.ends_after == found.ends_before


def test_a_hold_takes_the_dates_away_and_a_freeze_moves_them(client: Client) -> None:
    held = asked(client, "hold=true")
    assert held.ends_after is None
    assert {shift_words(each) for each in held.items} == {"no date any more"}
    assert "-> no date" in end_words(held)
    frozen = asked(client, "freeze=2026-01-01T00:00:00Z/2099-01-01T00:00:00Z")
    assert frozen.ends_after is None or frozen.ends_after > (frozen.ends_before or "")


@pytest.mark.parametrize(
    "query, said",
    [
        ("set=maxConcurency=3", 'did you mean \\"maxConcurrency\\"'),
        ("set=minSuccessTime=soon", '\\"soon\\" is not a duration'),
        ("set=maxFailures=-1", "write a whole number"),
        ("set=minSuccessTime", "write NAME=VALUE"),
        ("freeze=tomorrow", "RFC 3339"),
    ],
)
def test_an_assumption_that_cannot_be_read_is_named(client: Client, query: str, said: str) -> None:
    answer = client.get(f"/what-if/{ROLLOUT}?{query}")
    assert answer.status in (400, 422)
    assert said in answer.text


def test_a_caller_sees_the_shifts_of_its_targets(service: Service) -> None:
    limited = service.client(Role.VIEWER, groups=("canary",))
    found = asked(limited, "set=minSuccessTime=5m")
    assert [each.target for each in found.items] == ["a"]


def test_the_command_prints_before_and_after(journal: Path) -> None:
    place = ("--database", str(journal))
    done = tidegate("when", ROLLOUT, "--set", "minSuccessTime=5m", *place)
    assert done.returncode == 0, done.stderr
    assert "minSuccessTime: 30m -> 5m" in done.stdout
    assert "earlier" in done.stdout
    data = tidegate("when", ROLLOUT, "--hold", "-o", "json", *place)
    assert json.loads(data.stdout)["kind"] == "RolloutWhatIf"
    wrong = tidegate("when", ROLLOUT, "--set", "x", *place)
    assert "write NAME=VALUE" in wrong.stderr
