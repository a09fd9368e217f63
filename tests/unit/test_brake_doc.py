"""The `brakes` of a document: every problem at once, every calendar as it is meant."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tidegate.documents.brake_doc import read_brakes
from tidegate.documents.calendar_doc import Files, stretch_from
from tidegate.documents.reader import Reader
from tidegate.gates.brakes import Brakes
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.rollouts.wire.rollout_doc import read_rollout
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems
from tidegate.model.time import format_instant, parse_instant

NOW = parse_instant("2026-01-01T00:00:00Z")
OWNED = {"scope": {"everything": True}, "owner": "ops", "reason": "because"}


def read(document: Any, files: Files | None = None) -> tuple[Brakes, list[str]]:
    """The brakes, and what is wrong with them."""
    problems = Problems()
    brakes = read_brakes(Reader(document, "brakes", problems), stretch_from(NOW), files)
    return brakes, [each.text() for each in problems.errors]


def spans(freeze: dict[str, Any], files: Files | None = None) -> list[str]:
    """When a freeze is on, as text."""
    brakes, problems = read({"freezes": [{"name": "x", **OWNED, **freeze}]}, files)
    assert not problems
    return [
        f"{format_instant(span.start)} {format_instant(span.end)}"
        for span in brakes.freezes[0].spans
    ]


def wrong(freeze: dict[str, Any], files: Files | None = None) -> list[str]:
    """What is wrong with a freeze."""
    return read({"freezes": [{"name": "x", **OWNED, **freeze}]}, files)[1]


def test_everything_that_can_be_written_is_read() -> None:
    """One brake of each kind, with every field, and nothing to complain of."""
    selector = {"selector": {"matchLabels": {"region": "eu"}}, "kinds": ["policies"]}
    document = {
        "kind": "policies",
        "partition": "r12",
        "author": "ada",
        "applyTime": "30m",
        "holds": [{"name": "h", **OWNED, "expires": "2026-02-01T00:00:00Z"}],
        "freezes": [
            {
                "name": "f",
                **OWNED,
                "from": "2026-01-02T18:00",
                "to": "2026-01-05T08:00",
                "timeZone": "Europe/Berlin",
                "rrule": "FREQ=WEEKLY",
                "finishBefore": True,
                "exceptions": [
                    {**OWNED, "expires": "2026-02-01T00:00:00Z", "revision": "hotfix-*"}
                ],
            }
        ],
        "blocks": [{"revision": "4.17.*", "owner": "ops", "reason": "bad"}],
        "pins": [{"name": "p", **OWNED, "scope": {"targets": ["a"]}}],
        "budgets": [
            {"name": "b", "max": "10%", "per": "region", "of": {"eu": 9}, "scope": selector}
        ],
        "mutexes": [{"name": "m", "scope": {"kinds": ["upgrades"]}}],
        "claims": [
            {"name": "mutex/m", "target": "a", "partition": "r7", "key": "k", "place": 0,
             "since": "2025-12-31T00:00:00Z"}
        ],
        "approvals": [
            {
                "name": "a",
                "scope": {"everything": True},
                "quorum": 2,
                "people": ["ada", "bob"],
                "notByAuthor": True,
                "responses": [
                    {"who": "bob", "at": "2025-12-31T00:00:00Z", "revision": "v2", "reason": "ok",
                     "rejects": True, "expires": "2026-01-02T00:00:00Z"}
                ],
            }
        ],
        "health": [
            {
                "name": "c",
                "scope": {"everything": True},
                "cleanRuns": 3,
                "noNewAlerts": True,
                "maxAge": "15m",
                "evidence": {
                    "seen": "2025-12-31T23:59:00Z",
                    "revision": "v2",
                    "since": "2025-12-31T22:00:00Z",
                    "runs": [{"at": "2025-12-31T23:00:00Z", "clean": True}],
                    "alerts": [{"name": "Down", "since": "2025-12-31T23:00:00Z"}],
                },
            }
        ],
    }  # fmt: skip
    brakes, problems = read(document)
    assert problems == []
    assert brakes.kind is KindOfChange.POLICIES
    assert brakes.budgets[0].sizes == {"eu": 9}
    assert brakes.budgets[0].scope.kinds == frozenset((KindOfChange.POLICIES,))
    assert brakes.approvals[0].responses[0].rejects
    assert brakes.health[0].evidence is not None
    assert brakes.freezes[0].known_until is not None


def test_every_problem_is_reported_at_once() -> None:
    """A document full of mistakes names each of them, with its place and what to write."""
    _, problems = read(
        {
            "kind": "polices",
            "holds": [{"scope": {}}, {"name": "x", **OWNED, "expires": "tomorrow", "until": "now"}],
            "freezes": [{"name": "f", **OWNED}],
            "blocks": [{"owner": "ops", "reason": "bad"}],
            "pins": [{"name": "p", "owner": "ops", "reason": " ", "scope": {"targets": []}}],
            "budgets": [{"name": "b", "max": "ten", "per": ""}],
            "mutexes": [{"name": "m"}, {"name": "m", "scope": {"everything": True}}],
            "claims": [{"name": "db"}],
            "approvals": [{"name": "a", "scope": {"everything": True}, "quorum": 0}],
            "health": [{"name": "c", "scope": {"everything": True}, "noNewAlerts": False}],
            "budget": [],
        }
    )
    assert [each.partition(";")[0] for each in problems] == [
        "brakes.holds[0].name: missing",
        "brakes.holds[0].scope: covers nothing",
        "brakes.holds[0].owner: missing",
        "brakes.holds[0].reason: missing",
        'brakes.holds[1].expires: "tomorrow": not an RFC 3339 time',
        "brakes.holds[1].until: unknown field",
        "brakes.freezes[0].from: missing",
        "brakes.freezes[0].to: missing",
        "brakes.blocks[0].revision: missing",
        "brakes.pins[0].scope.targets: names no target",
        "brakes.pins[0].reason: missing",
        'brakes.budgets[0].max: "ten" is not a limit',
        "brakes.budgets[0].per: empty",
        "brakes.mutexes[0].scope: missing",
        'brakes.mutexes[1].name: "m" appears twice',
        "brakes.approvals[0].quorum: 0 requires no approval",
        "brakes.health[0].maxAge: missing",
        "brakes.health[0]: asks for nothing",
        'brakes.claims[0].name: "db" is not a claim',
        "brakes.claims[0].target: missing",
        'brakes.kind: no kind "polices"',
        "brakes.budget: unknown field",
    ]
    assert all("; " in each for each in problems), "each says what to write"


@pytest.mark.parametrize(
    "freeze, expected",
    [
        (
            {"from": "2026-01-02T18:00:00Z", "to": "2026-01-02T20:00:00+01:00"},
            ["2026-01-02T18:00:00Z 2026-01-02T19:00:00Z"],
        ),
        (
            {"from": "2026-01-02T18:00", "to": "2026-01-02T20:00", "timeZone": "Asia/Tokyo"},
            ["2026-01-02T09:00:00Z 2026-01-02T11:00:00Z"],
        ),
        # A rule of Z times is a rule of UTC.
        (
            {
                "from": "2026-01-02T18:00:00Z",
                "to": "2026-01-02T20:00:00Z",
                "rrule": "FREQ=DAILY;COUNT=2",
            },
            [
                "2026-01-02T18:00:00Z 2026-01-02T20:00:00Z",
                "2026-01-03T18:00:00Z 2026-01-03T20:00:00Z",
            ],
        ),
        # Spans that touch are one.
        (
            {
                "from": "2026-01-02T00:00:00Z",
                "to": "2026-01-03T00:00:00Z",
                "rrule": "FREQ=DAILY;COUNT=3",
            },
            ["2026-01-02T00:00:00Z 2026-01-05T00:00:00Z"],
        ),
        # What began before now is on now; what ended is gone.
        (
            {
                "from": "2025-12-30T12:00:00Z",
                "to": "2025-12-31T12:00:00Z",
                "rrule": "FREQ=WEEKLY;BYDAY=TU,WE;COUNT=2",
            },
            ["2025-12-31T12:00:00Z 2026-01-01T12:00:00Z"],
        ),
    ],
)  # fmt: skip
def test_times_are_read_as_they_are_written(freeze: dict[str, Any], expected: list[str]) -> None:
    """Offsets, time zones and rules end up on one clock."""
    assert spans(freeze) == expected


@pytest.mark.parametrize(
    "freeze, expected",
    [
        (
            {"from": "2026-01-02T18+01:00", "to": "2026-01-03T18:00:00Z"},
            'brakes.freezes[0].from: "2026-01-02T18+01:00": not an RFC 3339 time',
        ),
        (
            {
                "from": "2026-01-02T18:00:00+01:00",
                "to": "2026-01-02T20:00:00+01:00",
                "rrule": "FREQ=DAILY",
            },
            "brakes.freezes[0].timeZone: missing; a rule needs one",
        ),
        (
            {"from": "2026-01-03T18:00:00Z", "to": "2026-01-02T18:00:00Z"},
            "brakes.freezes[0].to: not after from",
        ),
        (
            {"from": "2026-01-02", "to": "2026-01-03", "timeZone": "UTC"},
            'brakes.freezes[0].from: "2026-01-02": not an RFC 3339 time',
        ),
        (
            {"ics": "x", "from": "2026-01-02T18:00:00Z"},
            "brakes.freezes[0]: from, ics cannot be combined",
        ),
        ({"icsFile": "a.ics"}, "brakes.freezes[0].icsFile: no files are read here"),
        ({"ics": "BEGIN:VCALENDAR\nEND:VCALENDAR"}, "brakes.freezes[0].ics: no event in it"),
    ],
)
def test_what_cannot_be_read_is_refused(freeze: dict[str, Any], expected: str) -> None:
    """An ambiguous or impossible time is a problem, not a guess."""
    assert wrong(freeze)[0].startswith(expected)


DAY = "UID:1\nDTSTART;VALUE=DATE:20260106"
TEN = "UID:1\nDTSTART:20260106T100000Z\nDTEND:20260106T110000Z"


def event(*lines: str) -> str:
    """A calendar with one event, or with several between blank lines."""
    events = "\n".join(f"BEGIN:VEVENT\n{dedent(each).strip()}\nEND:VEVENT" for each in lines)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//EN\n{events}\nEND:VCALENDAR\n"


@pytest.mark.parametrize(
    "text, zone, expected",
    [
        # A whole day, and two.
        ("UID:1\nDTSTART;VALUE=DATE:20260106", "Europe/Berlin",
         ["2026-01-05T23:00:00Z 2026-01-06T23:00:00Z"]),
        ("UID:1\nDTSTART;VALUE=DATE:20260106\nDTEND;VALUE=DATE:20260108", "Europe/Berlin",
         ["2026-01-05T23:00:00Z 2026-01-07T23:00:00Z"]),
        # A length instead of an end; a time without a zone is of the freeze's.
        ("UID:1\nDTSTART:20260106T100000\nDURATION:PT90M", "America/New_York",
         ["2026-01-06T15:00:00Z 2026-01-06T16:30:00Z"]),
        # An own zone wins over the freeze's; UTC is one.
        ("UID:1\nDTSTART;TZID=Asia/Tokyo:20260106T100000\nDTEND;TZID=Asia/Tokyo:20260106T110000",
         "America/New_York", ["2026-01-06T01:00:00Z 2026-01-06T02:00:00Z"]),
        ("UID:1\nDTSTART:20260106T100000Z\nDTEND:20260106T110000Z", None,
         ["2026-01-06T10:00:00Z 2026-01-06T11:00:00Z"]),
        # For ever.
        ("UID:1\nDTSTART:20260106T100000Z\nDTEND:99991231T235959Z", None,
         ["2026-01-06T10:00:00Z 9999-12-31T23:59:59Z"]),
        # Extra days and left-out ones.
        (f"{DAY}\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20260107\nRDATE;VALUE=DATE:20260110",
         "UTC",
         ["2026-01-06T00:00:00Z 2026-01-07T00:00:00Z", "2026-01-08T00:00:00Z 2026-01-09T00:00:00Z",
          "2026-01-10T00:00:00Z 2026-01-11T00:00:00Z"]),
        # An exception by day takes out the repetition of that day.
        (f"{TEN}\nRRULE:FREQ=DAILY;COUNT=2\nEXDATE;VALUE=DATE:20260106", None,
         ["2026-01-07T10:00:00Z 2026-01-07T11:00:00Z"]),
    ],
)  # fmt: skip
def test_calendar_files_are_read(text: str, zone: str | None, expected: list[str]) -> None:
    """Events become spans, in the zone they name or the freeze's."""
    freeze = {"ics": event(text)} | ({} if zone is None else {"timeZone": zone})
    assert spans(freeze) == expected


