"""A real Prometheus, asked through the real adapter, up to the verdict of the gate."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.real import needed
from tests.real.prometheus import Exporter, exporting, free_port, running
from tidegate.documents.brake_doc import read_brakes
from tidegate.documents.calendar_doc import stretch_from
from tidegate.documents.probe import PrometheusProbe
from tidegate.documents.reader import Reader
from tidegate.engine.brakes.evidence import Gatherer, Pace
from tidegate.gates.brakes import Brakes
from tidegate.gates.health import Evidence, health_verdicts
from tidegate.kinds.integrations.client.prometheus_runs import PrometheusRuns
from tidegate.kinds.integrations.core.waves.trial import ShardRun
from tidegate.kinds.upgrades.client.prometheus_health import PrometheusHealth
from tidegate.kubernetes.port import POD, Object
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.errors import OutsideError
from tidegate.model.problem import Problems
from tidegate.model.reason import Outcome, Reason
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.model.verdict import Verdict
from tidegate.prometheus.client.source import PrometheusLimits, PrometheusSource
from tidegate.prometheus.server import PrometheusServer

pytestmark = pytest.mark.real

COUNTERS: dict[str, Any] = {
    "clean": 'app_runs_total{result="clean", version=$revision}',
    "failed": 'app_runs_total{result="failed", version=$revision}',
    "by": ["shard"],
    "atLeast": 2,
}
CHECKS = {"good": "min(app_ok)", "every": "1s", "after": "1s"}
QUIET: dict[str, Any] = {"noNewAlerts": False}


class Stage:
    """A gate with a probe, on a Prometheus whose exporter the test moves."""

    def __init__(self, exporter: Exporter, url: str) -> None:
        self.exporter = exporter
        self.url = url

    def gate(
        self, url: str = "", max_age: str = "30s", **fields: Any
    ) -> tuple[Brakes, dict[str, PrometheusProbe]]:
        """A health gate as it is written, and its probe."""
        probe = {k: fields.pop(k) for k in ("runs", "checks", "alerts") if k in fields}
        document: dict[str, Any] = {
            "health": [
                {
                    "name": "canaries",
                    "scope": {"everything": True},
                    "maxAge": max_age,
                    "prometheus": {"url": url or self.url, **probe},
                    **fields,
                }
            ]
        }
        problems = Problems()
        probes: dict[str, PrometheusProbe] = {}
        reader = Reader(document, "brakes", problems)
        brakes = read_brakes(reader, stretch_from(now()), None, probes)
        assert not problems.errors
        return brakes, probes

    def move(self, **metrics: float) -> None:
        """Set metrics, and let them be scraped."""
        self.exporter.set(**metrics)
        self.exporter.wait()

    def begin(self) -> Instant:
        """The change begins, and a scrape or two later it goes on."""
        since = now()
        self.exporter.wait()
        return since

    def until(
        self, wanted: Reason, since: Instant, revision: str = "v2", **fields: Any
    ) -> list[Verdict]:
        """ProbeQuestion until the gate gives this reason; everything it said on the way."""
        return asyncio.run(self._until(wanted, since, revision, fields))

    async def _until(
        self, wanted: Reason, since: Instant, revision: str, fields: dict[str, Any]
    ) -> list[Verdict]:
        brakes, probes = self.gate(**fields)
        pace = Pace(every=Duration(SECOND // 10), patience_s=5)
        gatherer = Gatherer(PrometheusSource(limits=PrometheusLimits(tries_max=1)), pace)
        end = time.monotonic() + PATIENCE_S
        said: list[Verdict] = []
        try:
            while time.monotonic() < end:
                at = now()
                filled = await gatherer.fill(brakes, probes, revision, since, at)
                said += health_verdicts(filled.health, revision, at)
                if said[-1].reason is wanted:
                    return said
                await asyncio.sleep(0.1)
            troubles = gatherer.troubles(probes, revision, since)
            raise AssertionError(f"it still says {said[-1]}; {troubles}; {filled.health[0]}")
        finally:
            await gatherer.close()

    def once(self, since: Instant, revision: str = "v2", **fields: Any) -> Evidence | str:
        """What one question yields: evidence, or why there is none."""

        async def ask() -> Evidence | str:
            _, probes = self.gate(**fields)
            source = PrometheusSource(limits=PrometheusLimits(tries_max=1))
            try:
                return await source.gather(probes["canaries"], revision, since, now())
            except OutsideError as error:
                return str(error)
            finally:
                await source.close()

        return asyncio.run(ask())

    def told(self, wanted: str, since: Instant, revision: str = "v2", **fields: Any) -> None:
        """ProbeQuestion until there is no evidence for this reason."""
        end = time.monotonic() + PATIENCE_S
        told: Evidence | str = ""
        while time.monotonic() < end:
            told = self.once(since, revision, **fields)
            if isinstance(told, str) and wanted in told:
                return
            time.sleep(0.1)
        raise AssertionError(f"it still says {told}")


def now() -> Instant:
    """The time of this machine: what is real here is the clock too."""
    return Instant(time.time_ns())


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One Prometheus for all stories of this file."""
    program = needed("prometheus", "PROMETHEUS", "prometheus")
    folder: Path = tmp_path_factory.mktemp("prometheus")
    with exporting() as exporter, running(program, folder, exporter) as url:
        yield Stage(exporter, url)


