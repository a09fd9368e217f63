"""A plan carried out to the letter: what targets report a moment later, and what is remembered."""

import msgspec

from tests.sim.generator import Case
from tidegate.kinds.rollouts.core.course import Course
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.remember import forgotten, remember
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind, Event
from tidegate.model.target import Status, Target


def act(case: Case, world: RolloutWorld, plan: RolloutPlan) -> Case:
    """The reading after everything the plan says was done at once and nothing else happened."""
    reports = {one.name: one for one in relabelled(case, plan)}
    for position in forgotten(world, plan):
        name = world.targets[position].name
        reports[name] = Target(name)
    for action in plan.actions:
        if action.change.kind is ChangeKind.REMOVE:
            del reports[action.target]
            continue
        revision = action.change.revision
        reports[action.target] = Target(action.target, Status.Progressing, case.now, revision)
    memory = remember(world, plan, "u2")
    return msgspec.structs.replace(case, statuses=tuple(reports.values()), rollout=memory)


def relabelled(case: Case, plan: RolloutPlan) -> tuple[Target, ...]:
    """Superseded: what was reported without a revision spoke of the one that was under way."""
    if Event.SUPERSEDED not in plan.events:
        return case.statuses
    old = case.rollout.revision
    return tuple(
        msgspec.structs.replace(one, revision=old) if one.revision is None else one
        for one in case.statuses
    )


def is_fresh(one: Target, course: Course) -> bool:
    """Whether a report speaks of the revision that goes out."""
    return course.vouched if one.revision is None else one.revision == course.revision
