"""Decision groups are concluded from whole sets only, and clusters keep their place."""

import pytest
from msgspec.structs import replace

from tidegate.kinds.policies.core.groups import (
    DecisionPart,
    PlacementState,
    StatedGroup,
    read_groups,
    steady,
    with_offline,
)
from tidegate.kinds.policies.core.memory import grouped
from tidegate.kinds.rollouts.core.world import Membership

DEV = DecisionPart("fleet-decision-1", "dev", 0, ("a", "b"))
PROD = DecisionPart("fleet-decision-2", "prod", 1, ("c",))
WHOLE = PlacementState(
    "fleet",
    (
        StatedGroup(0, "dev", ("fleet-decision-1",), 2),
        StatedGroup(1, "prod", ("fleet-decision-2",), 1),
    ),
    3,
    (DEV, PROD),
)


def test_a_whole_set_is_read() -> None:
    """With the sizes that are stated."""
    reading = read_groups(WHOLE, "")
    assert reading.complete
    assert reading.groups == (
        Membership("dev", 0, ("a", "b"), "", 2),
        Membership("prod", 1, ("c",), "", 1),
    )


@pytest.mark.parametrize(
    "state, gap",
    [
        (replace(WHOLE, stated=None), "not written its status"),
        (replace(WHOLE, selected=None), "not written its status"),
        (replace(WHOLE, parts=(DEV,)), "group 1 prod has 0 of 1"),
        (replace(WHOLE, parts=(replace(DEV, clusters=("a",)), PROD)), "group 0 dev has 1 of 2"),
        (replace(WHOLE, parts=(DEV, replace(PROD, clusters=("b",)))), "b is in two decisions"),
        (replace(WHOLE, parts=(replace(DEV, group="stage"), PROD)), "group 0 dev has 2 of 2"),
        (replace(WHOLE, parts=(DEV, PROD, replace(PROD, name="x", clusters=()))), "x is in no"),
        (replace(WHOLE, parts=(DEV, replace(PROD, index=None))), "has no decision-group-index"),
        (replace(WHOLE, selected=4), "3 clusters in decisions, 4 selected"),
    ],
)
def test_a_half_written_set_is_recognised(state: PlacementState, gap: str) -> None:
    """Whatever part of it is missing or of another moment."""
    reading = read_groups(state, "")
    assert not reading.complete
    assert any(gap in each for each in reading.gaps)


def test_a_half_written_set_changes_no_membership() -> None:
    """What was known stands; the first reading of all is given as it is, and is incomplete."""
    before, half = (Membership("dev", 0, ("a", "b")),), (Membership("dev", 0, ("a",), "", 2),)
    assert grouped(before, half, complete=False, offline=(), stable=True) == before
    assert grouped((), half, complete=False, offline=(), stable=True) == half


def test_a_cluster_out_of_reach_keeps_its_place() -> None:
    """One that left does not; nor is one kept twice that is in another group by now."""
    before = (Membership("dev", 0, ("a", "b")), Membership("prod", 1, ("c", "d")))
    now = (Membership("dev", 0, ("a", "d")),)
    assert with_offline(before, now, {"b", "c", "d"}) == (
        Membership("dev", 0, ("a", "d", "b")),
        Membership("prod", 1, ("c",)),
    )
    assert with_offline(before, now, set()) == now


def test_stable_groups_move_no_cluster_that_keeps_its_name() -> None:
    """The scheduler cuts `b c | d e` with a newcomer as `a b | c d | e`."""
    before = (Membership("", 0, ("b", "c")), Membership("", 1, ("d", "e")))
    cut = (
        Membership("", 0, ("a", "b")),
        Membership("", 1, ("c", "d")),
        Membership("", 2, ("e",)),
    )
    assert [each.clusters for each in steady(before, cut)] == [("b", "c"), ("d", "e"), ("a",)]
    assert [each.clusters for each in grouped(before, cut, complete=True, offline=(), stable=False)]
    moved = grouped(before, cut, complete=True, offline=(), stable=False)
    assert [each.clusters for each in moved] == [("a", "b"), ("c", "d"), ("e",)]


def test_stable_groups_follow_a_cluster_to_another_name() -> None:
    """Its labels say where it belongs."""
    before = (Membership("dev", 0, ("a", "b")), Membership("prod", 1, ("c",)))
    now = (Membership("dev", 0, ("a",)), Membership("prod", 1, ("b", "c")))
    assert steady(before, now) == (
        Membership("dev", 0, ("a",), "", 1),
        Membership("prod", 1, ("b", "c"), "", 2),
    )


def test_stable_groups_take_another_order_only_where_they_may() -> None:
    """Parts of one name stay together and as they were; clusters in no named group go last."""
    before = (
        Membership("dev", 0, ("a",)),
        Membership("prod", 1, ("b",)),
        Membership("prod", 2, ("c",)),
        Membership("", 3, ("d",)),
    )
    turned = (
        Membership("prod", 0, ("b",)),
        Membership("prod", 1, ("c",)),
        Membership("dev", 2, ("a",)),
        Membership("", 3, ("d",)),
    )
    as_it_was = steady(before, turned)
    assert [each.clusters for each in as_it_was] == [("a",), ("b",), ("c",), ("d",)]
    assert [each.clusters for each in steady(before, turned, reorder=True)] == [
        each.clusters for each in turned
    ]
