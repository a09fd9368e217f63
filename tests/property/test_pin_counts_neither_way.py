"""Law: a pinned target is left alone, and every other target goes as if it were not there."""

import msgspec
from hypothesis import given

from tests.property.brake_worlds import NOON, Case, cases, is_in, only, sure_labels
from tidegate.gates.scope import in_force
from tidegate.kinds.rollouts.core.census import Tally
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.core.summary import GroupReport
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.reason import Gate

pinned_cases = cases(only("pins")).map(sure_labels)


def pinned(case: Case, name: str) -> bool:
    assert case.brakes is not None
    return any(in_force(each, NOON) and is_in(each.scope, case, name) for each in case.brakes.pins)


@given(pinned_cases)
def test_nothing_is_done_to_a_pinned_target(case: Case) -> None:
    """It neither starts, nor returns, nor is it removed; and it says why."""
    world = case.world()
    plan = decide(world, NOON)
    assert not [action for action in plan.actions if pinned(case, action.target)]
    mine = {i for i, target in enumerate(world.targets) if pinned(case, target.name)}
    assert plan.pinned == mine
    for i in mine:
        assert plan.options[i].verdicts[-1].gate is Gate.PIN


@given(pinned_cases)
def test_the_others_go_as_if_it_were_not_there(case: Case) -> None:
    """Take the pinned targets out of every group: what happens to the others is the same."""
    groups = tuple(
        Membership(one.name, one.index, tuple(n for n in one.clusters if not pinned(case, n)))
        for one in case.groups
    )
    statuses = tuple(each for each in case.statuses if not pinned(case, each.name))
    without = case.world(groups=groups, statuses=statuses, brakes=None)
    alone, plan = decide(without, NOON), decide(case.world(), NOON)
    assert plan.actions == alone.actions
    assert plan.events == alone.events
    assert [_counts(one) for one in plan.groups] == [_counts(one) for one in alone.groups]


def _counts(report: GroupReport) -> Tally:
    return msgspec.structs.replace(report.tally, ignored=0)
