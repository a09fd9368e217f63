"""Law: the stable grouping moves nothing whose own labels did not change."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.policies.core.placement import (
    DeclaredGroup,
    Placement,
    PlacementCluster,
    PlacementGroup,
    chunk_size,
    scheduler_groups,
    stable_groups,
)
from tidegate.model.limit import Limit
from tidegate.model.selector import Operator, Requirement, Selector

ENVS = ("dev", "stage", "prod")
WHERE = dict[str, tuple[str, int]]


def declared(env: str) -> DeclaredGroup:
    requirement = Requirement("env", Operator.IN, frozenset((env,)))
    return DeclaredGroup(env, Selector((requirement,)))


limits = st.builds(Limit, st.integers(1, 6)) | st.builds(
    Limit, st.integers(1, 100), percent=st.just(True)
)
placements = st.builds(
    Placement,
    st.just("fleet"),
    st.lists(st.sampled_from(ENVS), unique=True).map(lambda envs: tuple(map(declared, envs))),
    limits,
    st.none() | st.integers(0, 12),
)
labels = st.sampled_from(({}, *({"env": env} for env in ENVS)))
names = st.integers(0, 30).map("c{:02}".format)
fleets = st.dictionaries(names, labels, max_size=20)
# What happened before: the fleet as it was seen, time after time.
histories = st.lists(fleets, max_size=4)
Fleet = dict[str, dict[str, str]]


def clusters(fleet: Fleet) -> list[PlacementCluster]:
    return [PlacementCluster(name, its) for name, its in fleet.items()]


def lived(placement: Placement, history: list[Fleet]) -> list[PlacementGroup]:
    """The groups after all that happened; none if nothing did."""
    groups: list[PlacementGroup] = []
    for fleet in history:
        groups = stable_groups(placement, clusters(fleet), groups)
    return groups


def where(groups: Iterable[PlacementGroup]) -> WHERE:
    return {name: (group.name, group.index) for group in groups for name in group.clusters}


def kept(before: WHERE, after: WHERE) -> bool:
    return all(after[name] == place for name, place in before.items() if name in after)


@given(placements, histories, fleets, fleets)
def test_who_joins_moves_nothing(
    placement: Placement, history: list[Fleet], fleet: Fleet, joining: Fleet
) -> None:
    """A cluster that joins changes no other's group, and pushes nothing out."""
    before = stable_groups(placement, clusters(fleet), lived(placement, history))
    after = stable_groups(placement, clusters(joining | fleet), before)
    assert where(after) | where(before) == where(after)


@given(placements, histories, fleets, st.sets(names))
def test_who_leaves_moves_nothing(
    placement: Placement, history: list[Fleet], fleet: Fleet, leaving: set[str]
) -> None:
    """A cluster that leaves changes no other's group, not even the last one of its name."""
    before = stable_groups(placement, clusters(fleet), lived(placement, history))
    staying = {name: its for name, its in fleet.items() if name not in leaving}
    after = stable_groups(placement, clusters(staying), before)
    assert kept(where(before), where(after))
    assert where(before).keys() - leaving <= where(after).keys()


@given(placements, histories, fleets, names, labels)
def test_who_changes_labels_moves_alone(
    placement: Placement, history: list[Fleet], fleet: Fleet, name: str, its: dict[str, str]
) -> None:
    """A cluster that now belongs to another name goes there, and takes nothing along."""
    before = stable_groups(placement, clusters(fleet), lived(placement, history))
    after = where(stable_groups(placement, clusters(fleet | {name: its}), before))
    others = {other: place for other, place in where(before).items() if other != name}
    assert kept(others, after)
    if name in after:
        known = {each.name for each in placement.declared}
        wanted = its.get("env", "")
        assert after[name][0] == (wanted if wanted in known else "")


