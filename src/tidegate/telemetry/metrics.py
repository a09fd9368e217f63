"""Numbers about what runs, in the format of Prometheus; most are computed from the last plans.

Nothing is counted up and down while rounds go on: a scrape looks at the last plan of every rollout
that is led here, so that the numbers cannot drift from what was decided. There is never a label for
a target: a fleet may have a hundred thousand.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from threading import Lock

import msgspec
from prometheus_client import (
    CollectorRegistry,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client import Counter as Total
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tidegate.explain.view import Counts
from tidegate.gates.scope import kind_word
from tidegate.telemetry.metric_table import BUCKETS, GAUGES, HISTOGRAMS, TOTALS, Known

# A second series for every counter, which only says when the process began.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Gauges(msgspec.Struct, frozen=True):
    """What is read off whatever runs, at the moment of a scrape."""

    led: frozenset[str]
    running: frozenset[str]
    waiting: int
    under_way: int
    behind: int
    loop_lag_s: float
    lines_dropped: int
    notices_waiting: int = 0


class _Last(msgspec.Struct):
    """The last plan of a partition; counted at the next scrape."""

    count: Callable[[], Counts]
    counts: Counts | None = None


class Metrics:
    """Everything that can be scraped."""

    def __init__(
        self,
        version: str,
        gauges: Callable[[], Gauges],
        more: Callable[[], bytes] = lambda: b"",
    ) -> None:
        self._version = version
        self._gauges = gauges
        # Metrics of the kinds' own.
        self._more = more
        self._last: dict[str, _Last] = {}
        self._round_at: dict[str, float] = {}
        self._lock = Lock()
        self._registry = CollectorRegistry()
        self._registry.register(_Collected(self._collect))
        ProcessCollector(registry=self._registry)
        self._totals = {
            known.name: Total(known.name, known.help, known.labels, registry=self._registry)
            for known in TOTALS
        }
        rounds, _ = HISTOGRAMS
        self._seconds = Histogram(
            rounds.name, rounds.help, rounds.labels, buckets=BUCKETS, registry=self._registry
        )

    def round_ended(
        self,
        rollout: str,
        count: Callable[[], Counts] | None,
        took_s: float,
        at_s: float,
    ) -> None:
        """A round was completed: its plan, if it is new, is the one to count from now on."""
        self._seconds.labels(kind_word(rollout)).observe(took_s)
        with self._lock:
            self._round_at[rollout] = at_s
            if count is not None:
                self._last[rollout] = _Last(count)

    def forget(self, rollout: str) -> None:
        """Another worker leads it now, and counts it."""
        with self._lock:
            self._last.pop(rollout, None)
            self._round_at.pop(rollout, None)

    def add(self, name: str, *labels: str, number: int = 1) -> None:
        """Something happened, so many times."""
        total = self._totals[name]
        (total.labels(*labels) if labels else total).inc(number)

    def text(self) -> bytes:
        """What a scrape gets."""
        return generate_latest(self._registry) + self._more()

    def counts(self) -> dict[str, Counts]:
        """The rollouts led here in numbers."""
        with self._lock:
            last = dict(self._last)
        for one in last.values():
            if one.counts is None:
                one.counts = one.count()
        return {name: one.counts for name, one in last.items() if one.counts is not None}

    def _collect(self) -> Iterator[Metric]:
        now, counts = self._gauges(), self.counts()
        rows: dict[str, list[tuple[tuple[str, ...], float]]] = {
            "tidegate_build_info": [((self._version,), 1)],
            "tidegate_queue_depth": [((), now.waiting)],
            "tidegate_rounds_under_way": [((), now.under_way)],
            "tidegate_journal_lag_entries": [((), now.behind)],
            "tidegate_loop_lag_seconds": [((), now.loop_lag_s)],
            "tidegate_log_dropped_total": [((), now.lines_dropped)],
            "tidegate_notices_waiting": [((), now.notices_waiting)],
            "tidegate_leader": [
                ((kind_word(name), name), float(name in now.led)) for name in sorted(now.running)
            ],
            "tidegate_last_round_timestamp_seconds": [
                ((kind_word(name), name), at) for name, at in sorted(self._round_at.items())
            ],
            **_of_plans(counts),
        }
        for known in GAUGES:
            yield _family(known, rows[known.name])


def _of_plans(counts: dict[str, Counts]) -> dict[str, list[tuple[tuple[str, ...], float]]]:
    rollouts = Counter((kind_word(name), one.summary) for name, one in counts.items())
    return {
        "tidegate_rollouts": [(key, number) for key, number in sorted(rollouts.items())],
        "tidegate_targets": [
            ((kind_word(name), name, state), number)
            for name, one in sorted(counts.items())
            for state, number in sorted(one.states.items())
        ],
        "tidegate_waits": [
            ((kind_word(name), name, gate, reason), number)
            for name, one in sorted(counts.items())
            for (gate, reason), number in sorted(one.waits.items())
        ],
    }


def _family(known: Known, rows: list[tuple[tuple[str, ...], float]]) -> Metric:
    make = CounterMetricFamily if known.name.endswith("_total") else GaugeMetricFamily
    family = make(known.name, known.help, labels=known.labels)
    for labels, value in rows:
        family.add_metric(labels, value)
    return family


class _Collected(Collector):
    """A collector that asks when it is scraped."""

    def __init__(self, collect: Callable[[], Iterator[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterator[Metric]:
        """What there is now."""
        return self._collect()

    def describe(self) -> Iterator[Metric]:
        """What there may be; asked once, when nothing runs yet."""
        return (_family(known, []) for known in GAUGES)