@pytest.fixture
def stage(prometheus: Stage) -> Stage:
    """The Prometheus with an exporter that says nothing yet."""
    prometheus.exporter.forget()
    prometheus.exporter.wait()
    return prometheus


def test_three_clean_runs_of_every_shard_are_good(stage: Stage) -> None:
    """Runs from before the change do not count, and a shard that lags is waited for."""
    stage.move(a__clean=5, a__failed=1, b__clean=7, b__failed=0)
    since = now()
    fields: dict[str, Any] = {"cleanRuns": 3, "runs": COUNTERS, **QUIET}
    stage.until(BrakeReason.HealthUnproven, since, **fields)
    stage.move(a__clean=6)
    stage.move(a__clean=8, b__clean=9)
    evidence = stage.once(since, **fields)
    assert isinstance(evidence, Evidence)
    assert [run.clean for run in evidence.runs] == [True, True], "b has two so far"
    stage.move(b__clean=10)
    said = stage.until(BrakeReason.HealthGood, since, **fields)
    assert all(each.outcome is not Outcome.STOP for each in said)


def test_a_failed_run_is_bad_until_three_clean_ones_follow(stage: Stage) -> None:
    """Whichever shard it was."""
    stage.move(a__clean=0, a__failed=0, b__clean=0, b__failed=0)
    since = stage.begin()
    fields: dict[str, Any] = {"cleanRuns": 3, "runs": COUNTERS, **QUIET}
    stage.move(a__clean=3, b__clean=3)
    stage.until(BrakeReason.HealthGood, since, **fields)
    stage.move(b__failed=1)
    stage.until(BrakeReason.HealthBad, since, **fields)
    stage.move(b__clean=6)
    stage.until(BrakeReason.HealthGood, since, **fields)


def test_a_failure_counts_even_if_a_shard_is_missing(stage: Stage) -> None:
    """What is bad is reported even though the evidence is not whole."""
    stage.move(a__clean=0, a__failed=0)
    since = stage.begin()
    fields: dict[str, Any] = {"cleanRuns": 2, "runs": COUNTERS, **QUIET}
    stage.move(a__clean=5)
    stage.told("1 of 2 things that run were seen", since, **fields)
    stage.move(a__failed=1)
    stage.until(BrakeReason.HealthBad, since, **fields)


def test_a_restarted_counter_counts_anew(stage: Stage) -> None:
    """A counter that falls has begun again: what it was is neither a run nor a failure."""
    stage.move(a__clean=40, a__failed=9, b__clean=40, b__failed=0)
    since = stage.begin()
    stage.move(a__clean=0, a__failed=0, b__clean=1)
    fields: dict[str, Any] = {"cleanRuns": 2, "runs": COUNTERS, **QUIET}
    stage.until(BrakeReason.HealthUnproven, since, **fields)
    stage.move(a__clean=2, b__clean=3)
    stage.until(BrakeReason.HealthGood, since, **fields)


def test_a_silent_exporter_is_never_good_for_long(stage: Stage) -> None:
    """Good evidence grows too old; a question about the silence yields nothing newer."""
    stage.move(a__clean=0, a__failed=0, b__clean=0, b__failed=0)
    since = stage.begin()
    stage.move(a__clean=1, b__clean=1)
    fields: dict[str, Any] = {"cleanRuns": 1, "runs": COUNTERS, "max_age": "2s", **QUIET}
    stage.until(BrakeReason.HealthGood, since, **fields)
    stage.exporter.silent = True
    stage.until(BrakeReason.HealthStale, since, **fields)
    stage.told("no series since the change began", now(), **fields)