@given(placements, st.lists(fleets, min_size=1, max_size=4))
def test_joins_never_overfill_a_group(placement: Placement, joins: list[Fleet]) -> None:
    """However many join, and however often, no group grows beyond its limit."""
    fleet: Fleet = {}
    groups: list[PlacementGroup] = []
    for joining in joins:
        fleet = joining | fleet
        groups = stable_groups(placement, clusters(fleet), groups)
        limit = chunk_size(placement.per_group, len(where(groups)))
        assert all(len(group.clusters) <= limit for group in groups)


@given(placements, histories, fleets)
def test_a_full_group_takes_nothing(
    placement: Placement, history: list[Fleet], fleet: Fleet
) -> None:
    """A group that got someone new is within its limit, even after the limit shrank."""
    before = lived(placement, history)
    after = stable_groups(placement, clusters(fleet), before)
    limit = chunk_size(placement.per_group, len(where(after)))
    for group in after:
        old = before[group.index].clusters if group.index < len(before) else ()
        assert len(group.clusters) <= limit or set(group.clusters) <= set(old)


@given(placements, histories, fleets)
def test_every_selected_cluster_has_one_place(
    placement: Placement, history: list[Fleet], fleet: Fleet
) -> None:
    """Nothing is lost, nothing stands twice, and no more are taken than the placement asks for."""
    groups = stable_groups(placement, clusters(fleet), lived(placement, history))
    placed = [name for group in groups for name in group.clusters]
    assert len(placed) == len(set(placed)) == len(list(fleet)[: placement.clusters_max])
    assert set(placed) <= fleet.keys()


@given(placements, histories, fleets)
def test_the_order_of_what_is_read_does_not_matter(
    placement: Placement, history: list[Fleet], fleet: Fleet
) -> None:
    """Clusters and previous groups are sets: read in another order, they give the same groups."""
    previous = lived(placement, history)
    expected = stable_groups(placement, clusters(fleet), previous)
    turned = [
        PlacementGroup(group.name, group.index, group.clusters[::-1]) for group in previous[::-1]
    ]
    assert stable_groups(placement, clusters(fleet)[::-1], turned) == expected


@given(placements, fleets)
def test_without_a_past_it_is_the_scheduler_with_room_for_every_name(
    placement: Placement, fleet: Fleet
) -> None:
    """Asked for the first time, the groups with someone in them are those of the scheduler."""
    stable = [g for g in stable_groups(placement, clusters(fleet)) if g.clusters]
    scheduler = [g for g in scheduler_groups(placement, clusters(fleet)) if g.clusters]
    assert [(g.name, g.clusters) for g in stable] == [(g.name, g.clusters) for g in scheduler]


@given(placements, histories, fleets)
def test_indexes_are_dense_and_every_declared_name_has_a_group(
    placement: Placement, history: list[Fleet], fleet: Fleet
) -> None:
    """Groups are numbered without gaps, and a declared name has one even while it is empty."""
    groups = stable_groups(placement, clusters(fleet), lived(placement, history))
    assert [group.index for group in groups] == list(range(len(groups)))
    assert {each.name for each in placement.declared} <= {group.name for group in groups}
    assert groups


@given(placements, histories, placements)
def test_a_name_no_longer_declared_stays_only_to_hold_places(
    placement: Placement, history: list[Fleet], later: Placement
) -> None:
    """The last group is in use or is the only one of its name: nothing idle hangs on at the end."""
    fleet = history[-1] if history else {}
    groups = stable_groups(later, clusters(fleet), lived(placement, history))
    last = groups[-1]
    known = {each.name for each in later.declared}
    alone = [group.name for group in groups].count(last.name) == 1
    assert last.clusters or (last.name in known and alone) or len(groups) == 1


@given(placements, histories, fleets)
def test_asking_again_changes_nothing(
    placement: Placement, history: list[Fleet], fleet: Fleet
) -> None:
    """Given its own answer as the past, the grouping gives it again."""
    groups = stable_groups(placement, clusters(fleet), lived(placement, history))
    assert stable_groups(placement, clusters(fleet), groups) == groups
