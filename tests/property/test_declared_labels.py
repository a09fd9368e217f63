"""Labels become what is declared; what others wrote is never touched, and is never lost."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.upgrades.core.labels.label_edit import HolderChange, LabelHolder, with_edits
from tidegate.kinds.upgrades.core.labels.label_sync import (
    MARK,
    LabelledHolder,
    LabelSync,
    full_key,
    labelling,
    of_upgrades,
)

LABELS = ("soak-days", "schedule", "workloads", "sector", "mutexes")
some_labels = st.dictionaries(st.sampled_from(LABELS), st.sampled_from(("1", "2", "a,b")))
some_mark = st.none() | st.sets(st.sampled_from(LABELS)).map(lambda some: ",".join(sorted(some)))


def holder(name: str) -> LabelHolder:
    """The target of that name."""
    return LabelHolder("cluster", name, name)


fleets = st.dictionaries(st.sampled_from("abcdef"), st.tuples(some_labels, some_mark), max_size=6)
declared = st.dictionaries(
    st.sampled_from("abcdef"), some_labels.filter(lambda some: len(some) > 0), max_size=6
)
Fleet = Mapping[str, tuple[dict[str, str], str | None]]


def labelled(fleet: Fleet) -> list[LabelledHolder]:
    """The fleet as it was read."""
    return [LabelledHolder(holder(name), labels, mark) for name, (labels, mark) in fleet.items()]


def after(fleet: Fleet, changes: tuple[HolderChange, ...]) -> Fleet:
    """The fleet once all is written."""
    by_id = {each.holder.id: each.edits for each in changes}
    found: dict[str, tuple[dict[str, str], str | None]] = {}
    for name, (labels, mark) in fleet.items():
        whole = with_edits({**labels, **({MARK: mark} if mark is not None else {})},
                           by_id.get(name, ()))  # fmt: skip
        found[name] = whole, whole.pop(MARK, None)
    return found


@given(fleets, declared, st.booleans(), st.booleans())
def test_what_is_declared_is_there_and_what_is_anothers_stays(
    fleet: Fleet, wanted: Mapping[str, dict[str, str]], complete: bool, allowed: bool
) -> None:
    """Whatever may be taken away; and done once more, nothing is left to do."""
    done = labelling(labelled(fleet), wanted, complete=complete, allowed=allowed)
    then = after(fleet, done.changes)
    for name, (labels, _) in then.items():
        for label, value in wanted.get(name, {}).items():
            assert labels[label] == value
        before = LabelledHolder(holder(name), *fleet[name])
        theirs = before.labels.keys() - before.ours - wanted.get(name, {}).keys()
        assert {each: labels[each] for each in theirs} == {
            each: before.labels[each] for each in theirs
        }
    again = labelling(labelled(then), wanted, complete=complete, allowed=allowed)
    assert again.changes == ()
    assert again.kept == done.kept


@given(fleets, declared)
def test_what_is_not_declared_any_more_goes_if_it_is_ours(
    fleet: Fleet, wanted: Mapping[str, dict[str, str]]
) -> None:
    """All we wrote, on any target; and then nothing says that it is ours."""
    first = after(fleet, labelling(labelled(fleet), wanted, complete=True, allowed=True).changes)
    last = after(first, labelling(labelled(first), {}, complete=True, allowed=True).changes)
    for name, (labels, mark) in last.items():
        before = LabelledHolder(holder(name), *fleet[name])
        gone = before.ours | wanted.get(name, {}).keys()
        assert labels == {key: value for key, value in before.labels.items() if key not in gone}
        assert mark is None


@given(fleets, declared)
def test_nothing_is_taken_away_on_half_a_reading(
    fleet: Fleet, wanted: Mapping[str, dict[str, str]]
) -> None:
    """Not even what a person allows; and what is kept is still known to be ours."""
    done = labelling(labelled(fleet), wanted, complete=False, allowed=True)
    assert all(edit.after is not None for each in of_upgrades(done.changes) for edit in each.edits)
    then = {each.holder.id: each for each in labelled(after(fleet, done.changes))}
    assert all(set(labels) <= then[each.id].ours for each, labels in done.kept)


def plan(fleet: Fleet, wanted: Mapping[str, dict[str, str]], **more: bool) -> LabelSync:
    """What follows from a complete reading."""
    return labelling(labelled(fleet), wanted, **{"complete": True, **more})


def ten(mark: str) -> Fleet:
    """Ten clusters with a policy of ours."""
    return {f"c{i}": ({"soak-days": "1", "sector": "a"}, mark) for i in range(10)}


def test_one_of_ten_may_lose_its_labels_and_two_only_if_a_person_says_so() -> None:
    """A tenth at once; the others are set all the same."""
    everybody = {f"c{i}": {"soak-days": "1", "sector": "b"} for i in range(10)}
    one = {name: labels for name, labels in everybody.items() if name != "c0"}
    two = {name: labels for name, labels in one.items() if name != "c1"}
    assert plan(ten("sector,soak-days"), one).why == ""
    refused = plan(ten("sector,soak-days"), two)
    assert "2 of 10 at once; at most 1 without --allow-mass-delete" in refused.why
    assert [each.id for each, _ in refused.kept] == ["c0", "c1"]
    assert {each.holder.id for each in refused.changes} == two.keys()
    assert plan(ten("sector,soak-days"), two, allowed=True).kept == ()


def test_a_bundle_that_declares_nothing_takes_nothing_away() -> None:
    """Of one cluster, too: it is more likely that the wrong directory was named."""
    one = {"c": ({"soak-days": "1"}, "soak-days")}
    assert "nothing is declared any more" in plan(one, {}).why
    assert plan(one, {}, allowed=True).changes


def test_the_label_that_says_what_is_ours_is_written_last() -> None:
    """The schedule after all else of a policy, and our own after that."""
    wanted = {"c": {"schedule": "@daily", "soak-days": "1", "workloads": "w"}}
    (change,) = plan({"c": ({"mutexes": "m"}, None)}, wanted).changes
    assert [each.label for each in change.edits] == ["soak-days", "workloads", "schedule", MARK]
    assert change.edits[-1].after == "schedule,soak-days,workloads"
    assert plan({"c": ({"mutexes": "m"}, None)}, wanted).others == ((holder("c"), ("mutexes",)),)


@pytest.mark.parametrize(
    "label, key",
    [("sector", "sre-capabilities.aus.sector"), (MARK, "sre-capabilities.tidegate.declared")],
)
def test_our_own_label_is_none_of_upgrades(label: str, key: str) -> None:
    """So no cluster takes part in upgrades because of it."""
    assert full_key(label) == key
