"""Law: whatever a Prometheus answers or leaves out, health is good only if it really was."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.property.prometheus_worlds import (
    BEGIN,
    MAX_AGE_S,
    SINCE,
    Shard,
    body,
    clock,
    counted,
    matrix,
    moments,
    outcome,
    shards,
    skews,
    told_at,
)
from tests.property.test_documents_never_crash import bent
from tidegate.documents.probe import AlertRules, Checks, Counters, PrometheusProbe
from tidegate.model.reason import Outcome
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.prometheus.questions import ProbeQuestion, check_steps

fleets = shards.map(lambda shard: [shard]) | st.lists(shards, min_size=1, max_size=3)
whole = Shard(tuple((t, True) for t in (3, 9, 15)), (), tuple(range(-20, 60, 2)))


def counting(fleet: list[Shard], wanted: int) -> PrometheusProbe:
    """A probe of counters that knows how many shards there are."""
    runs = Counters("clean", "failed")
    return PrometheusProbe(wanted=wanted, runs=runs, by=("shard",), at_least=len(fleet))


def answered(
    fleet: list[Shard], now_s: int, skew_s: int, warnings: Any = ()
) -> dict[ProbeQuestion, bytes]:
    """All that a probe of counters gets."""
    return {
        ProbeQuestion.CLOCK: clock(now_s, skew_s),
        ProbeQuestion.CLEAN: body(matrix(counted(fleet, True, now_s, skew_s)), warnings),
        ProbeQuestion.FAILED: body(matrix(counted(fleet, False, now_s, skew_s)), warnings),
    }


@given(fleets, st.integers(1, 3), st.integers(0, 60), skews)
def test_good_runs_really_were(fleet: list[Shard], wanted: int, now_s: int, skew_s: int) -> None:
    """Every shard ended that many clean runs after the change, and was heard of lately."""
    said, _ = outcome(counting(fleet, wanted), answered(fleet, now_s, skew_s), now_s)
    if said is not Outcome.PASS:
        return
    for shard in fleet:
        assert sum(ok and 0 <= t <= now_s for t, ok in shard.runs) >= wanted
        heard = [t for t in shard.scrapes if t <= now_s and t not in shard.blanks]
        assert now_s - max(heard) < MAX_AGE_S
        if not shard.restarts and len(heard) >= 20:  # a restart can hide a failure from anyone
            seen = sorted(run for run in shard.runs if run[0] <= min(max(heard), now_s - skew_s))
            after = [ok for t, ok in seen if t >= 0]
            assert all(after[-wanted:]) or _same_scrape(shard, seen, wanted)


def _same_scrape(shard: Shard, seen: list[tuple[int, bool]], wanted: int) -> bool:
    """Runs that ended between two scrapes have no order: then the failed one is the last."""
    scrape = {t: min((s for s in shard.scrapes if s >= t), default=99) for t, _ in seen}
    ordered = sorted(seen, key=lambda run: (scrape[run[0]], not run[1]))
    return all(ok for t, ok in ordered[-wanted:] if t >= 0)


@given(fleets, st.integers(1, 3), st.integers(0, 60), skews)
def test_a_series_less_never_makes_it_good(
    fleet: list[Shard], wanted: int, now_s: int, skew_s: int
) -> None:
    """Whichever is left out, clean or failed: if it was not good, it is not good now."""
    probe, bodies = counting(fleet, wanted), answered(fleet, now_s, skew_s)
    was, _ = outcome(probe, bodies, now_s)
    for ask, clean in ((ProbeQuestion.CLEAN, True), (ProbeQuestion.FAILED, False)):
        series = counted(fleet, clean, now_s, skew_s)
        for i in range(len(series)):
            less = body(matrix(series[:i] + series[i + 1 :]))
            said, _ = outcome(probe, {**bodies, ask: less}, now_s)
            assert said is not Outcome.PASS or was is Outcome.PASS


@given(fleets, st.integers(1, 3), st.integers(0, 60))
def test_a_warning_is_never_good(fleet: list[Shard], wanted: int, now_s: int) -> None:
    """Part of the answer may be missing; what is bad in the rest is still reported."""
    probe = counting(fleet, wanted)
    was, _ = outcome(probe, answered(fleet, now_s, 0), now_s)
    said, _ = outcome(probe, answered(fleet, now_s, 0, ["one store did not answer"]), now_s)
    assert said is not Outcome.PASS
    assert was is not Outcome.STOP or said is Outcome.STOP


def test_the_three_values_come_out_of_counters() -> None:
    """The law is not kept by never being good: pass, stop and wait all come about."""
    probe = counting([whole], 3)
    assert outcome(probe, answered([whole], 20, 0), 20)[0] is Outcome.PASS
    assert outcome(probe, answered([whole], 20, 7), 20)[0] is Outcome.WAIT, "their clock is ahead"
    assert outcome(probe, answered([whole], 14, 0), 14)[0] is Outcome.WAIT
    ill = Shard(((5, False), *whole.runs), (), whole.scrapes)
    assert outcome(counting([whole, ill], 3), answered([whole, ill], 14, 0), 14)[0] is Outcome.STOP
    assert (
        outcome(probe, {**answered([whole], 20, 0), ProbeQuestion.CLEAN: body(None)}, 20)[1] is None
    )


checked = st.just([["1"] * 12]) | st.lists(
    st.lists(st.sampled_from(["1"] * 6 + ["0", "NaN", ""]), min_size=12, max_size=12),
    min_size=1,
    max_size=2,
)


@given(checked, st.integers(1, 3), st.integers(0, 60), skews)
def test_good_checks_follow_each_other(
    looks: list[list[str]], wanted: int, now_s: int, skew_s: int
) -> None:
    """The last checks of all targets are all there and all 1, and lie behind the change."""
    checks = Checks("good", Duration(5 * SECOND), Duration(10 * SECOND))
    probe = PrometheusProbe(wanted=wanted, runs=checks, by=("shard",), at_least=len(looks))
    now = Instant((BEGIN + now_s) * SECOND)
    steps = [at // SECOND - BEGIN for at in check_steps(checks, wanted, SINCE, now)]
    series: list[tuple[dict[str, str], list[tuple[float, str]]]] = [
        ({"shard": str(i)}, [(float(BEGIN + t), row[t // 5]) for t in steps if row[t // 5 % 12]])
        for i, row in enumerate([[*row, *row] for row in looks])
    ]
    bodies = {ProbeQuestion.CLOCK: clock(now_s, skew_s), ProbeQuestion.CHECKS: body(matrix(series))}
    said, evidence = outcome(probe, bodies, now_s)
    if said is not Outcome.PASS:
        return
    assert evidence is not None
    for row in looks:
        values = {t: [*row, *row][t // 5] for t in steps}
        last = max(t for t in steps if values[t] in ("1", "0"))
        counted = [values.get(last - 5 * i) for i in range(wanted)]
        assert counted == ["1"] * wanted
        assert last - 5 * (wanted - 1) >= 10 + max(0, skew_s)
        assert now_s - last < MAX_AGE_S


RULES = ("Broken", "Slow")
rules = st.fixed_dictionaries(
    {
        "name": st.sampled_from([*RULES, "Other"]),
        "health": st.sampled_from(["ok"] * 6 + ["err", "unknown", ""]),
        "at": moments,
    }
)
alerts = st.fixed_dictionaries(
    {
        "alertname": st.sampled_from(RULES),
        "state": st.sampled_from(["firing", "pending"]),
        "began": st.floats(-20, 60) | st.floats(-1, 1),
        "dated": st.booleans(),
    }
)


@given(
    st.lists(rules, max_size=3) | st.just([{"name": n, "health": "ok", "at": 29} for n in RULES]),
    st.lists(alerts, max_size=2),
    skews,
)
def test_no_alert_is_good_only_if_one_would_have_been_seen(
    there: list[dict[str, Any]], firing: list[dict[str, Any]], skew_s: int
) -> None:
    """All rules are there, well and asked lately, and what fires began before the change."""
    now_s = 30
    firing = [each for each in firing if each["began"] <= now_s]
    vector: list[dict[str, Any]] = []
    for i, each in enumerate(firing):
        who = {"alertname": each["alertname"], "instance": str(i)}
        there_at = BEGIN + now_s + skew_s
        metric = {"__name__": "ALERTS", "alertstate": each["state"], **who}
        vector.append({"metric": metric, "value": [there_at, "1"]})
        if each["dated"]:
            metric = {"__name__": "ALERTS_FOR_STATE", **who}
            began = str(int(BEGIN + each["began"] + skew_s))
            vector.append({"metric": metric, "value": [there_at, began]})
    told = [
        {"name": r["name"], "health": r["health"], "lastEvaluation": told_at(r["at"] + skew_s)}
        for r in there
    ]
    bodies = {
        ProbeQuestion.CLOCK: clock(now_s, skew_s),
        ProbeQuestion.ALERTS: body({"resultType": "vector", "result": vector}),
        ProbeQuestion.RULES: body({"groups": [{"rules": told}]}),
    }
    said, _ = outcome(PrometheusProbe(alerts=AlertRules(RULES)), bodies, now_s)
    if said is not Outcome.PASS:
        return
    for name in RULES:
        mine = [rule for rule in there if rule["name"] == name]
        assert mine
        assert all(r["health"] == "ok" and now_s - r["at"] < MAX_AGE_S for r in mine)
    assert all(a["began"] < 0 and a["dated"] for a in firing if a["state"] == "firing")


EXAMPLE = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [
            {"metric": {"shard": "0"}, "values": [[BEGIN + t, str(t // 6)] for t in range(20)]},
            {"metric": {"shard": "1"}, "values": [[BEGIN, "1"], [BEGIN + 1, "NaN"]]},
        ],
    },
}


@given(bent(EXAMPLE) | st.binary().map(lambda raw: {"raw": raw.hex()}), bent(EXAMPLE))
def test_bent_answers_are_read_or_refused(clean: Any, failed: Any) -> None:
    """Whatever comes back, it is evidence or a reason why there is none; never a crash."""
    bodies = {
        ProbeQuestion.CLOCK: clock(20, 0),
        ProbeQuestion.CLEAN: msgspec.json.encode(clean),
        ProbeQuestion.FAILED: msgspec.json.encode(failed),
    }
    outcome(PrometheusProbe(wanted=2, runs=Counters("a", "b")), bodies, 20)


@given(st.binary(), st.sampled_from(list(ProbeQuestion)))
def test_garbage_is_refused(garbage: bytes, where: ProbeQuestion) -> None:
    """Bytes that are no answer are no evidence."""
    probe = PrometheusProbe(
        wanted=1, runs=Counters("a", "b"), alerts=AlertRules(RULES), by=("shard",)
    )
    good = answered([whole], 20, 0)
    good[ProbeQuestion.ALERTS] = body({"resultType": "vector", "result": []})
    rules = [{"name": n, "health": "ok", "lastEvaluation": told_at(19)} for n in RULES]
    good[ProbeQuestion.RULES] = body({"groups": [{"rules": rules}]})
    assert outcome(probe, good, 20)[0] is Outcome.PASS
    if where is not ProbeQuestion.CHECKS:
        assert outcome(probe, {**good, where: garbage}, 20)[1] is None
