"""Metrics say what the plans say: no more, no less, and not for long after another worker leads."""

import re
from functools import partial
from pathlib import Path

from hypothesis import given

from tests.real.promtool import promtool
from tests.sim.by_hand import decided
from tests.sim.drawn import cases
from tests.sim.generator import Case
from tidegate.explain.view import state_label
from tidegate.kinds.rollouts.core.explain.counts import count
from tidegate.kinds.rollouts.core.explain.table import state_word
from tidegate.model.target import State
from tidegate.telemetry.metric_table import GAUGES, HISTOGRAMS, TOTALS
from tidegate.telemetry.metrics import Gauges, Metrics
from tidegate.telemetry.requests import RequestNumbers

NOTHING = Gauges(
    led=frozenset(),
    running=frozenset(),
    waiting=0,
    under_way=0,
    behind=0,
    loop_lag_s=0.0,
    lines_dropped=0,
)
SAMPLE = re.compile(
    r'^tidegate_targets\{kind="(\w+)",rollout="([^"]+)",state="(\w+)"\} (\S+)$', re.MULTILINE
)


def metrics() -> Metrics:
    """Metrics of a process in which nothing happens."""
    return Metrics("1", lambda: NOTHING)


@given(cases())
def test_every_target_has_one_state(case: Case) -> None:
    """Over all states, each target is counted once, with the word `why` has for it."""
    world, plan = decided(case)
    counts = count(world, plan)
    assert sum(counts.states.values()) == len(world.targets) + len(world.departed)
    for i in range(len(world.targets)):
        assert counts.states[state_label(state_word(world, plan, i))] > 0


@given(cases())
def test_every_waiting_target_has_one_reason_or_starts(case: Case) -> None:
    """Who waits is held by exactly one gate and reason, or starts now."""
    world, plan = decided(case)
    counts = count(world, plan)
    held = sum(state in (State.WAITING, State.JOINED, State.HOLDING) for state in plan.states)
    assert sum(counts.waits.values()) + counts.starting == held
    assert counts.starting == len(plan.started)


@given(cases())
def test_a_scrape_agrees_with_the_plan(case: Case) -> None:
    """The text that is scraped adds up to the targets there are."""
    world, plan = decided(case)
    ours = metrics()
    ours.round_ended("simulated/x", partial(count, world, plan), 0.1, 1.0)
    found = SAMPLE.findall(ours.text().decode())
    assert sum(float(number) for *_, number in found) == len(world.targets) + len(world.departed)
    assert {(kind, rollout) for kind, rollout, *_ in found} <= {("simulated", "simulated/x")}


@given(cases())
def test_who_no_longer_leads_counts_nothing(case: Case) -> None:
    """Two processes never count the same rollout for good."""
    world, plan = decided(case)
    ours = metrics()
    ours.round_ended("simulated/x", partial(count, world, plan), 0.1, 1.0)
    ours.forget("simulated/x")
    assert not SAMPLE.findall(ours.text().decode())


def busy() -> bytes:
    """What is scraped where something of everything happened."""
    gauges = Gauges(
        led=frozenset({"simulated/x"}),
        running=frozenset({"simulated/x", "simulated/y"}),
        waiting=1,
        under_way=2,
        behind=3,
        loop_lag_s=0.5,
        lines_dropped=4,
    )
    ours = Metrics("1", lambda: gauges)
    for known in TOTALS:
        ours.add(known.name, *known.labels)
    ours.round_ended("simulated/x", None, 0.1, 1.0)
    requests = RequestNumbers("/api/v1", ("status",), own_process=False)
    requests.timed("GET", "/api/v1/status", 0.01)
    return ours.text() + requests.text()


def test_every_metric_of_the_table_is_there_and_no_other() -> None:
    """What is documented is what is scraped."""
    found = set(re.findall(r"^# TYPE (\S+)", busy().decode(), re.MULTILINE))
    names = {known.name.removesuffix("_total") for known in (*GAUGES, *TOTALS, *HISTOGRAMS)}
    ours = {name.removesuffix("_total") for name in found if name.startswith("tidegate_")}
    assert ours == names


def test_no_metric_has_a_label_for_a_target() -> None:
    """A fleet may have a hundred thousand: labels are bounded by kinds, rollouts and words."""
    allowed = {"kind", "rollout", "state", "gate", "reason", "summary", "outcome", "error"}
    labels = {label for known in (*GAUGES, *TOTALS, *HISTOGRAMS) for label in known.labels}
    assert labels <= allowed | {"event", "version", "method", "status", "route"}


def test_requests_are_counted_by_words_that_are_known() -> None:
    """What a caller makes up, a path or a method, makes no series; streams are not counted."""
    numbers = RequestNumbers("/api/v1", ("status", "watch"), own_process=False)
    for method, path in (
        ("GET", "/api/v1/status"),
        ("GET", "/api/v1/made-up/simulated/x"),
        ("BREW", "/"),
        ("GET", "/api/v1/watch/simulated/x"),
    ):
        numbers.timed(method, path, 0.01)
    counts = re.findall(r"tidegate_api_seconds_count(\{.*\}) (\S+)", numbers.text().decode())
    assert dict(counts) == {
        '{method="GET",route="status"}': "1.0",
        '{method="GET",route="page"}': "1.0",
        '{method="other",route="page"}': "1.0",
    }


def test_what_to_alert_on_is_there() -> None:
    """Every metric an operator's page speaks of is in the table."""
    page = (Path(__file__).parents[2] / "docs" / "guides" / "serve.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\btidegate_[a-z_]+", page))
    assert len(names) > 5
    assert names <= {known.name for known in (*GAUGES, *TOTALS, *HISTOGRAMS)}


def test_leading_is_reported_for_every_rollout_that_is_managed() -> None:
    """1 where we lead, 0 where another worker does."""
    text = busy().decode()
    assert 'tidegate_leader{kind="simulated",rollout="simulated/x"} 1.0' in text
    assert 'tidegate_leader{kind="simulated",rollout="simulated/y"} 0.0' in text


def test_promtool_has_nothing_to_say() -> None:
    """Names and units are as Prometheus wants them."""
    told = promtool("check", "metrics", given=busy())
    assert not [line for line in told.splitlines() if line.startswith("tidegate_")]
    assert "exit 1" not in told
