"""What a person has to do and what targets are counted as never disagree."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.app.tally import needs_of, target_counts
from tidegate.explain.view import Needs, PartitionView, TargetRow
from tidegate.model.time import Instant

STATES = ("Waiting", "Updating", "Soaking", "Done", "Failed", "No answer", "Ignored", "Pinned")
NAMES = ("a", "b", "c")


def view(summary: str, failures: tuple[str, ...], *states: str) -> PartitionView:
    """A partition of a target for each state."""
    rows = (TargetRow(name, state) for name, state in zip(NAMES, states, strict=False))
    return PartitionView(
        partition="simulated/demo",
        summary=summary,
        now=Instant(0),
        targets=tuple(rows),
        needs=Needs(failures=failures),
    )


@pytest.mark.parametrize(
    "summary, failures, states, said",
    [
        ("Failed", ("simulated/demo",), ("Failed", "No answer", "Done"), {"failures": 2}),
        ("Failed", ("simulated/demo",), ("Waiting",), {"failed rollouts": 1}),
        ("Aborted", ("simulated/demo",), ("Done", "Waiting"), {"aborted rollouts": 1}),
        (
            "Aborted",
            ("simulated/demo",),
            ("Failed", "Waiting"),
            {"failures": 1, "aborted rollouts": 1},
        ),
        ("Waiting", ("a", "b"), ("Waiting", "Waiting"), {"targets that cannot be changed": 2}),
        (
            "Failed",
            ("a", "b"),
            ("Failed", "Waiting"),
            {"failures": 1, "targets that cannot be changed": 1},
        ),
        ("Succeeded", (), ("Failed", "Done", "Done"), {}),
    ],
)
def test_what_is_required_has_the_name_of_what_is_counted(
    summary: str, failures: tuple[str, ...], states: tuple[str, ...], said: dict[str, int]
) -> None:
    assert Counter(what for what, _ in needs_of(view(summary, failures, *states))) == said


@given(
    st.sampled_from(("Waiting", "Progressing", "Succeeded", "Failed", "Aborted", "Paused")),
    st.sets(st.sampled_from((*NAMES, "simulated/demo"))),
    st.lists(st.sampled_from(STATES), min_size=3, max_size=3),
)
def test_no_more_failures_need_a_person_than_are_counted(
    summary: str, failures: set[str], states: list[str]
) -> None:
    """And each name that needs one is mentioned."""
    one = view(summary, tuple(sorted(failures)), *states)
    found = list(needs_of(one))
    required = sum(what == "failures" for what, _ in found)
    assert required <= target_counts(one, moves=True)["failed"]
    assert failures - {"simulated/demo"} <= {name for _, name in found}
    assert bool(failures) is bool(found)