def test_a_name_with_quotes_in_it_is_only_a_name(stage: Stage) -> None:
    """No revision can turn the question into another one."""
    stage.move(a__clean=0, a__failed=0, b__clean=0, b__failed=0)
    since = stage.begin()
    stage.move(a__clean=1, b__clean=1)
    fields: dict[str, Any] = {"cleanRuns": 1, "runs": COUNTERS, **QUIET}
    for revision in ('v2"} or {shard="a', "v2\\", "v2\n", ".*", "v3", '"', "`", "$revision"):
        told = stage.once(since, revision, **fields)
        assert isinstance(told, str), revision
        assert told.endswith("no series since the change began"), revision
    stage.until(BrakeReason.HealthGood, since, **fields)


def test_checks_are_good_once_enough_of_them_follow_each_other(stage: Stage) -> None:
    """An expression looked at every second, from a second after the change."""
    stage.move(app_ok=1)
    since = now()
    fields: dict[str, Any] = {"cleanRuns": 2, "checks": CHECKS, **QUIET}
    said = stage.until(BrakeReason.HealthGood, since, **fields)
    assert said[0].reason is BrakeReason.HealthMissing, "before the first check there is nothing"
    stage.exporter.set(app_ok=0)
    stage.until(BrakeReason.HealthBad, since, **fields)


def test_a_comparison_that_filters_is_pointed_out(stage: Stage) -> None:
    """`x < 5` answers with x, or with nothing where it is wrong: that is no 1 and no 0."""
    stage.move(app_ok=1, app_delay=3)
    since = Instant(now() - 2 * SECOND)
    checks = {**CHECKS, "good": "app_delay < 5", "after": "0s"}
    wanted = "neither 1 nor 0; compare with `< bool`"
    stage.told(wanted, since, cleanRuns=1, checks=checks, **QUIET)


def test_new_alerts_are_bad_and_old_ones_are_not(stage: Stage) -> None:
    """An alert that fired before the change goes on; one that begins with it does not pass."""
    alerts: dict[str, Any] = {"alerts": {"rules": ["Broken", "Slow"]}}
    stage.exporter.set(app_broken=1, app_slow=0)
    stage.until(BrakeReason.HealthAlerts, Instant(now() - 5 * SECOND), **alerts)
    time.sleep(1.1)  # Prometheus tells whole seconds
    since = now()
    said = stage.until(BrakeReason.HealthGood, since, **alerts)
    assert all(each.outcome is not Outcome.STOP for each in said)
    stage.exporter.set(app_slow=1)
    said = stage.until(BrakeReason.HealthAlerts, since, **alerts)
    assert ("Slow",) in said[-1].facts
    stage.exporter.set(app_slow=0)
    stage.until(BrakeReason.HealthGood, since, **alerts)


def test_no_alert_proves_nothing_without_its_rule(stage: Stage) -> None:
    """A rule that is not there, or that fails, would be silent too."""
    since = Instant(now() - SECOND)
    wanted = 'it has no alerting rule "Brokn"'
    stage.told(wanted, since, alerts={"rules": ["Broken", "Brokn"]})
    stage.exporter.set(
        **{'app_broken{x="1"}': 1, 'app_broken{x="2"}': 1, "app_slow": 1}  # many to one
    )
    stage.told('the rule "Clashing" is not well', since, alerts={"rules": ["Clashing"]})


def test_alerts_of_others_do_not_count(stage: Stage) -> None:
    """`match` narrows the alerts of a rule down, with the revision quoted."""
    stage.exporter.set(**{'app_broken{version="v1"}': 1})
    since = Instant(now() - SECOND)
    stage.until(BrakeReason.HealthAlerts, since, alerts={"rules": ["Broken"]})
    mine = {"rules": ["Broken"], "match": "{version=$revision}"}
    stage.until(BrakeReason.HealthGood, since, alerts=mine)
    stage.exporter.set(**{'app_broken{version="v2"}': 1})
    stage.until(BrakeReason.HealthAlerts, since, alerts=mine)


def test_without_a_prometheus_there_is_no_evidence(stage: Stage) -> None:
    """Nothing answers: nothing is known, and nothing is good."""
    nobody = f"http://127.0.0.1:{free_port()}"
    fields: dict[str, Any] = {"cleanRuns": 1, "runs": COUNTERS, "url": nobody, **QUIET}
    said = stage.until(BrakeReason.HealthMissing, Instant(now() - SECOND), **fields)
    assert [each.outcome for each in said] == [Outcome.WAIT]
    assert "cannot be asked" in str(stage.once(now(), **fields))


