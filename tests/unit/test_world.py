"""A reading in canonical order: who belongs to which group, in which order, and what is odd."""

import pytest

from tidegate.kinds.rollouts.core.strategy import GroupRef, Strategy, StrategyType
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld, build_world
from tidegate.model.problem import Problems
from tidegate.model.target import Status, Target

PER_GROUP = Strategy(StrategyType.PROGRESSIVE_PER_GROUP)
PROGRESSIVE = Strategy(StrategyType.PROGRESSIVE)


def built(
    *memberships: Membership,
    strategy: Strategy = PER_GROUP,
    statuses: tuple[Target, ...] = (),
    complete: bool = True,
) -> tuple[RolloutWorld, Problems]:
    """A world and the problems of its reading."""
    problems = Problems()
    world = build_world(strategy, memberships, statuses, problems=problems, complete=complete)
    return world, problems


def drawn(world: RolloutWorld) -> list[str]:
    """One text a group: its label, whether it is mandatory or incomplete, and its members."""
    return [
        f"{group.label}{'!' if group.mandatory else ''}{'' if group.complete else '?'}: "
        + " ".join(target.name for target in world.targets[group.first : group.last])
        for group in world.groups
    ]


def phases(world: RolloutWorld) -> list[str]:
    """One text a phase: who moves together, in the order in which they go."""
    return [" ".join(world.targets[i].name for i in phase.order) for phase in world.phases]


def test_groups_go_by_index_and_members_by_name() -> None:
    """Whatever order they come in; indexes may have gaps."""
    world, problems = built(Membership("prod", 7, ("d", "c")), Membership("dev", 0, ("b", "a")))
    assert drawn(world) == ["dev: a b", "prod: c d"]
    assert (problems.errors, problems.warnings) == ([], [])


def test_placements_go_by_name_and_the_ungrouped_of_each_last() -> None:
    """East before west; in each, named groups by index, then those without a name."""
    world, _ = built(
        Membership("dev", 0, ("a",), "west"),
        Membership("", 0, ("b",), "east"),
        Membership("dev", 1, ("c",), "east"),
    )
    assert drawn(world) == ["east/dev: c", "east/group 0: b", "west/dev: a"]


def test_a_cluster_in_two_groups_belongs_to_the_first() -> None:
    """And the reading says so."""
    world, problems = built(Membership("dev", 0, ("a",)), Membership("prod", 1, ("a", "b")))
    assert drawn(world) == ["dev: a", "prod: b"]
    assert [each.path for each in problems.warnings] == ["groups"]


def test_parts_of_one_group_are_joined() -> None:
    """Placements write large groups in parts."""
    world, problems = built(Membership("dev", 0, ("b",)), Membership("dev", 0, ("a",)))
    assert drawn(world) == ["dev: a b"]
    assert problems.warnings == []


def test_two_statuses_of_one_cluster_are_an_error() -> None:
    """There is no telling which is true."""
    twice = (Target("a", Status.Failed), Target("a", Status.Succeeded))
    _, problems = built(Membership("dev", 0, ("a",)), statuses=twice)
    assert [each.path for each in problems.errors] == ["statuses"]


@pytest.mark.parametrize("ref", [GroupRef("prod"), GroupRef(index=1)])
def test_a_mandatory_group_goes_first(ref: GroupRef) -> None:
    """By name or by index, alone and before the rest."""
    strategy = Strategy(StrategyType.PROGRESSIVE, mandatory=(ref,))
    groups = (Membership("dev", 0, ("a",)), Membership("prod", 1, ("b",)))
    world, _ = built(*groups, Membership("lab", 2, ("c",)), strategy=strategy)
    assert drawn(world) == ["dev: a", "prod!: b", "lab: c"]
    assert phases(world) == ["b", "a c"]


def test_a_mandatory_group_that_is_not_there_is_a_warning() -> None:
    """With the name that was probably meant."""
    strategy = Strategy(StrategyType.PROGRESSIVE, mandatory=(GroupRef("prd"),))
    _, problems = built(Membership("prod", 0, ("a",)), strategy=strategy)
    assert [each.remedy for each in problems.warnings] == ['did you mean "prod"?']


@pytest.mark.parametrize(
    "complete, count, seen_whole",
    [
        (True, None, True),
        (False, None, False),
        (False, 1, True),
        (True, 2, False),
        (True, 0, False),
    ],
)
def test_a_group_is_seen_whole_if_its_size_is_known_to_match(
    complete: bool, count: int | None, seen_whole: bool
) -> None:
    """Its own count decides; without one, whether the reading is complete."""
    world, _ = built(Membership("dev", 0, ("a",), count=count), complete=complete)
    assert world.groups[0].complete is seen_whole


def test_on_an_incomplete_reading_a_gap_may_hide_a_group() -> None:
    """Group 1 may only not be written yet: group 2 is not known to be next."""
    groups = (Membership("dev", 0, ("a",), count=1), Membership("prod", 2, ("b",), count=1))
    assert drawn(built(*groups, complete=False)[0]) == ["dev: a", "prod?: b"]
    assert drawn(built(*groups)[0]) == ["dev: a", "prod: b"]


def test_what_is_heard_of_and_in_no_group_has_departed() -> None:
    """By name, whatever it reports."""
    statuses = (Target("z"), Target("b", Status.Failed), Target("a"))
    world, _ = built(Membership("dev", 0, ("a",)), statuses=statuses)
    assert [target.name for target in world.departed] == ["b", "z"]
