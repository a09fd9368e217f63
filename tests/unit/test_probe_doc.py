"""The `prometheus` of a health gate as written: every problem at once, each with its place."""

from typing import Any

import pytest

from tidegate.documents.brake_doc import read_brakes
from tidegate.documents.calendar_doc import stretch_from
from tidegate.documents.probe import AlertRules, Checks, Counters, PrometheusProbe
from tidegate.documents.promql import filled, literal, selector_labels
from tidegate.documents.reader import Reader
from tidegate.model.problem import Problems
from tidegate.model.time import parse_instant
from tidegate.prometheus.server import PrometheusServer, Secret, read_server

NOW = parse_instant("2026-01-01T00:00:00Z")
RUNS = {"clean": 'runs_total{ok="yes"}', "failed": 'runs_total{ok="no"}'}


def read(probe: Any, **gate: Any) -> tuple[PrometheusProbe, list[str]]:
    """A probe in its gate, and what is wrong with it."""
    health = {"name": "g", "scope": {"everything": True}, "maxAge": "1h", "prometheus": probe}
    problems = Problems()
    probes: dict[str, PrometheusProbe] = {}
    reader = Reader({"health": [{**health, **gate}]}, "brakes", problems)
    read_brakes(reader, stretch_from(NOW), None, probes)
    place = "brakes.health[0].prometheus"
    return probes["g"], [each.text().removeprefix(place).lstrip(".") for each in problems.errors]


def test_everything_that_can_be_written_is_read() -> None:
    """Both kinds of runs, with every field."""
    runs = {**RUNS, "by": ["shard"], "atLeast": 3, "window": "1h"}
    alerts = {"rules": ["B", "A"], "match": '{team="x", v=$revision}'}
    probe, wrong = read({"server": "main", "runs": runs, "alerts": alerts}, cleanRuns=3)
    assert not wrong
    assert (probe.server, probe.wanted, probe.by, probe.at_least) == ("main", 3, ("shard",), 3)
    assert isinstance(probe.runs, Counters)
    assert probe.alerts == AlertRules(("A", "B"), 'team="x", v=$revision')
    checks = {"good": "min(up)", "every": "2m", "after": "0s"}
    url = "https://prometheus.example.com/eu"
    probe, wrong = read({"url": url, "checks": checks}, cleanRuns=1, noNewAlerts=False)
    assert not wrong
    assert probe.url == url
    assert isinstance(probe.runs, Checks)
    assert hash(probe)


WRONG: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (
        {},
        {"cleanRuns": 1},
        [
            "checks: missing, and cleanRuns wants it; write runs or checks, or drop cleanRuns",
            "alerts: missing, and noNewAlerts wants it; write alerts, or noNewAlerts: false",
        ],
    ),
    (
        {"runs": RUNS, "alerts": {"rules": ["A"]}},
        {"cleanRuns": 1, "noNewAlerts": False},
        ["alerts: asked for, and noNewAlerts does not want it; drop one of the two"],
    ),
    (
        {"alerts": {"rules": []}, "server": "a", "url": "ftp://x"},
        {},
        [
            "url: cannot be combined with server; keep one of them",
            'url: "ftp://x" is not an address; write http://… or https://…, without credentials',
            "alerts.rules: missing; name the alerting rules that watch",
        ],
    ),
    (
        {"alerts": {"rules": ["A"]}, "url": "http://me:secret@x"},
        {},
        ["url: has credentials in it; write http://… or https://…, without credentials"],
    ),
    (
        {"alerts": {"rules": ["A"], "match": '{alertstate="pending"}'}},
        {},
        ["alerts.match: asks for alertstate; name the rules in rules"],
    ),
    (
        {"alerts": {"rules": ["A"], "match": "up == 1"}},
        {},
        ['alerts.match: "up == 1" is not a selector of labels; write {label="value"}'],
    ),
]


