"""Law: nothing starts, returns or is removed inside a hold; what is under way goes on."""

from hypothesis import given

from tests.property.brake_worlds import NOON, Case, cases, is_in, only, sure_labels
from tidegate.gates.scope import in_force
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Gate
from tidegate.model.target import State
from tidegate.model.time import Instant

held_cases = cases(only("holds")).map(sure_labels)


def held(case: Case, name: str, now: Instant = NOON) -> bool:
    assert case.brakes is not None
    return any(in_force(each, now) and is_in(each.scope, case, name) for each in case.brakes.holds)


@given(held_cases)
def test_nothing_is_done_to_a_held_target(case: Case) -> None:
    """No action, of whatever kind, reaches a target that a hold in force covers."""
    plan = decide(case.world(), NOON)
    assert not [action for action in plan.actions if held(case, action.target)]


@given(held_cases)
def test_holds_let_every_other_target_go(case: Case) -> None:
    """Where no hold is in force, the plan is the one there would be without brakes."""
    if any(held(case, name) for name in case.labels):
        return
    braked, free = decide(case.world(), NOON), decide(case.world(brakes=None), NOON)
    assert (braked.actions, braked.events) == (free.actions, free.events)


@given(held_cases)
def test_what_is_under_way_goes_on_and_says_so(case: Case) -> None:
    """A hold changes no state, and what is being updated hears of it."""
    world = case.world()
    plan = decide(world, NOON)
    assert plan.states == decide(case.world(brakes=None), NOON).states
    for i, state in enumerate(plan.states):
        told = BrakeReason.HoldSpares in {each.reason for each in plan.options[i].verdicts}
        assert told == (state is State.IN_FLIGHT and held(case, world.targets[i].name))


@given(held_cases)
def test_a_hold_opens_exactly_at_its_expiry(case: Case) -> None:
    """An instant before it is shut, and at it it is open; `until` says that instant."""
    assert case.brakes is not None
    for hold in case.brakes.holds:
        if hold.expires_at is None:
            continue
        for now, shut in ((Instant(hold.expires_at - 1), True), (hold.expires_at, False)):
            world = case.world()
            plan = decide(world, now)
            for option in plan.options[: len(world.targets)]:
                if not is_in(hold.scope, case, world.targets[option.target].name):
                    continue
                mine = [v for v in option.verdicts if hold.name in v.facts and v.gate is Gate.HOLD]
                assert not [v for v in mine if not shut]
                assert all(v.until == hold.expires_at for v in mine)
                if any(v.gate is Gate.HOLD for v in option.verdicts) and shut:
                    assert mine
