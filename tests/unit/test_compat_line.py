"""Rollout lines for compat: what is refused, by which part, and how it is said."""

from typing import Any

import msgspec
import pytest

from tidegate.kinds.rollouts.wire import compat_line
from tidegate.model.errors import UserError

NOW = "2022-01-01T00:00:00Z"


def line(**fields: Any) -> dict[str, Any]:
    groups = [{"name": "dev", "index": 0, "clusters": ["c1", "c2"]}]
    return {"now": NOW, "groups": groups, "statuses": [], "strategy": {"type": "All"}} | fields


def answer(**fields: Any) -> Any:
    return msgspec.to_builtins(compat_line.reply(line(**fields)))


def refusal(raw: Any) -> list[str]:
    with pytest.raises(UserError) as caught:
        compat_line.reply(raw)
    return [problem.text() for problem in caught.value.problems]


@pytest.mark.parametrize(
    "settings",
    [
        {"minSuccessTime": "5 minutes"},
        {"minSuccessTime": ""},
        {"minSuccessTime": None},
        {"minSuccessTime": 5},
        {"progressDeadline": 5},
        {"maxFailures": True},
        {"maxFailures": 2.5},
        {"maxFailures": 1.0},
        {"maxFailures": 3_000_000_000},
        {"maxConcurrency": {}},
        {"mandatoryDecisionGroups": [{"groupIndex": "0"}]},
        {"mandatoryDecisionGroups": {}},
        [],
    ],
)
def test_what_go_cannot_decode_is_the_answers_error(settings: object) -> None:
    """A strategy that Go's types refuse is answered with an error and empty lists."""
    got = answer(strategy={"type": "Progressive", "progressive": settings})
    assert got.pop("error").startswith("strategy: cannot be decoded: ")
    assert got == {
        "toRollout": [],
        "timeOut": [],
        "removed": [],
        "maxFailureBreach": False,
        "recheckAfterNs": None,
    }


def test_an_object_of_another_type_must_be_readable_too() -> None:
    """Go decodes the whole strategy, also what its type does not use."""
    assert "error" in answer(strategy={"type": "All", "progressive": {"minSuccessTime": "x"}})


def test_a_field_that_a_type_does_not_have_is_passed_over() -> None:
    """`all` has no maxConcurrency, so Go does not look at it."""
    assert "error" not in answer(strategy={"type": "All", "all": {"maxConcurrency": True}})


@pytest.mark.parametrize(
    "settings",
    [
        None,
        {},
        {"progressDeadline": None, "maxFailures": None, "maxConcurrency": None},
        {"mandatoryDecisionGroups": None},
        {"mandatoryDecisionGroups": [None]},
        {"minSuccessTime": "-5m"},
        {"somethingNew": 1},
    ],
)
def test_null_is_absent_and_the_unknown_is_passed_over(settings: object) -> None:
    """Go reads null as absent, and strategies may hold fields it does not know."""
    got = answer(strategy={"type": "Progressive", "progressive": settings})
    assert [entry["cluster"] for entry in got["toRollout"]] == ["c1", "c2"]


def test_strict_only_fields_are_passed_over() -> None:
    """A line made for the strict rules can be given to compat as it is."""
    status = {"cluster": "c1", "status": "Succeeded", "revision": "r2", "group": None}
    strategy = {"type": "All", "onFailure": "pause", "order": {"by": "name"}}
    got = answer(
        statuses=[status], strategy=strategy, revision="r2", complete=False, rollout={"uid": "u"}
    )
    assert [entry["cluster"] for entry in got["toRollout"]] == ["c2"]


def test_an_unknown_status_is_answered_by_its_number() -> None:
    """The library keeps numbers, not words, so an unknown word cannot come back."""
    got = answer(statuses=[{"cluster": "c1", "status": "Weird"}])
    assert got["toRollout"][0]["status"] == "Unknown(99)"


def test_times_keep_their_fractions_and_come_back_in_utc() -> None:
    """A recheck time is exact to the nanosecond, whatever zone the status was written in."""
    since = "2022-01-01T00:59:59.25+01:00"
    status = {"cluster": "c1", "status": "Progressing", "lastTransitionTime": since}
    got = answer(statuses=[status], strategy={"type": "All", "all": {"progressDeadline": "1m"}})
    entry = got["toRollout"][0]
    assert entry["lastTransitionTime"] == "2021-12-31T23:59:59.25Z"
    assert entry["recheckTime"] == "2022-01-01T00:00:59.25Z"
    assert got["recheckAfterNs"] == 59_250_000_000


def test_all_problems_of_a_line_are_reported_at_once() -> None:
    """A person who fixes a line is shown everything that is wrong with it."""
    told = refusal(
        {
            "now": "yesterday",
            "groups": [{"index": "0"}, {"index": 1, "clusters": "c1"}],
            "statuses": [
                {"cluster": 1, "status": "Failed"},
                {"cluster": "c2", "status": "Failed", "lastTransitionTime": "noon"},
            ],
        }
    )
    starts = [text.split(": ")[0] for text in told]
    assert starts == [
        "strategy",
        "now",
        "groups[0].index",
        "groups[1].clusters",
        "statuses[0].cluster",
        "statuses[1].lastTransitionTime",
    ]
    assert told[-1].startswith('statuses[1].lastTransitionTime: "noon": ')


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000], ids=lambda raw: repr(raw[:4])
)
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    """A line that is no JSON object is a problem of the line, not a crash."""
    assert len(refusal(raw)) == 1


def test_an_id_is_echoed_only_if_given() -> None:
    """Without an id the answer has none."""
    assert "id" not in answer()
    assert answer(id=7)["id"] == 7
