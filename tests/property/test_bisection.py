"""Laws of the search for what broke a version: it halves, it ends, and it tries nothing refused."""

from collections.abc import Callable, Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.planted import assert_found
from tidegate.git.history import Commit
from tidegate.kinds.promotions.core.channels import bisection
from tidegate.kinds.promotions.core.channels.bisection import (
    Bisection,
    BisectTry,
    next_try,
    suspects_left,
    with_result,
    with_try,
)
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.model.time import Instant

BEGAN = Bisection(version="bad", target="stage", ref="main")
Next = Callable[[tuple[Commit, ...], Collection[str]], tuple[int, Commit] | None]


def history(number: int) -> tuple[Commit, ...]:
    """Commits, the newest first."""
    return tuple(
        Commit(
            sha=f"{number - at:040x}",
            author="Ada",
            email="ada@example.com",
            at=Instant(0),
            subject=f"step {number - at}",
            body="",
        )
        for at in range(number)
    )


def search(number: int, culprit: int, refused: Collection[str] = ()) -> Bisection:
    """All tries of a search, from facts alone; every commit from the culprit on fails."""
    commits, found = history(number), BEGAN
    for _ in range(number):
        step = bisection.next_try(suspects_left(commits, found.tries), refused)
        if step is None:
            return found
        version = step[1].sha
        assert version not in refused
        found = with_try(found, BisectTry(version=version, at=Instant(1), by="user:ada"))
        assert found.pending is not None
        good = int(version, 16) < culprit
        seen = DeploymentSeen(target="stage", version=version, at=Instant(2), good=good)
        found = with_result(found, seen)
    raise AssertionError(f"{number} tries did not end the search")


@given(st.data())
def test_a_search_ends_with_the_culprit_in_as_many_tries_as_halves(data: st.DataObject) -> None:
    """Of n suspects, the logarithm of n tries leave one, and it is the one."""
    number = data.draw(st.integers(1, 50))
    culprit = data.draw(st.integers(1, number))
    found = search(number, culprit)
    (left,) = suspects_left(history(number), found.tries)
    assert int(left.sha, 16) == culprit
    assert len(found.tries) <= (number - 1).bit_length()


@given(st.data())
def test_the_culprit_stays_among_the_suspects_and_nothing_refused_is_tried(
    data: st.DataObject,
) -> None:
    """However many versions are blocked: what is left has the culprit, and cannot be halved."""
    number = data.draw(st.integers(1, 20))
    culprit = data.draw(st.integers(1, number))
    shas = [each.sha for each in history(number)]
    refused = data.draw(st.frozensets(st.sampled_from(shas)))
    left = suspects_left(history(number), search(number, culprit, refused).tries)
    assert culprit in {int(each.sha, 16) for each in left}
    assert all(each.sha in refused for each in left[1:])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12))
def test_results_count_once_and_a_failure_is_never_taken_back(
    seen: list[tuple[str, bool]],
) -> None:
    """The same deployments again, in any number, change nothing; elsewhere they say nothing."""
    found = BEGAN
    for version in "ab":
        found = with_try(found, BisectTry(version=version, at=Instant(1), by="user:ada"))
    for version, good in seen:
        fact = DeploymentSeen(target="stage", version=version, at=Instant(2), good=good)
        found = with_result(found, fact)
    for each in found.tries:
        said = [good for version, good in seen if version == each.version]
        assert each.good == (all(said) if said else None)
    other = DeploymentSeen(target="production", version="a", at=Instant(3), good=False)
    assert with_result(found, other) == found


def oldest(left: tuple[Commit, ...], _: Collection[str]) -> tuple[int, Commit] | None:
    """The oldest, and not the middle."""
    return (len(left) - 1, left[-1]) if len(left) > 1 else None


def anything(left: tuple[Commit, ...], _: Collection[str]) -> tuple[int, Commit] | None:
    """The middle, whether it is refused or not."""
    return next_try(left, ())


@pytest.mark.parametrize(
    "fault, law",
    [
        (oldest, test_a_search_ends_with_the_culprit_in_as_many_tries_as_halves),
        (anything, test_the_culprit_stays_among_the_suspects_and_nothing_refused_is_tried),
    ],
)
def test_a_fault_is_found(
    fault: Next, law: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The laws see a search that does not halve, and one that tries what is refused."""
    monkeypatch.setattr(bisection, "next_try", fault)
    assert_found(law, monkeypatch)
