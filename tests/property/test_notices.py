"""Law: people are shown what is true, once, and again only where it could have happened again."""

from hypothesis import given
from hypothesis import strategies as st

from tests.sim.by_hand import case, decided, report
from tests.sim.drawn import cases, manual, retries, rollbacks
from tests.sim.generator import Case
from tidegate.explain.notice import WORDS, DueNotices, NoticeKind, words
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.notices import due, key
from tidegate.kinds.rollouts.core.remember import remember
from tidegate.kinds.rollouts.core.strategy import Retry, Rollout, Strategy, StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Event
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import State, Status
from tidegate.model.time import Instant

NAME = "simulated/x"
every_case = st.one_of(cases(), manual(), retries(), rollbacks())
Told = dict[str, Instant]


def told_by(world: RolloutWorld, plan: RolloutPlan, told: Told) -> DueNotices:
    """What is due once a plan is recorded."""
    return due(NAME, remember(world, plan, "r9"), world, plan, told)


def after(told: Told, now_due: DueNotices) -> Told:
    """The notices sent once everything due was sent."""
    left = {each: at for each, at in told.items() if each not in now_due.retired}
    return left | {each: Instant(1) for notice in now_due.notices for each in notice.keys}


@given(every_case)
def test_no_one_is_notified_twice(case: Case) -> None:
    """Sent once, the same plan has nothing more to send, for any worker; two looks are enough."""
    world, plan = decided(case)
    once = after({}, told_by(world, plan, {}))
    told = after(once, told_by(world, plan, once))  # the end is shown where the start was
    again = told_by(world, plan, told)
    assert again.notices == ()
    assert not set(again.retired) - (_failures(told) if Event.RETRIED in plan.events else set())


def test_a_failure_in_a_group_that_is_not_retried_is_reported_once() -> None:
    """Where one group is retried, only its failures may happen again."""
    failed = [report(name, Status.Failed) for name in ("a", "b")]
    memory = Rollout(revision="r2", retry_groups={"dev": Retry.FAILED})
    groups = {"dev": "a", "prod": "b"}
    world, plan = decided(case(Strategy(StrategyType.PROGRESSIVE), groups, *failed, rollout=memory))
    assert Event.RETRIED in plan.events
    told = {f"@r2/failure/{name}": Instant(1) for name in ("a", "b")}
    assert told_by(world, plan, told).retired == ("@r2/failure/a",)


def _failures(told: Told) -> set[str]:
    return {each for each in told if f"/{NoticeKind.FAILURE.value}/" in each}


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
def test_what_is_reported_is_true(case: Case) -> None:
    """Failed targets failed, stopped rollouts are stopped, approvals are missing."""
    world, plan = decided(case)
    states = dict(zip((target.name for target in world.targets), plan.states, strict=True))
    for notice in told_by(world, plan, {}).notices:
        match notice.happening:
            case NoticeKind.FAILURE:
                found = {states[each] for each in notice.subjects}
                assert found <= {State.FAILED, State.TIMED_OUT}
            case NoticeKind.STOP:
                stopped = plan.summary in (Summary.FAILED, Summary.ABORTED)
                assert stopped or plan.course.paused
            case NoticeKind.APPROVAL:
                waits = (v for option in plan.options for v in option.verdicts)
                missing = {v.facts[0] for v in waits if _is_missing(v.gate, v.outcome)}
                assert set(notice.subjects) <= missing
            case NoticeKind.DONE:
                raise AssertionError("nobody was told that it began")
            case NoticeKind.START:
                assert plan.started or any(report.tally.touched for report in plan.groups)


def _is_missing(gate: Gate, outcome: Outcome) -> bool:
    return gate is Gate.APPROVAL and outcome is Outcome.WAIT


@given(every_case)
def test_what_people_were_notified_of_another_run_counts_for_nothing(case: Case) -> None:
    """A new revision, or everything anew, is sent anew; what was sent before is forgotten."""
    world, plan = decided(case)
    fresh = told_by(world, plan, {})
    other = {key("old@gone/", each, ""): Instant(0) for each in NoticeKind}
    mixed = told_by(world, plan, other)
    assert mixed.notices == fresh.notices
    assert set(mixed.retired) == set(other)


@given(every_case)
def test_the_end_is_sent_where_the_start_was(case: Case) -> None:
    """Done is sent where the start was sent, and nowhere else."""
    world, plan = decided(case)
    run = f"{remember(world, plan, 'r9').uid or ''}@{plan.course.revision or ''}/"
    told = {key(run, NoticeKind.START, ""): Instant(0)}
    found = {notice.happening for notice in told_by(world, plan, told).notices}
    assert (NoticeKind.DONE in found) is (plan.summary is Summary.SUCCEEDED)
    assert NoticeKind.START not in found
