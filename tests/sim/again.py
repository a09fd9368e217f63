"""What must be true of two decisions: later, shuffled, or after acting on the first.

times_are_honest      nothing changes before recheck_at; where there is none, nothing ever does
waits_say_until       what waits without a moment is still waiting when others' moments come
acting_settles        a plan that was carried out leaves nothing to do at the same instant
order_means_nothing   the answer depends on the set of inputs, down to its words
"""

import random
from typing import Any

import msgspec

from tests.sim.acting import act
from tests.sim.generator import Case
from tests.sim.invariants import broken
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld
from tidegate.kinds.rollouts.wire.rollout_answer import answer_rollout
from tidegate.model.plan import Event
from tidegate.model.problem import Problems
from tidegate.model.reason import Outcome
from tidegate.model.target import State
from tidegate.model.time import SECOND, Instant
from tidegate.model.verdict import all_pass

TEN_YEARS = 10 * 365 * 86400 * SECOND


def gist(plan: RolloutPlan) -> tuple[Any, ...]:
    """What a decision results in, without its numbers and moments."""
    says = [
        (option.target, option.change, [(each.outcome, each.reason) for each in option.verdicts])
        for option in plan.options
    ]
    return plan.course, plan.started, plan.states, plan.summary, plan.breached, says


def times_are_honest(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Time alone changes nothing before the moment at which the plan says to look again."""
    at = plan.recheck_at
    if at is not None and at <= now:
        raise broken("the moment to look again is past", world, now, plan)
    moments = {now + TEN_YEARS} if at is None else {at - 1, (now + at) // 2} - {now}
    for moment in moments:
        later = decide(world, Instant(moment))
        if gist(later) != gist(plan):
            text = f"something changes at +{moment - now} ns by time alone"
            raise broken(
                f"{broken(text, world, Instant(moment), later)}\nand now", world, now, plan
            )


def waits_say_until(world: RolloutWorld, now: Instant, plan: RolloutPlan) -> None:
    """Where time alone opens an option, every wait that kept it shut has said when."""
    if plan.recheck_at is None:
        return
    later = decide(world, plan.recheck_at)
    if later.course != plan.course:
        return  # another revision goes out: other gates speak
    open_then = {(o.target, o.change) for o in later.options if all_pass(o.verdicts)}
    for option in plan.options:
        if (option.target, option.change) not in open_then:
            continue
        for each in option.verdicts:
            if each.outcome is Outcome.WAIT and each.until is None:
                text = f"{each.reason.value} ends at recheck, and says no moment"
                raise broken(text, world, now, plan)


def acting_settles(case: Case, world: RolloutWorld, plan: RolloutPlan) -> None:
    """Once a plan is carried out, deciding again at the same instant does nothing new."""
    after = act(case, world, plan)
    again = after.world()
    second = decide(again, case.now)
    shown = f"then again: {broken('', again, case.now, second)}\nfirst"
    if second.course != plan.course and _only_ignored_were_left(world, plan):
        return  # with the last of them under way the revision is out, and the next one's turn comes
    if second.started or second.actions:
        raise broken(f"there is more to do a moment later\n{shown}", world, case.now, plan)
    if set(second.events) - {Event.COMPLETED} or (
        Event.COMPLETED in second.events and Event.COMPLETED in plan.events
    ):
        raise broken(f"an event comes twice\n{shown}", world, case.now, plan)
    touched = {action.target for action in plan.actions}
    for target, state, then in zip(world.targets, plan.states, second.states, strict=True):
        left_alone = target.name not in touched and not target.ignored
        if left_alone and state is not then:
            text = f"{target.name} was left alone, and is {then.name} all the same\n{shown}"
            raise broken(text, world, case.now, plan)


def _only_ignored_were_left(world: RolloutWorld, plan: RolloutPlan) -> bool:
    counted = [
        state for one, state in zip(world.targets, plan.states, strict=True) if not one.ignored
    ]
    return all(state is State.DONE for state in counted)


def order_means_nothing(case: Case, seed: int = 0) -> None:
    """The answer depends on the set of inputs, not on the order they come in."""
    other = shuffled(case, random.Random(seed))
    first, second = answer(case), answer(other)
    if first != second:
        world = case.world()
        text = f"shuffled to {other!r}\n{first!r}\n{second!r}"
        raise broken(
            f"another order, another answer\n{text}", world, case.now, decide(world, case.now)
        )


def answer(case: Case) -> bytes:
    """The whole answer to a case as JSON, warnings included."""
    problems = Problems()
    world = case.world(problems)
    plan = decide(world, case.now)
    found = answer_rollout("x", world, plan, case.now, tuple(problems.warnings))
    return msgspec.json.encode(found)


def shuffled(case: Case, rng: random.Random) -> Case:
    """The same reading in another order."""
    memberships = [
        Membership(one.name, one.index, tuple(_mixed(one.clusters, rng)), one.placement, one.count)
        for one in case.memberships
    ]
    labels = {
        name: dict(_mixed(case.labels[name].items(), rng)) for name in _mixed(case.labels, rng)
    }
    return msgspec.structs.replace(
        case,
        memberships=tuple(_mixed(memberships, rng)),
        statuses=tuple(_mixed(case.statuses, rng)),
        labels=labels,
    )


def _mixed(items: Any, rng: random.Random) -> list[Any]:
    mixed = list(items)
    rng.shuffle(mixed)
    return mixed