def test_a_moved_repetition_is_where_it_was_moved_to() -> None:
    """RECURRENCE-ID takes one repetition out; the event that carries it says where it went."""
    series = "UID:1\nDTSTART:20260106T100000Z\nDTEND:20260106T110000Z\nRRULE:FREQ=DAILY;COUNT=2"
    moved = (
        "UID:1\nRECURRENCE-ID:20260107T100000Z\nDTSTART:20260109T100000Z\nDTEND:20260109T110000Z"
    )
    gone = "UID:1\nRECURRENCE-ID:20260106T100000Z\nSTATUS:CANCELLED\nDTSTART:20260106T100000Z"
    assert spans({"ics": event(series, moved, gone)}) == [
        "2026-01-09T10:00:00Z 2026-01-09T11:00:00Z"
    ]


@pytest.mark.parametrize(
    "text, wrong_with_it",
    [
        ("UID:1\nSUMMARY:Half", 'event "Half" has no start'),
        ("UID:1\nDTSTART:20260106T100000Z", 'event "1" has no length'),
        ("UID:1\nDTSTART:20260106T100000\nDURATION:PT1H", "a time without a zone"),
        (
            "UID:1\nRECURRENCE-ID;RANGE=THISANDFUTURE:20260107T100000Z\nDTSTART:20260109T100000Z",
            "RECURRENCE-ID with RANGE is not read",
        ),
        ("UID:1\nDTSTART:20260106T100000Z\nDURATION:PT1H\nRRULE:FREQ=SECONDLY", "FREQ cannot be"),
        # The library would go on without a line it cannot read, and the freeze would be once only.
        ("UID:1\nDTSTART:20260106T100000Z\nDURATION:PT1H\nRRULE:FREQ=WEKLY", "WEKLY"),
    ],
)
def test_a_calendar_we_cannot_follow_is_refused(text: str, wrong_with_it: str) -> None:
    """What would be guessed at is a problem of the document."""
    assert wrong_with_it in wrong({"ics": event(text)})[0]