@pytest.mark.parametrize("probe, gate, problems", WRONG)
def test_what_is_wrong_is_said(
    probe: dict[str, Any], gate: dict[str, Any], problems: list[str]
) -> None:
    """All of it, with what to write instead."""
    assert read(probe, **gate)[1] == problems


QUERIES: list[tuple[str, str]] = [
    ("", "is empty"),
    ('runs{v="$revision"}', "has a placeholder inside quotes"),
    ("runs{v=~$revision}", "$revision is used where no label is compared"),
    ("runs + $revision", "$revision is used where no label is compared"),
    ("runs{v=$revison}", '"$revison" is not known here; did you mean "$revision"?'),
    ('runs{v="x}', "is not closed"),
    ("runs # all", "is a comment"),
    ("sum(runs)", "is more than a counter's name and labels"),
    ("runs[5m]", "is more than a counter's name and labels"),
    ("{}", "is more than a counter's name and labels"),
    ('runs{v="a"} or runs{v="b"}', "is more than a counter's name and labels"),
]


@pytest.mark.parametrize("query, why", QUERIES)
def test_a_counter_that_is_none_is_refused(query: str, why: str) -> None:
    """Sums and rates have no runs to count; a placeholder stands only where it is safe."""
    wrong = read({"runs": {**RUNS, "clean": query}}, cleanRuns=1, noNewAlerts=False)[1]
    assert len(wrong) >= 1
    assert all(each.startswith("runs.clean: ") for each in wrong)
    assert any(why in each for each in wrong)


NUMBERS: list[tuple[dict[str, Any], str]] = [
    ({"runs": {**RUNS, "atLeast": 0}}, "runs.atLeast: 0 would take nothing for good"),
    ({"runs": {**RUNS, "atLeast": 2}}, "runs.atLeast: 2 of what by does not tell apart"),
    ({"runs": {**RUNS, "window": "0s"}}, "runs.window: 0 sees nothing"),
    ({"runs": RUNS, "checks": {"good": "x"}}, "checks: cannot be combined with runs"),
    ({"runs": {**RUNS, "evry": "1m"}}, "runs.evry: unknown field"),
    ({"checks": {"good": "x", "every": "1.5s"}}, "checks.every: is not made of whole seconds"),
    ({"checks": {"every": "1m"}}, "checks.good: missing"),
]


@pytest.mark.parametrize("probe, problem", NUMBERS)
def test_numbers_that_prove_nothing_are_refused(probe: dict[str, Any], problem: str) -> None:
    """A probe that could never be answered, or would always be, says so when it is read."""
    (wrong,) = read(probe, cleanRuns=1, noNewAlerts=False)[1]
    assert wrong.startswith(problem)


def test_selectors_and_texts() -> None:
    """What a selector asks for, and how a text is quoted."""
    assert selector_labels('a:b{x="}", y=~\'{\', z!=`"`,}') == {"x", "y", "z"}
    assert selector_labels("up") == set()
    assert literal('a"\\\nb') == '"a\\"\\\\\\nb"'
    assert filled("x{v=$revision, w='$5'}", '"}') == 'x{v="\\"}", w=\'$5\'}'


def test_servers_know_where_their_secrets_are() -> None:
    """Only where; a secret itself has no place in a document."""
    problems = Problems()
    document = {"name": "main", "url": "https://p", "tokenFile": "token", "caFile": "ca.pem"}
    server = read_server(Reader(document, "s", problems))
    assert not problems.errors
    assert server == PrometheusServer(
        name="main", url="https://p", token=Secret(file="token"), ca_file="ca.pem"
    )
    for more in (
        {"token": "abc"},
        {"passwordEnv": "P"},
        {"tokenEnv": "T"},
        {"url": "https://u:p@x"},
    ):
        problems = Problems()
        read_server(Reader({**document, **more}, "s", problems))
        assert len(problems.errors) == 1
        assert "abc" not in problems.errors[0].text()
