"""Law: a shared budget is never exceeded, whatever the order, and never left unused in silence."""

from collections import defaultdict

from hypothesis import given

from tests.property.brake_worlds import NOON, Case, cases, is_in, only, sure_labels, unsoaked
from tidegate.gates.budget import Budget, budget_claim
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.reason import Gate, Outcome

shared_cases = cases(only("budgets")).map(sure_labels)


def place_of(case: Case, budget: Budget, name: str) -> str | None:
    """What a target's place of a budget is called; None if it needs none."""
    if not is_in(budget.scope, case, name):
        return None
    value = case.labels.get(name, {}).get(budget.per) if budget.per else None
    return budget_claim(budget, value)


def limits_of(case: Case) -> dict[str, int]:
    """What each place name may have at most, counted one by one."""
    assert case.brakes is not None
    sizes: dict[str, int] = defaultdict(int)
    found: dict[str, int] = {}
    for budget in case.brakes.budgets:
        for name in case.labels:
            place = place_of(case, budget, name)
            if place is not None:
                sizes[place] += 1
                found[place] = budget.limit.of(sizes[place])
    return found


Users = dict[str, set[tuple[str, str]]]


def users_of(case: Case, world: RolloutWorld, plan: RolloutPlan) -> Users:
    """Who has a place of what before the plan, as (target, whose): claims, and our own targets."""
    assert case.brakes is not None
    users: Users = defaultdict(set)
    for claim in case.brakes.claims:
        users[claim.name].add((claim.target, claim.partition))
    claimed = {name: {target for target, _ in some} for name, some in users.items()}
    for budget in case.brakes.budgets:
        for target, state in zip(world.targets, plan.states, strict=True):
            place = place_of(case, budget, target.name)
            if place is None or not unsoaked(case, plan, target, state):
                continue
            # Where it is not said which claims are ours, those on our targets are.
            if case.brakes.partition or target.name not in claimed.get(place, ()):
                users[place].add((target.name, case.brakes.partition))
    return users


@given(shared_cases)
def test_no_plan_goes_over_a_budget(case: Case) -> None:
    """Changed and not yet soaked, plus whatever starts or returns: never over, unless it was."""
    world = case.world()
    plan = decide(world, NOON)
    before, limits = users_of(case, world, plan), limits_of(case)
    assert case.brakes is not None
    for budget in case.brakes.budgets:
        after: dict[str, set[str]] = defaultdict(set)
        for action in plan.actions:
            place = place_of(case, budget, action.target)
            if place is not None and action.change.kind is not ChangeKind.REMOVE:
                after[place].add(action.target)
        for place, names in after.items():
            mine = {(name, case.brakes.partition) for name in names}
            fresh = mine - before[place]
            assert not fresh or len(before[place] | mine) <= limits[place]


@given(shared_cases)
def test_every_start_says_which_places_to_claim(case: Case) -> None:
    """The plan names a free place for each that takes one; no place is given twice."""
    world = case.world()
    plan = decide(world, NOON)
    assert case.brakes is not None
    taken = [(claim.name, claim.place) for claim in (*case.brakes.claims, *plan.claims)]
    mine = [(claim.name, claim.place) for claim in plan.claims]
    assert all(taken.count(place) == 1 for place in mine)
    acted = {action.target for action in plan.actions}
    assert {claim.target for claim in plan.claims} <= acted


@given(shared_cases)
def test_a_budget_holds_only_where_it_is_spent(case: Case) -> None:
    """What waits for a budget waits for one that has no room left after this plan."""
    world = case.world()
    plan = decide(world, NOON)
    before, limits = users_of(case, world, plan), limits_of(case)
    started: dict[str, int] = defaultdict(int)
    for claim in plan.claims:
        started[claim.name] += 1
    assert case.brakes is not None
    for option in plan.options[: len(world.targets)]:
        name = world.targets[option.target].name
        shut = {v.facts[0] for v in option.verdicts if v.gate is Gate.SHARED_BUDGET and not _ok(v)}
        for budget in case.brakes.budgets:
            place = place_of(case, budget, name)
            if place is not None and any(str(label).split()[1] == budget.name for label in shut):
                assert len(before[place]) + started[place] >= limits[place]


def _ok(verdict: object) -> bool:
    return getattr(verdict, "outcome", None) is Outcome.PASS