def test_a_question_it_does_not_understand_is_shown(stage: Stage) -> None:
    """A person who wrote it sees what was asked and what is wrong with it."""
    told = stage.once(
        Instant(now() - 2 * SECOND),
        cleanRuns=1,
        checks={"good": "sum(", "every": "1s", "after": "0s"},
        **QUIET,
    )
    assert isinstance(told, str)
    assert "HTTP 400: bad_data" in told
    assert "asked: sum(" in told


def test_evidence_is_as_old_as_what_was_seen(stage: Stage) -> None:
    """Not as old as the question."""
    stage.move(a__clean=0, a__failed=0, b__clean=0, b__failed=0)
    since = stage.begin()
    stage.move(a__clean=1)
    fields: dict[str, Any] = {"cleanRuns": 1, "runs": COUNTERS, **QUIET}
    stage.exporter.silent = True
    silent_at = now()
    stage.exporter.wait()
    evidence = stage.once(since, **fields)
    assert isinstance(evidence, Evidence)
    assert evidence.seen_at is not None
    assert since <= evidence.seen_at <= silent_at


def test_runs_of_pods_are_read_through_a_prometheus(stage: Stage) -> None:
    """By the pod's name: one that failed, one that never ran, one of another namespace."""
    exporter, url = stage.exporter, stage.url

    def numbers(pod: str, status: float, completed: float, namespace: str = "ns") -> None:
        where = f'namespace="{namespace}",pod="{pod}"'
        exporter.set(
            **{
                f"qontract_reconcile_last_run_status{{{where}}}": status,
                f"qontract_reconcile_execution_counter_total{{{where}}}": completed,
            }
        )

    numbers("good", 0, 4)
    numbers("bad", 1, 7)
    numbers("good", 1, 9, namespace="elsewhere")
    exporter.wait()
    cluster = SimulatedCluster(SimulatedApi("one"))
    pods = [
        Object(POD, "ns", name, f"uid-{name}", "1", ours=False, document={})
        for name in ("good", "bad", "silent")
    ]

    async def story() -> None:
        source = PrometheusSource([PrometheusServer(name="main", url=url)])
        runs = PrometheusRuns(source)
        try:
            read = await runs.read(cluster, pods)
            assert read == {"uid-good": ShardRun(4, 0), "uid-bad": ShardRun(7, 1)}
            assert runs.trouble == ""
            there = PrometheusRuns(source, cluster_label="instance")
            assert await there.read(cluster, pods) == {}
            nobody = PrometheusRuns(source, "other")
            assert await nobody.read(cluster, pods) == {}
            assert 'no Prometheus is called "other"' in nobody.trouble
        finally:
            await source.close()

    asyncio.run(story())


def test_alerts_of_clusters_are_joined_with_whose_they_are(stage: Stage) -> None:
    """Critical ones that fire, of this organisation's clusters only, each name once."""
    exporter = stage.exporter

    def fires(cluster: str, alert: str, **more: str) -> None:
        labels = {"_id": cluster, "alertname": alert, "alertstate": "firing"}
        labels |= {"severity": "critical", **more}
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        exporter.set(**{f"alerts{{{text}}}": 1})

    for cluster, org in (("a", "o1"), ("b", "o1"), ("c", "o2")):
        exporter.set(**{f'ocm_subscription{{_id="{cluster}",organization="{org}",ebs="1"}}': 1})
        exporter.set(**{f'ocm_subscription{{_id="{cluster}",organization="{org}",ebs="2"}}': 1})
    fires("a", "Down", namespace="one")
    fires("a", "Down", namespace="two")
    fires("a", "Slow")
    fires("b", "Loud", severity="warning")
    fires("b", "Soon", alertstate="pending")
    fires("c", "Down")
    exporter.wait()

    async def story() -> None:
        source = PrometheusSource([PrometheusServer(name="telemeter", url=stage.url)])
        health = PrometheusHealth(source, "telemeter")
        try:
            assert await health.alerts("o1") == {"a": ("Down", "Slow")}
            assert await health.alerts("o2") == {"c": ("Down",)}
            assert await health.alerts("nobody's") == {}
        finally:
            await health.close()

    asyncio.run(story())
