"""Law: missing, old or foreign evidence is never good, and good evidence is all there."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.property.brake_worlds import NOON, REVISIONS, at, health_gates
from tidegate.gates.health import HealthGate, health_moments, health_verdicts
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

revisions = st.none() | st.sampled_from(REVISIONS)
hours = st.integers(-7, 7).map(at)


def said_of(gate: HealthGate, revision: str | None, now: Instant) -> Verdict:
    (said,) = health_verdicts([gate], revision, now)
    return said


@given(health_gates, revisions, hours)
def test_good_needs_everything(gate: HealthGate, revision: str | None, now: Instant) -> None:
    """It passes only on fresh evidence of this revision: enough clean runs, and no new alert."""
    if said_of(gate, revision, now).outcome is not Outcome.PASS:
        return
    seen = gate.evidence
    assert seen is not None
    assert seen.seen_at is not None
    assert seen.revision == revision
    assert 0 <= now - seen.seen_at < gate.max_age
    since = at(-99) if seen.since is None else seen.since
    counted = sorted(
        (run.at, not run.clean) for run in seen.runs if since <= run.at <= seen.seen_at
    )
    last = counted[-gate.clean_runs :] if gate.clean_runs else []
    assert len(last) == gate.clean_runs
    assert not any(failed for _, failed in last)
    if gate.no_new_alerts:
        assert not [a for a in seen.alerts if a.since is None or a.since >= since]


@given(health_gates, revisions, hours)
def test_taking_evidence_away_never_makes_it_good(
    gate: HealthGate, revision: str | None, now: Instant
) -> None:
    """Without evidence, without its date, or without its runs it does not begin to pass."""
    without = [msgspec.structs.replace(gate, evidence=None)]
    seen = gate.evidence
    if seen is not None:
        poorer = [msgspec.structs.replace(seen, seen_at=None)]
        if all(run.clean for run in seen.runs):  # to forget a failure is another matter
            poorer += [
                msgspec.structs.replace(seen, runs=seen.runs[:i]) for i in range(len(seen.runs))
            ]
        without += [msgspec.structs.replace(gate, evidence=less) for less in poorer]
    was = said_of(gate, revision, now).outcome is Outcome.PASS
    for less in without:
        assert was or said_of(less, revision, now).outcome is not Outcome.PASS
    assert said_of(without[0], revision, now).reason is BrakeReason.HealthMissing


@given(health_gates, revisions, hours)
def test_time_alone_changes_it_only_when_it_says(
    gate: HealthGate, revision: str | None, now: Instant
) -> None:
    """Until the next moment it names, the reason stays; good evidence turns old exactly then."""
    said = said_of(gate, revision, now)
    ahead = min(health_moments([gate], now), default=at(50))
    assert said_of(gate, revision, Instant(ahead - 1)).reason is said.reason
    if said.outcome is Outcome.PASS:
        assert said.until is not None
        assert said_of(gate, revision, Instant(said.until - 1)) == said
        assert said_of(gate, revision, said.until).reason is BrakeReason.HealthStale


def test_the_three_values_are_all_there() -> None:
    """Good, bad and not enough yet are three answers: pass, stop and wait."""
    from tests.property.brake_worlds import HOUR
    from tidegate.gates.health import Evidence, HealthRun
    from tidegate.gates.scope import EVERYTHING

    def gate(*clean: bool) -> HealthGate:
        runs = tuple(HealthRun(at(-3 + i), each) for i, each in enumerate(clean))
        evidence = Evidence(seen_at=NOON, revision="r2", runs=runs)
        return HealthGate(name="x", scope=EVERYTHING, max_age=HOUR, clean_runs=2, evidence=evidence)

    answers = [
        said_of(gate(*runs), "r2", NOON).outcome for runs in ((True, True), (True, False), (True,))
    ]
    assert answers == [Outcome.PASS, Outcome.STOP, Outcome.WAIT]
