"""Law: brakes that cover nothing of a rollout change nothing of it, so it is not decided again."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.property.brake_worlds import NOON, Case, brakes, cases, only
from tidegate.gates.brakes import Brakes, concerning, touches
from tidegate.gates.hold import Hold
from tidegate.gates.scope import EVERYTHING
from tidegate.kinds.rollouts.core.decide import decide


def touched(case: Case, before: Brakes, after: Brakes) -> bool:
    return touches(before, after, before.kind, names_in(case), case.labels)


def names_in(case: Case) -> list[str]:
    grouped = {name for group in case.groups for name in group.clusters}
    return sorted(grouped | {each.name for each in case.statuses})


one_more = st.sampled_from(("holds", "freezes", "blocks", "pins")).flatmap(only)


@given(cases(brakes), one_more, st.booleans())
def test_what_brakes_do_not_touch_is_decided_the_same(
    case: Case, more: Brakes, lifted: bool
) -> None:
    """Every state, verdict and action is the same before and after they are set or lifted."""
    less = case.brakes or Brakes()
    changes = {
        field: tuple(replace(each, name=f"more {each.name}") for each in getattr(more, field))
        + getattr(less, field)
        for field in ("holds", "freezes", "blocks", "pins")
    }
    both = replace(less, **changes)
    before, after = (both, less) if lifted else (less, both)
    if touched(case, before, after):
        return
    # As the worlds of rollouts are made (`kinds/rollouts/core/journal/state.py`).
    known = (concerning(each, names_in(case), case.labels) for each in (before, after))
    one, other = (decide(case.world(brakes=each), NOON) for each in known)
    assert (one.states, one.actions, one.events) == (other.states, other.actions, other.events)
    assert [each.verdicts for each in one.options] == [each.verdicts for each in other.options]
    assert one.recheck_at == other.recheck_at


@given(cases(brakes))
def test_the_same_brakes_touch_nothing_and_a_hold_on_all_touches(case: Case) -> None:
    """Whether it is set or lifted."""
    known = case.brakes or Brakes()
    hold = Hold(name="all", scope=EVERYTHING, owner="ops", why="because")
    held = Brakes(holds=(hold,), kind=known.kind)
    none = Brakes(kind=known.kind)
    assert not touched(case, known, known)
    if names_in(case):
        assert touched(case, none, held)
        assert touched(case, held, none)