def test_files_are_read_beside_the_document(tmp_path: Path) -> None:
    """A calendar file is named, and a missing one is a problem with its name."""
    text = event("UID:1\nDTSTART:20260106T100000Z\nDTEND:20260106T110000Z")
    (tmp_path / "holidays.ics").write_text(text, encoding="utf-8")

    def files(name: str) -> str:
        return (tmp_path / name).read_text(encoding="utf-8")

    assert spans({"icsFile": "holidays.ics"}, files) == [
        "2026-01-06T10:00:00Z 2026-01-06T11:00:00Z"
    ]
    (problem,) = wrong({"icsFile": "holiday.ics"}, files)
    assert problem.startswith('brakes.freezes[0].icsFile: "holiday.ics": No such file or directory')


def test_an_endless_freeze_is_known_up_to_the_horizon() -> None:
    """What goes on for ever is read so far ahead, and says how far."""
    rule = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z", "rrule": "FREQ=DAILY"}
    brakes, _ = read({"freezes": [{"name": "x", **OWNED, **rule}]})
    (freeze,) = brakes.freezes
    assert freeze.known_until == stretch_from(NOW).end
    assert [span.end for span in freeze.spans] == [freeze.known_until]


def test_a_rollout_with_unreadable_brakes_is_refused() -> None:
    """Nothing starts on brakes we could not read."""
    document = {
        "now": "2026-01-01T00:00:00Z",
        "groups": [{"name": "a", "index": 0, "clusters": ["x"]}],
        "strategy": {"type": "All"},
        "brakes": {"hold": []},
    }
    with pytest.raises(UserError, match=r"brakes\.hold: unknown field"):
        read_rollout(document)
