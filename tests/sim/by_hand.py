"""Small cases written by hand, for laws whose point one example makes clearer than a thousand."""

from typing import Any

from tests.sim.generator import NOW, Case
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.strategy import Strategy
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Instant


def case(strategy: Strategy, groups: dict[str, str], *reports: Target, **rest: Any) -> Case:
    """A case: `{"dev": "a b"}` is a first group called dev with two clusters."""
    memberships = tuple(
        Membership(name, index, tuple(clusters.split()))
        for index, (name, clusters) in enumerate(groups.items())
    )
    rest.setdefault("revision", "r2")
    return Case(strategy, memberships, reports, **rest)


def report(
    name: str, status: Status, revision: str | None = "r2", *, ago_s: float | None = 0
) -> Target:
    """What a cluster reports, and for how long it has; None: it does not say since when."""
    since = None if ago_s is None else Instant(NOW - int(ago_s * SECOND))
    return Target(name, status, since, revision, word="Odd" if status is Status.Unknown else "")


def decided(one: Case) -> tuple[RolloutWorld, RolloutPlan]:
    """The world of a case, and what is decided on it."""
    world = one.world()
    return world, decide(world, one.now)


def started(one: Case) -> list[str]:
    """The names of those who start."""
    world, plan = decided(one)
    return [world.targets[i].name for i in plan.started]


def actions(one: Case) -> list[str]:
    """Everything that is done, as `return a r1`."""
    _, plan = decided(one)
    return [
        f"{each.change.kind.value} {each.target} {each.change.revision or ''}".rstrip()
        for each in plan.actions
    ]


def reasons(one: Case, name: str) -> list[str]:
    """What the gates say of one target, in all its options."""
    world, plan = decided(one)
    names = [target.name for target in world.targets + world.departed]
    return [
        each.reason.value
        for option in plan.options
        if names[option.target] == name
        for each in option.verdicts
    ]
