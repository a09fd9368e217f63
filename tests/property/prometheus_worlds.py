"""What really happened, and what a Prometheus with holes and a wrong clock tells of it."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st

from tidegate.documents.probe import PrometheusProbe
from tidegate.gates.health import Evidence, HealthGate, health_verdicts
from tidegate.gates.scope import EVERYTHING
from tidegate.model.errors import OutsideError
from tidegate.model.reason import Outcome
from tidegate.model.time import SECOND, Duration, Instant, format_instant
from tidegate.prometheus.questions import ProbeQuestion
from tidegate.prometheus.testimony import Answers, weigh

# The change begins here, in seconds; everything is reported in seconds from it.
BEGIN = 1_800_000_000
SINCE = Instant(BEGIN * SECOND)
MAX_AGE_S = 30


class Shard(msgspec.Struct, frozen=True):
    """One thing that runs: when its runs ended and how, when it was restarted, when scraped."""

    runs: tuple[tuple[int, bool], ...]
    restarts: tuple[int, ...]
    scrapes: tuple[int, ...]
    # Scrapes that yield no number.
    blanks: frozenset[int] = frozenset()

    def counter(self, clean: bool, at: int) -> int:
        """How far a counter got by then, since the last restart."""
        begun = max((t for t in self.restarts if t <= at), default=-10_000)
        return sum(ok is clean and begun <= t <= at for t, ok in self.runs)


moments = st.integers(-20, 60)
# Around the change itself, where what is old must not pass for new.
near = st.integers(-9, 9)
brisk = st.builds(
    Shard,
    runs=st.lists(st.tuples(near, st.just(True)), min_size=2, max_size=4).map(tuple),
    restarts=st.just(()),
    scrapes=st.sampled_from(
        [tuple(range(-20 + i, 60, step)) for step in (1, 4, 6) for i in (0, 1)]
    ),
)
shards = brisk | st.builds(
    Shard,
    runs=st.lists(st.tuples(moments, st.sampled_from([True] * 5 + [False])), max_size=9).map(tuple),
    restarts=st.lists(moments, max_size=1).map(tuple),
    scrapes=st.one_of(
        st.just(tuple(range(-20, 60, 2))),
        st.sets(moments, max_size=40).map(lambda found: tuple(sorted(found))),
    ),
    blanks=st.frozensets(moments, max_size=3),
)
skews = st.sampled_from([0, 0, 0, 1, -1, 7, -7, 40, -40])


def body(data: object, warnings: Sequence[str] = (), status: str = "success") -> bytes:
    """An answer as it comes over the wire."""
    return msgspec.json.encode({"status": status, "data": data, "warnings": list(warnings)})


def matrix(series: list[tuple[dict[str, str], list[tuple[float, str]]]]) -> dict[str, Any]:
    """MetricSeries of samples."""
    found = [{"metric": labels, "values": values} for labels, values in series if values]
    return {"resultType": "matrix", "result": found}


def clock(now_s: float, skew_s: int) -> bytes:
    """What time it is there."""
    at = BEGIN + now_s + skew_s
    return body({"resultType": "scalar", "result": [at, str(at)]})


def counted(
    shards: Sequence[Shard], clean: bool, now_s: int, skew_s: int
) -> list[tuple[dict[str, str], list[tuple[float, str]]]]:
    """What was scraped of one of the counters, by their clock, up to our `now`."""
    found = []
    for i, shard in enumerate(shards):
        values: list[tuple[float, str]] = []
        for at in shard.scrapes:
            if at <= now_s and at + skew_s <= now_s:
                value = "NaN" if at in shard.blanks else str(shard.counter(clean, at))
                values.append((float(BEGIN + at + skew_s), value))
        found.append(({"shard": str(i), "result": "ok" if clean else "failed"}, values))
    return found


def outcome(
    probe: PrometheusProbe, bodies: dict[ProbeQuestion, bytes], now_s: int
) -> tuple[Outcome, Evidence | None]:
    """What the gate says to the evidence, if there is any."""
    now = Instant((BEGIN + now_s) * SECOND)
    try:
        evidence = weigh(probe, "v2", SINCE, now, Answers(bodies))
    except OutsideError:
        return Outcome.WAIT, None
    gate = HealthGate(
        name="x",
        scope=EVERYTHING,
        max_age=Duration(MAX_AGE_S * SECOND),
        clean_runs=probe.wanted,
        no_new_alerts=probe.alerts is not None,
        evidence=evidence,
    )
    (said,) = health_verdicts([gate], "v2", now)
    return said.outcome, evidence


def told_at(at: int) -> str:
    """A moment as rules tell it."""
    return format_instant((BEGIN + at) * SECOND)
