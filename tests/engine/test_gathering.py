"""Evidence is gathered beside the rounds: seldom, one at a time, and nothing waits for the slow."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.patience import patiently
from tidegate.documents.probe import AlertRules
from tidegate.engine.brakes.evidence import Gatherer, Pace
from tidegate.gates.brakes import Brakes
from tidegate.gates.health import Evidence, HealthGate, health_verdicts
from tidegate.gates.scope import EVERYTHING
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.errors import OutsideError
from tidegate.model.reason import Reason
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.prometheus.port import Probe

BEGIN = Instant(1_800_000_000 * SECOND)
PACE = Pace(every=Duration(15 * SECOND), timeout_s=0.5, patience_s=0.05)
FAST, SLOW = (Probe(server=name, alerts=AlertRules(("A",))) for name in ("fast", "slow"))
BRAKES = Brakes(
    health=tuple(
        HealthGate(name=name, scope=EVERYTHING, max_age=Duration(60 * SECOND))
        for name in ("fast", "slow", "told")
    )
)
PROBES = {"fast": FAST, "slow": SLOW}


class Fake:
    """A source that counts, and does what the test says."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, str | None, Instant]] = []
        self.fails: set[str] = set()
        self.hangs: set[str] = set()
        self.gate = asyncio.Event()
        self.closed = False

    async def gather(
        self, probe: Probe, revision: str | None, since: Instant, now: Instant
    ) -> Evidence:
        """What the port promises."""
        self.asked.append((probe.server, revision, now))
        if probe.server in self.hangs:
            await self.gate.wait()
        if probe.server in self.fails:
            raise OutsideError(f"{probe.server}: out of order")
        return Evidence(seen_at=now, revision=revision, since=since)

    async def close(self) -> None:
        """Let go."""
        self.closed = True


def at(seconds: float) -> Instant:
    """A moment after the change began."""
    return Instant(BEGIN + int(seconds * SECOND))


def reasons(brakes: Brakes, seconds: float, revision: str = "v2") -> list[Reason]:
    """What each gate says."""
    return [said.reason for said in health_verdicts(brakes.health, revision, at(seconds))]


Story = Callable[[Fake, Gatherer], Coroutine[Any, Any, None]]


def tell(story: Story, pace: Pace = PACE) -> Fake:
    """Run a story to its end."""

    async def run() -> Fake:
        source = Fake()
        gatherer = Gatherer(source, pace)
        try:
            await story(source, gatherer)
        finally:
            await gatherer.close()
        return source

    source = patiently(run())
    assert source.closed
    return source


def test_each_gate_gets_the_evidence_of_its_probe() -> None:
    """And a gate without a probe is left as it is."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        filled = await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(30))
        assert reasons(filled, 30) == [
            BrakeReason.HealthGood,
            BrakeReason.HealthGood,
            BrakeReason.HealthMissing,
        ]
        assert gatherer.known(BRAKES, PROBES, "v2", BEGIN) == filled
        assert filled.health[0].evidence == Evidence(seen_at=at(30), revision="v2", since=BEGIN)

    tell(story)


def test_the_same_is_asked_seldom() -> None:
    """Rounds in between take what is known; another revision is another question."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        probes = {"fast": FAST, "slow": FAST}  # the same question for two gates
        for seconds in (0, 1, 5, 14.9, 15, 29, 30):
            await gatherer.fill(BRAKES, probes, "v2", BEGIN, at(seconds))
        assert [now for _, _, now in source.asked] == [at(0), at(15), at(30)]
        filled = await gatherer.fill(BRAKES, probes, "v3", at(31), at(31))
        assert reasons(filled, 31, "v3")[:2] == [BrakeReason.HealthGood, BrakeReason.HealthGood]
        assert len(source.asked) == 4

    tell(story)


def test_one_that_is_slow_delays_only_its_own_gate() -> None:
    """The round goes on without it; when it answers, a person is notified."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        source.hangs = {"slow"}
        woken: list[str] = []

        def wake() -> None:
            woken.append("woken")

        filled = await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(0), wake)
        assert reasons(filled, 0)[:2] == [BrakeReason.HealthGood, BrakeReason.HealthMissing]
        filled = await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(16), wake)
        assert [server for server, _, _ in source.asked].count("slow") == 1, "one at a time"
        source.gate.set()
        await asyncio.sleep(0.02)
        assert woken == ["woken"]
        assert reasons(gatherer.known(BRAKES, PROBES, "v2", BEGIN), 16)[1] is BrakeReason.HealthGood

    tell(story)


def test_who_never_answers_is_given_up_and_asked_again() -> None:
    """What was known stays, and grows too old by the gate's own measure."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(0))
        source.hangs = {"slow"}
        await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(20))
        await asyncio.sleep(PACE.timeout_s + 0.1)
        filled = await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(59))
        assert reasons(filled, 59)[:2] == [BrakeReason.HealthGood, BrakeReason.HealthGood]
        assert reasons(filled, 60)[:2] == [BrakeReason.HealthGood, BrakeReason.HealthStale]
        assert gatherer.troubles(PROBES, "v2", BEGIN) == {"slow": "no answer in 0.5 s"}
        assert [server for server, _, _ in source.asked].count("slow") == 3

    tell(story)


def test_a_failure_leaves_the_last_evidence_and_says_why() -> None:
    """It is never made younger, and the reason goes when an answer comes."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(0))
        source.fails = {"fast"}
        for seconds in (20, 40, 60):
            filled = await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(seconds))
        assert reasons(filled, 60)[:2] == [BrakeReason.HealthStale, BrakeReason.HealthGood]
        assert gatherer.troubles(PROBES, "v2", BEGIN) == {"fast": "fast: out of order"}
        source.fails = set()
        filled = await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(80))
        assert reasons(filled, 80)[0] is BrakeReason.HealthGood
        assert not gatherer.troubles(PROBES, "v2", BEGIN)

    tell(story)


def test_before_the_change_there_is_nothing_to_ask() -> None:
    """No target has it, so nothing can be seen of it."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        assert await gatherer.fill(BRAKES, PROBES, "v2", None, at(0)) == BRAKES
        assert not source.asked

    tell(story)


def test_a_bug_is_not_lived_with() -> None:
    """What is not a failure of another system is raised in the round that asks."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        source.asked = None  # type: ignore[assignment]
        with pytest.raises(AttributeError):
            await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(0))

    tell(story)


def test_what_is_no_longer_wanted_is_forgotten() -> None:
    """Of a thousand revisions only the last few are kept."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        for i in range(20):
            await gatherer.fill(BRAKES, PROBES, f"v{i}", BEGIN, at(i))
        told = [gatherer.known(BRAKES, PROBES, f"v{i}", BEGIN).health[0] for i in range(20)]
        assert [gate.evidence is not None for gate in told] == [False] * 18 + [True] * 2

    tell(story, Pace(patience_s=0.05, kept_max=4))


def test_a_clock_that_was_set_back_does_not_end_the_asking() -> None:
    """An hour back: it is asked at once, not in an hour."""

    async def story(source: Fake, gatherer: Gatherer) -> None:
        await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(3600))
        await gatherer.fill(BRAKES, PROBES, "v2", BEGIN, at(0))
        assert [now for server, _, now in source.asked if server == "fast"] == [at(3600), at(0)]

    tell(story)
