"""What follows from a Prometheus's answers, at the boundaries: a row each."""

from typing import Any

import pytest

from tests.property.prometheus_worlds import (
    BEGIN,
    SINCE,
    Shard,
    body,
    clock,
    counted,
    matrix,
    outcome,
    told_at,
)
from tidegate.documents.probe import AlertRules, Checks, Counters, PrometheusProbe
from tidegate.model.errors import OutsideError
from tidegate.model.reason import Outcome
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.prometheus.questions import ProbeQuestion, questions
from tidegate.prometheus.testimony import Answers, weigh

EACH_SECOND = tuple(range(-20, 60))


def said(*runs: tuple[int, bool], now_s: int = 20, skew_s: int = 0, **more: Any) -> Outcome:
    """What the gate says to one shard that has to have one clean run."""
    shard = Shard(runs, more.get("restarts", ()), more.get("scrapes", EACH_SECOND))
    bodies = {
        ProbeQuestion.CLOCK: clock(now_s, skew_s),
        ProbeQuestion.CLEAN: body(matrix(counted([shard], True, now_s, skew_s))),
        ProbeQuestion.FAILED: body(matrix(counted([shard], False, now_s, skew_s))),
    }
    return outcome(PrometheusProbe(wanted=1, runs=Counters("a", "b")), bodies, now_s)[0]


def test_a_run_counts_from_the_change_on() -> None:
    """Wholly behind it if it was clean; if it failed, as soon as it may be behind it."""
    assert said((3, True)) is Outcome.PASS
    assert said((-3, True)) is Outcome.WAIT
    every_six = tuple(range(-16, 60, 6))  # the last scrape before the change is 4 s before it
    assert said((1, True), scrapes=every_six) is Outcome.WAIT
    assert said((3, True), scrapes=every_six) is Outcome.PASS
    assert said((-3, False), scrapes=every_six) is Outcome.STOP
    assert said((-5, False), scrapes=every_six) is Outcome.WAIT


def test_a_clock_that_is_ahead_does_not_make_old_runs_new() -> None:
    """A run 3 s before the change, reported by a clock 7 s ahead, seems to end after it."""
    assert said((-3, True), skew_s=7) is Outcome.WAIT
    assert said((3, True), skew_s=7) is Outcome.PASS
    assert said((3, True), skew_s=7, now_s=9) is Outcome.WAIT


def test_a_clock_that_is_behind_does_not_hide_a_failure() -> None:
    """A failure 3 s after the change, reported by a clock 7 s behind, seems to be old."""
    assert said((3, False), skew_s=-7) is Outcome.STOP
    assert said((-9, False), skew_s=-7) is Outcome.WAIT


def test_silence_grows_old() -> None:
    """Nothing was scraped for longer than evidence is good for."""
    few = tuple(range(-20, 20))
    assert said((3, True), scrapes=few, now_s=48) is Outcome.PASS
    assert said((3, True), scrapes=few, now_s=49) is Outcome.WAIT
    assert said((3, True), scrapes=(), now_s=20) is Outcome.WAIT


def test_a_counter_that_falls_has_begun_anew() -> None:
    """What it had before the restart is not counted again."""
    before = tuple((-9 + i, True) for i in range(5))
    every_six = tuple(range(-18, 60, 6))
    assert said(*before, (5, True), restarts=(4,), scrapes=every_six) is Outcome.WAIT
    assert said(*before, (5, True), (7, True), restarts=(4,), scrapes=every_six) is Outcome.PASS


def test_a_counter_that_appears_with_failures_has_failed() -> None:
    """A counter that was not there before the change began at 0."""
    late = tuple(range(4, 60))
    assert said((2, False), scrapes=late) is Outcome.STOP
    assert said((2, True), scrapes=late) is Outcome.WAIT


def alerting(
    since: Instant, skew_s: int, began: float | None, state: str = "firing"
) -> tuple[Instant | None, ...]:
    """Since when which alerts fire, as the evidence has it."""
    vector: list[dict[str, Any]] = [
        {"metric": {"__name__": "ALERTS", "alertname": "A", "alertstate": state}, "value": [1, "1"]}
    ]
    if began is not None:
        metric = {"__name__": "ALERTS_FOR_STATE", "alertname": "A"}
        vector.append({"metric": metric, "value": [1, str(int(BEGIN + began + skew_s))]})
    rules = [{"name": "A", "health": "ok", "lastEvaluation": told_at(20)}]
    bodies = {
        ProbeQuestion.CLOCK: clock(20, skew_s),
        ProbeQuestion.ALERTS: body({"resultType": "vector", "result": vector}),
        ProbeQuestion.RULES: body({"groups": [{"rules": rules}]}),
    }
    probe = PrometheusProbe(alerts=AlertRules(("A",)))
    evidence = weigh(probe, "v2", since, Instant((BEGIN + 20) * SECOND), Answers(bodies))
    return tuple(alert.since for alert in evidence.alerts)


