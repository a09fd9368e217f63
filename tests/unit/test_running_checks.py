"""What a look at an environment is worth: shards on clusters, its files alone, or no answer."""

import pytest
from msgspec.structs import replace

from tidegate.kinds.promotions.core.journal.facts import Verified
from tidegate.kinds.promotions.core.journal.known import PromotionState
from tidegate.kinds.promotions.core.journal.record import verified_fact
from tidegate.kinds.promotions.core.verification import (
    DIFFERING_MAX,
    EnvironmentRuns,
    running_checks,
)
from tidegate.kinds.promotions.core.world import CheckedIn, RunningCheck

OLD, NEW = "a" * 40, "b" * 40
SEEN = EnvironmentRuns(environment="e", shards=2)
FILES = EnvironmentRuns(environment="e")
WRONG = EnvironmentRuns(environment="e", shards=2, differing=("x: it crashes",))
SILENT = EnvironmentRuns(environment="e", shards=2, unread=("y: one cannot be read",))
LOST = EnvironmentRuns(environment="e", shards=None, unread=("no registry",))
BOTH = EnvironmentRuns(
    environment="e", shards=2, differing=("x: it crashes",), unread=("y: one cannot be read",)
)
RUNS = RunningCheck(environment="e", version=NEW, matches=True)
DIFFERS = RunningCheck(environment="e", version=NEW, matches=False, differing=("x: it crashes",))
UNKNOWN = RunningCheck(
    environment="e", version=NEW, matches=False, differing=("y: one cannot be read",)
)
WRITTEN = RunningCheck(environment="e", version=NEW, matches=True, seen_in=CheckedIn.BUNDLE)
EARLIER = RunningCheck(environment="e", version=OLD, matches=True)


@pytest.mark.parametrize(
    "known, seen, expected",
    [
        (None, SEEN, RUNS),
        (None, WRONG, DIFFERS),
        (None, FILES, WRITTEN),
        # A cluster that does not answer is no success.
        (None, SILENT, UNKNOWN),
        (EARLIER, SILENT, UNKNOWN),
        (EARLIER, LOST, replace(UNKNOWN, differing=("no registry",))),
        (RUNS, LOST, None),
        (EARLIER, FILES, WRITTEN),
        # What was seen of a version is not taken back by a look that sees less.
        (RUNS, SILENT, None),
        (DIFFERS, SILENT, None),
        (RUNS, FILES, None),
        (DIFFERS, FILES, None),
        # What is seen to differ counts, whatever was seen before.
        (RUNS, WRONG, DIFFERS),
        (WRITTEN, SEEN, RUNS),
        (DIFFERS, SEEN, RUNS),
    ],
)
def test_a_look_that_sees_less_takes_nothing_back(
    known: RunningCheck | None, seen: EnvironmentRuns, expected: RunningCheck | None
) -> None:
    before = {} if known is None else {"e": known}
    assert running_checks(before, NEW, [seen]) == (() if expected is None else (expected,))


def test_shards_that_differ_are_named_first_and_not_all() -> None:
    (check,) = running_checks({}, NEW, [BOTH])
    assert check.differing == ("x: it crashes", "y: one cannot be read")
    many = tuple(f"{i}: no" for i in range(DIFFERING_MAX + 5))
    seen = EnvironmentRuns(environment="e", shards=99, differing=many)
    (check,) = running_checks({}, NEW, [seen])
    assert check.differing == (*many[:DIFFERING_MAX], "5 more")


def test_only_news_is_recorded_and_files_are_not_called_running() -> None:
    state = PromotionState(checks={"e": RUNS})
    assert verified_fact(state, NEW, [SEEN]) is None
    fact = verified_fact(state, NEW, [WRONG])
    assert isinstance(fact, Verified)
    assert fact.line() == f"e does not run {NEW[:7]}: x: it crashes"
    assert Verified(checks=(WRITTEN,)).line() == f"e has {NEW[:7]} in its files"
    assert Verified(checks=(RUNS,)).line() == f"e runs {NEW[:7]}"
