"""Laws of all brakes together: order-free, honest about time, total, shared, silent if absent."""

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.explained import rows
from tests.property.brake_worlds import HOUR, NOON, Case, at, brakes, cases
from tidegate.gates.brakes import Brakes
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.explain.tree import target_tree
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld, build_world
from tidegate.kinds.rollouts.wire.rollout_answer import answer_rollout
from tidegate.model.problem import Problems
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import Target
from tidegate.model.time import Instant
from tidegate.model.verdict import all_pass

braked_cases = cases(brakes)
instants = st.integers(-7 * 2, 7 * 2).map(lambda half: Instant(NOON + half * HOUR // 2))
_LISTS = ("holds", "freezes", "blocks", "pins", "budgets", "mutexes", "approvals", "health")


def answer(world: RolloutWorld, plan: RolloutPlan, now: Instant) -> bytes:
    return msgspec.json.encode(answer_rollout(None, world, plan, now))


@given(braked_cases, st.randoms(use_true_random=False))
def test_the_order_of_brakes_does_not_matter(case: Case, shuffle: random.Random) -> None:
    """Brakes, claims, exceptions, groups and reports in any order give one and the same answer."""
    assert case.brakes is not None
    mixed: dict[str, tuple[object, ...]] = {}
    for field in (*_LISTS, "claims"):
        items = list(getattr(case.brakes, field))
        shuffle.shuffle(items)
        mixed[field] = tuple(items)
    other = msgspec.structs.replace(case.brakes, **mixed)
    labels = dict(sorted(case.labels.items(), reverse=True))
    statuses = case.statuses[::-1]
    one, two = case.world(), case.world(brakes=other, labels=labels, statuses=statuses)
    assert answer(one, decide(one, NOON), NOON) == answer(two, decide(two, NOON), NOON)


def stand(plan: RolloutPlan) -> list[object]:
    """What counts as the same plan: gates, outcomes, reasons and moments, and what is done."""
    said = [
        [(v.gate, v.outcome, v.reason, v.until) for v in option.verdicts] for option in plan.options
    ]
    return [said, plan.actions, plan.events, plan.summary]


@given(braked_cases, instants, st.lists(st.integers(1, 999), max_size=3))
def test_before_it_says_to_look_again_nothing_changes(
    case: Case, now: Instant, parts: list[int]
) -> None:
    """Between now and `recheck_at`, deciding again decides the same."""
    world = case.world()
    plan = decide(world, now)
    end = plan.recheck_at if plan.recheck_at is not None else at(48)
    assert end > now
    for moment in (*(now + (end - now) * part // 1000 for part in parts), end - 1):
        assert stand(decide(world, Instant(moment))) == stand(plan)


@given(braked_cases, instants)
def test_every_verdict_can_be_reported(case: Case, now: Instant) -> None:
    """Whatever is held is held with words; a target acts if and only if all its gates pass."""
    world = case.world()
    plan = decide(world, now)
    answer(world, plan, now)
    assert len(rows(world, plan, now)) == len(world.targets)
    for i in range(len(world.targets) + len(world.departed)):
        assert target_tree(world, plan, i, now)
    for option in plan.options:
        assert option.verdicts
        for each in option.verdicts:
            assert each.until is None or each.until > now
            assert each.outcome is Outcome.PASS or each.reason.entry.opens or not each.until
    go = [option.target for option in plan.options if all_pass(option.verdicts)]
    names = world.targets + world.departed
    assert sorted(names[i].name for i in go) == sorted(action.target for action in plan.actions)


@given(cases(st.just(None)))
def test_no_brakes_and_empty_brakes_are_the_same(case: Case) -> None:
    """Brakes that are not there say nothing, change nothing and are not mentioned."""
    none, empty = case.world(), case.world(brakes=Brakes(kind=KindOfChange.POLICIES))
    plan = decide(none, NOON)
    assert answer(none, plan, NOON) == answer(empty, decide(empty, NOON), NOON)
    gates = {each.gate for option in plan.options for each in option.verdicts}
    assert not gates & {Gate.HOLD, Gate.FREEZE, Gate.BLOCK, Gate.PIN, Gate.HEALTH}


@given(brakes)
def test_targets_alike_share_their_verdicts(drawn: Brakes) -> None:
    """1,200 targets with three sets of labels hear a few dozen different things, not 1,200."""
    names = [f"t{i:04}" for i in range(1200)]
    where: list[dict[str, str]] = [{"region": "eu"}, {"region": "us"}, {}]
    world = build_world(
        Strategy(StrategyType.ALL, max_failures=None),
        [Membership("all", 0, tuple(names))],
        [Target(name) for name in names[:0]],
        problems=Problems(),
        labels={name: where[i % 3] for i, name in enumerate(names)},
        revision="r2",
        brakes=drawn,
    )
    options = decide(world, NOON).options
    assert len({id(option.verdicts) for option in options}) <= 3 * 8
    assert len({id(each) for option in options for each in option.verdicts}) <= 3 * 24
