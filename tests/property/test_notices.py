"""Law: people are told what is true, once, and again only where it could have happened again."""

from hypothesis import given
from hypothesis import strategies as st

from tests.sim.by_hand import decided
from tests.sim.drawn import cases, manual, retries, rollbacks
from tests.sim.generator import Case
from tidegate.explain.notice import WORDS, Due, Happening, words
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.notices import due, key
from tidegate.kinds.rollouts.core.remember import remember
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Event
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import State
from tidegate.model.time import Instant

NAME = "simulated/x"
every_case = st.one_of(cases(), manual(), retries(), rollbacks())
Told = dict[str, Instant]


def told_by(world: RolloutWorld, plan: RolloutPlan, told: Told) -> Due:
    """What is due once a plan is recorded."""
    return due(NAME, remember(world, plan, "r9"), world, plan, told)


def after(told: Told, now_due: Due) -> Told:
    """What people were told once everything due was told."""
    left = {each: at for each, at in told.items() if each not in now_due.retired}
    return left | {each: Instant(1) for notice in now_due.notices for each in notice.keys}


@given(every_case)
def test_nobody_is_told_twice(case: Case) -> None:
    """Told once, the same plan has nothing more to tell, whoever asks; two looks are enough."""
    world, plan = decided(case)
    once = after({}, told_by(world, plan, {}))
    told = after(once, told_by(world, plan, once))  # the end is told where the start was
    again = told_by(world, plan, told)
    assert again.notices == ()
    assert not set(again.retired) - (_failures(told) if Event.RETRIED in plan.events else set())


def _failures(told: Told) -> set[str]:
    return {each for each in told if f"/{Happening.FAILURE.value}/" in each}


@given(every_case)
def test_every_notice_has_keys_of_its_own_and_words(case: Case) -> None:
    """No two share a key, every word of a template has a value, and every notice says why."""
    world, plan = decided(case)
    notices = told_by(world, plan, {}).notices
    keys = [each for notice in notices for each in notice.keys]
    assert len(keys) == len(set(keys))
    for notice in notices:
        assert set(words(notice)) == set(WORDS)
        assert notice.why
        assert len(notice.keys) == max(1, len(notice.subjects))


@given(every_case)
def test_what_is_told_is_true(case: Case) -> None:
    """Failed targets failed, stopped rollouts are stopped, approvals are missing."""
    world, plan = decided(case)
    states = dict(zip((target.name for target in world.targets), plan.states, strict=True))
    for notice in told_by(world, plan, {}).notices:
        match notice.happening:
            case Happening.FAILURE:
                found = {states[each] for each in notice.subjects}
                assert found <= {State.FAILED, State.TIMED_OUT}
            case Happening.STOP:
                stopped = plan.summary in (Summary.FAILED, Summary.ABORTED)
                assert stopped or plan.course.paused
            case Happening.APPROVAL:
                waits = (v for option in plan.options for v in option.verdicts)
                missing = {v.facts[0] for v in waits if _is_missing(v.gate, v.outcome)}
                assert set(notice.subjects) <= missing
            case Happening.DONE:
                raise AssertionError("nobody was told that it began")
            case Happening.START:
                assert plan.started or any(report.tally.touched for report in plan.groups)


def _is_missing(gate: Gate, outcome: Outcome) -> bool:
    return gate is Gate.APPROVAL and outcome is Outcome.WAIT


@given(every_case)
def test_what_people_were_told_of_another_run_counts_for_nothing(case: Case) -> None:
    """A new revision, or everything anew, is told anew; what was told before is forgotten."""
    world, plan = decided(case)
    fresh = told_by(world, plan, {})
    other = {key("old@gone/", each, ""): Instant(0) for each in Happening}
    mixed = told_by(world, plan, other)
    assert mixed.notices == fresh.notices
    assert set(mixed.retired) == set(other)


@given(every_case)
def test_the_end_is_told_where_the_beginning_was(case: Case) -> None:
    """Done is news to whoever heard of the start, and to nobody else."""
    world, plan = decided(case)
    run = f"{remember(world, plan, 'r9').uid or ''}@{plan.course.revision or ''}/"
    told = {key(run, Happening.START, ""): Instant(0)}
    found = {notice.happening for notice in told_by(world, plan, told).notices}
    assert (Happening.DONE in found) is (plan.summary is Summary.SUCCEEDED)
    assert Happening.START not in found
