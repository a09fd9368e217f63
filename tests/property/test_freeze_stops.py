"""Law: nothing starts in a freeze or too late before one; the way back is always open."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.property.brake_worlds import HOUR, NOON, Case, at, cases, is_in, only, sure_labels
from tidegate.gates.block import is_like
from tidegate.gates.freeze import Exemption, Freeze, Span, freeze_verdicts, joined
from tidegate.gates.scope import EVERYTHING, in_force
from tidegate.kinds.rollouts.core.course import CourseMode
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.plan import ChangeKind
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Duration, Instant

frozen_cases = cases(only("freezes")).map(sure_labels)
instants = st.integers(-8 * 4, 8 * 4).map(lambda quarter: Instant(NOON + quarter * HOUR // 4))


def is_on(freeze: Freeze, now: Instant, need: int | None) -> bool:
    """In plain terms: some span is on, or begins before a start now would be done."""
    if not in_force(freeze, now):
        return False
    if freeze.known_until is not None and now >= freeze.known_until:
        return True
    if any(span.start <= now < span.end for span in freeze.spans):
        return True
    if not freeze.finish_before:
        return False
    expires = freeze.expires_at
    ahead = [s for s in freeze.spans if s.start > now and (expires is None or s.start < expires)]
    return any(need is None or s.start <= now + need for s in ahead)


def frozen(case: Case, plan: RolloutPlan, name: str, now: Instant) -> bool:
    assert case.brakes is not None
    apply = case.strategy.deadline
    need = None if apply is None else apply + case.strategy.soak
    if plan.course.mode is CourseMode.SETTLED:
        need = apply
    for freeze in case.brakes.freezes:
        excepted = freeze.known_until is None or now < freeze.known_until
        excepted = excepted and any(
            now < each.expires_at
            and is_in(each.scope, case, name)
            and (each.revision is None or is_like(plan.course.revision or "", each.revision))
            for each in freeze.exemptions
        )
        if is_in(freeze.scope, case, name) and is_on(freeze, now, need) and not excepted:
            return True
    return False


@given(frozen_cases, instants)
def test_nothing_starts_in_a_freeze(case: Case, now: Instant) -> None:
    """Going forward or joining later, what starts is not frozen, now or before it is done."""
    plan = decide(case.world(), now)
    if plan.course.mode is CourseMode.REVERT:
        return
    started = [a.target for a in plan.actions if a.change.kind is ChangeKind.APPLY]
    assert not [name for name in started if frozen(case, plan, name, now)]


@given(frozen_cases, instants)
def test_the_way_back_is_open_in_a_freeze(case: Case, now: Instant) -> None:
    """Returns and reverts are what they would be without any freeze."""
    braked, free = decide(case.world(), now), decide(case.world(brakes=None), now)
    if braked.course.mode is CourseMode.REVERT:
        assert _done(braked, ChangeKind.APPLY) == _done(free, ChangeKind.APPLY)
    assert _done(braked, ChangeKind.RETURN) == _done(free, ChangeKind.RETURN)


def _done(plan: RolloutPlan, kind: ChangeKind) -> list[str]:
    return [each.target for each in plan.actions if each.change.kind is kind]


freezes = st.builds(
    Freeze,
    name=st.just("x"),
    scope=st.none(),
    owner=st.just("ops"),
    why=st.just("because"),
    spans=st.lists(
        st.tuples(st.integers(-6, 6), st.integers(1, 4)).map(
            lambda s: Span(at(s[0]), at(s[0] + s[1]))
        ),
        max_size=4,
    ).map(joined),
    expires_at=st.none() | st.integers(-2, 6).map(at),
    known_until=st.none() | st.integers(-2, 9).map(at),
    finish_before=st.booleans(),
)
needs = st.none() | st.integers(0, 3).map(lambda hours: Duration(hours * HOUR))


@given(freezes, needs, instants)
def test_until_is_honest(freeze: Freeze, need: Duration | None, now: Instant) -> None:
    """Before `until` the gate stays as it is; at it, it says something else."""
    (said,) = freeze_verdicts([(freeze, ())], "r2", need, now)
    assert (said.outcome is not Outcome.PASS) == is_on(freeze, now, need)
    if said.reason is BrakeReason.CalendarEnds:
        return
    if said.until is None:
        horizon = [at(20)]
        assert said.outcome is Outcome.PASS
    else:
        assert said.until > now
        horizon = [said.until, Instant(said.until - 1), Instant((now + said.until) // 2)]
    for moment in horizon:
        (then,) = freeze_verdicts([(freeze, ())], "r2", need, moment)
        if said.until is None or moment < said.until:
            assert then.outcome is said.outcome
        else:
            assert (then.reason, then.until) != (said.reason, said.until)


@given(freezes, freezes, needs, instants)
def test_of_several_freezes_the_first_to_begin_counts(
    one: Freeze, two: Freeze, need: Duration | None, now: Instant
) -> None:
    """While none is on, `until` is the earliest moment at which any of them will be."""
    both = [freeze_verdicts([(each, ())], "r2", need, now)[0] for each in (one, two)]
    if any(each.outcome is not Outcome.PASS for each in both):
        return
    (said,) = freeze_verdicts([(one, ()), (two, ())], "r2", need, now)
    moments = [each.until for each in both if each.until is not None]
    assert said.until == min(moments, default=None)


@given(freezes, needs, instants, st.lists(st.integers(-7, 7).map(at), max_size=3))
def test_an_exception_lasts_as_long_as_the_longest(
    freeze: Freeze, need: Duration | None, now: Instant, ends: list[Instant]
) -> None:
    """It opens what is shut, until the last exception or the freeze itself is over."""
    shut = freeze_verdicts([(freeze, ())], "r2", need, now)[0]
    exempt = tuple(
        Exemption(scope=EVERYTHING, owner="boss", why="hotfix", expires_at=end) for end in ends
    )
    (said,) = freeze_verdicts([(freeze, exempt)], "r2", need, now)
    last = max(ends, default=now)
    if shut.outcome is Outcome.PASS or last <= now or shut.reason is BrakeReason.CalendarEnds:
        assert said == shut
    else:
        assert shut.until is not None
        assert said.reason is BrakeReason.FreezeExcepted
        assert said.until == min(last, shut.until)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=6))
def test_joined_spans_cover_the_same_time(pairs: list[tuple[int, int]]) -> None:
    """Joining moves nothing: every instant is in some span before if and only if after."""
    spans = [Span(Instant(start), Instant(end)) for start, end in pairs]
    found = joined(spans)
    for moment in range(-10, 11):
        was = any(span.start <= moment < span.end for span in spans)
        assert was == any(span.start <= moment < span.end for span in found)
    assert all(one.end < two.start for one, two in pairwise(found))
    assert all(span.start < span.end for span in found)


@given(frozen_cases, instants)
def test_a_gate_is_asked_only_where_there_is_one(case: Case, now: Instant) -> None:
    """Brakes of one kind bring verdicts of their own gate, and of no other brake."""
    gates = {each.gate for option in decide(case.world(), now).options for each in option.verdicts}
    assert not gates & {Gate.HOLD, Gate.PIN, Gate.BLOCK, Gate.MUTEX, Gate.SHARED_BUDGET}