def test_an_alert_is_never_dated_too_early() -> None:
    """Prometheus tells whole seconds, rounded down, and by its own clock."""
    (began,) = alerting(Instant(SINCE + SECOND // 2), 0, 0.7)
    assert began is not None
    assert began >= SINCE + 7 * SECOND // 10
    (began,) = alerting(SINCE, -7, 3)
    assert began is not None
    assert began >= SINCE + 3 * SECOND
    assert alerting(SINCE, 0, None) == (None,), "it does not say, so it may be new"
    assert alerting(SINCE, 0, 3, "pending") == (), "it does not fire yet"


def test_a_clock_far_off_is_pointed_out() -> None:
    """It is to be fixed, not allowed for."""
    with pytest.raises(OutsideError, match="its clock is 1m40s ahead of ours"):
        alerting(SINCE, 100, 0)
    with pytest.raises(OutsideError, match="its clock is 1m40s behind ours"):
        alerting(SINCE, -100, 0)


BAD: list[tuple[bytes, str]] = [
    (b"", "cannot be read"),
    (b"<html>", "cannot be read"),
    (body(None, status="error"), "it refuses: error"),
    (body({"resultType": "vector", "result": []}), "answers with a vector, not with a matrix"),
    (body(matrix([({}, [(BEGIN + 1.0, "x")])])), '"x" is not a number'),
    (body(matrix([({}, [(BEGIN + 2.0, "1"), (BEGIN + 1.0, "1")])])), "out of order"),
    (body(matrix([({}, [(BEGIN + 50.0, "1")])])), "samples from the future"),
    (body(matrix([({}, [(BEGIN + 1.0, "-1")])])), "-1 is neither a count nor a check"),
    (body(matrix([({}, [(BEGIN + 1.0, "1")])])), "a series has no label shard: {}"),
    (
        body({"resultType": "matrix", "result": [{"metric": {}, "histograms": []}]}),
        "missing required field `values`",
    ),
]


@pytest.mark.parametrize("answer, why", BAD)
def test_an_answer_that_is_none_says_why(answer: bytes, why: str) -> None:
    """The reason names what is wrong with the answer."""
    good = body(matrix([({"shard": "0"}, [(BEGIN + 1.0, "1")])]))
    bodies = {
        ProbeQuestion.CLOCK: clock(20, 0),
        ProbeQuestion.CLEAN: answer,
        ProbeQuestion.FAILED: good,
    }
    probe = PrometheusProbe(wanted=1, runs=Counters("a", "b"), by=("shard",))
    with pytest.raises(OutsideError) as error:
        weigh(probe, "v2", SINCE, Instant((BEGIN + 20) * SECOND), Answers(bodies))
    assert why in str(error.value)


def test_the_questions_of_a_probe() -> None:
    """What is asked, word for word."""
    probe = PrometheusProbe(
        wanted=3,
        runs=Counters('runs{ok="1", v=$revision}', "runs{v!=$revision}", Duration(600 * SECOND)),
        alerts=AlertRules(("A.b", "C"), "v=$revision"),
    )
    at = Instant(SINCE + 3600 * SECOND + 5)
    asked = questions(probe, 'a"b\\', SINCE, at)
    assert {ask.value: question.form for ask, question in asked.items()} == {
        "clock": {"query": "time()"},
        "clean": {"query": r'runs{ok="1", v="a\"b\\"}[600000ms]', "time": "1800003600.000"},
        "failed": {"query": r'runs{v!="a\"b\\"}[600000ms]', "time": "1800003600.000"},
        "alerts": {
            "query": '{__name__=~"ALERTS|ALERTS_FOR_STATE",alertname=~"A\\\\.b|C",v="a\\"b\\\\"}'
        },
        "rules": {"type": "alert"},
    }
    with pytest.raises(OutsideError, match="the revision has no name"):
        questions(probe, None, SINCE, at)


def test_checks_are_asked_for_on_a_grid() -> None:
    """The same moments whenever it is asked, and no more of them than count."""
    runs = Checks("good", Duration(60 * SECOND), Duration(300 * SECOND))
    probe = PrometheusProbe(wanted=3, runs=runs)
    assert ProbeQuestion.CHECKS not in questions(probe, "v2", SINCE, Instant(SINCE + 299 * SECOND))
    late = Instant(SINCE + 3601 * SECOND)
    assert questions(probe, "v2", SINCE, late)[ProbeQuestion.CHECKS].form == {
        "query": "good",
        "start": "1800003420.000",
        "end": "1800003600.000",
        "step": "60.000",
    }
