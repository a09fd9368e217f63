"""Law: a mutex never has two holders."""

from collections import defaultdict

from hypothesis import given

from tests.property.brake_worlds import NOON, Case, cases, is_in, only, sure_labels, unsoaked
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.reason import Gate, Outcome

shared_cases = cases(only("mutexes")).map(sure_labels)


def holders(case: Case, world: RolloutWorld, plan: RolloutPlan) -> dict[str, set[tuple[str, str]]]:
    """Who has each mutex before the plan: (target, whose)."""
    assert case.brakes is not None
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for claim in case.brakes.claims:
        kind, _, name = claim.name.partition("/")
        if kind == "mutex":
            found[name].add((claim.target, claim.partition))
    for mutex in case.brakes.mutexes:
        claimed = {target for target, _ in found[mutex.name]}
        for target, state in zip(world.targets, plan.states, strict=True):
            if not unsoaked(case, plan, target, state) or not is_in(mutex.scope, case, target.name):
                continue
            if case.brakes.partition or target.name not in claimed:
                found[mutex.name].add((target.name, case.brakes.partition))
    return found


@given(shared_cases)
def test_no_target_takes_a_mutex_that_is_held(case: Case) -> None:
    """What starts or returns takes its mutexes alone: no other had them, or it did itself."""
    world = case.world()
    plan = decide(world, NOON)
    before = holders(case, world, plan)
    assert case.brakes is not None
    for mutex in case.brakes.mutexes:
        taking = [
            action.target
            for action in plan.actions
            if action.change.kind is not ChangeKind.REMOVE
            and is_in(mutex.scope, case, action.target)
        ]
        assert len(taking) <= 1
        for target in taking:
            assert before[mutex.name] <= {(target, case.brakes.partition)}


@given(shared_cases)
def test_a_wait_for_a_mutex_names_its_holder(case: Case) -> None:
    """The holder it names has it now, or takes it in this very plan."""
    world = case.world()
    plan = decide(world, NOON)
    before = holders(case, world, plan)
    acted = {action.target for action in plan.actions}
    for option in plan.options:
        for each in option.verdicts:
            if each.gate is Gate.MUTEX and each.outcome is not Outcome.PASS:
                name, holder = str(each.facts[0]), str(each.facts[1])
                assert holder in acted or holder in {target for target, _ in before[name]}
