"""compat's smallest rules, value by value: limits, deadlines, one status, rechecks, group keys."""

import pytest

from tidegate.kinds.rollouts.core.compat.limits import parse_deadline, size
from tidegate.kinds.rollouts.core.compat.rules import (
    ClusterStatus,
    CompatGroup,
    CompatResult,
    CompatStrategy,
    CompatWorld,
    GroupKey,
    decide,
)
from tidegate.model.time import DURATION_MAX, SECOND, Duration, Instant

NOW = Instant(1_640_995_200 * SECOND)
MINUTE = 60 * SECOND
MAX_TEXT = "2562047h47m16.854775807s"


@pytest.mark.parametrize(
    "limit, allowed",
    [
        (50, 50),
        ("30%", 30),
        ("7%", 8),
        ("55%", 56),
        ("10%", 10),
        ("2.5%", 3),
        ("1e1%", 10),
        ("+5%", 5),
        (".5%", 1),
        ("5.%", 5),
        ("1_0%", 10),
        ("0x1p4%", 16),
        ("0x.8_0p5%", 16),
        ("1e-400%", 100),
        (1, 1),
        (100, 100),
        ("100%", 100),
        (0, 100),
        (-1, 100),
        (101, 100),
        ("0%", 100),
        ("-7%", 100),
        ("200%", 100),
        ("100.1%", 100),
        ("inf%", 100),
        ("-Infinity%", 100),
        ("NaN%", 100),
    ],
)
def test_a_limit_between_one_and_the_total_counts(limit: int | str, allowed: int) -> None:
    """Of 100, a limit is what Go's doubles make of it; outside 1 to 100 it is the default, 100."""
    assert size(limit, 100, 100) == allowed


@pytest.mark.parametrize(
    "total, percent, allowed", [(50, 14, 8), (25, 28, 8), (25, 56, 15), (100, 7, 8), (3, 1, 1)]
)
def test_a_percentage_is_rounded_up_in_doubles(total: int, percent: int, allowed: int) -> None:
    """Where a double lies just above a whole number, the next one is taken."""
    assert size(f"{percent}%", total, 0) == allowed


@pytest.mark.parametrize("limit", [1, 5, "1%", "100%", 0])
def test_of_no_targets_the_default_is_allowed(limit: int | str) -> None:
    """No limit fits a total of 0."""
    assert size(limit, 0, 7) == 7


@pytest.mark.parametrize(
    "limit",
    [
        "invalid",
        "3",
        "",
        "%",
        "abc%",
        "5 %",
        " 5%",
        "50%%",
        "5%0%",
        ".%",
        "1_%",
        "_1%",
        "1__0%",
        "0x10%",
        "0b1%",
        "1e400%",
        "0x1p99999%",
        "+nan%",
        "\u0665%",
        "5%\n",
        "e1%",
        "0x.p1%",
    ],
)
def test_what_is_no_percentage_in_go_is_refused(limit: str) -> None:
    """A limit in quotes needs a Go number and then a percent sign, and nothing else."""
    with pytest.raises(ValueError, match=r"percentage|number"):
        size(limit, 100, 100)


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("2h", 7200),
        ("30m", 1800),
        ("10s", 10),
        ("90s", 90),
        ("1h30m", 5400),
        ("1h1.5h", 9000),
        ("10ms", 0.01),
        ("00005m", 300),
        ("0s", 0),
    ],
)
def test_a_deadline_is_a_duration(text: str, seconds: float) -> None:
    """Digits and h, m or s in front, and a duration as a whole."""
    assert parse_deadline(text) == seconds * SECOND


@pytest.mark.parametrize("text", ["", "None", MAX_TEXT])
def test_no_deadline_can_be_said_in_three_ways(text: str) -> None:
    """Empty, None, and the longest duration there is mean that nothing times out."""
    assert parse_deadline(text) == DURATION_MAX


@pytest.mark.parametrize(
    "text",
    [
        "2d",
        "0",
        "2d0s",
        "10g",
        "1.5h",
        "-5m",
        "abc",
        "None\n",
        " 5m",
        ".5h",
        "none",
        "90sfoo",
        "5|",
        "5m-",
        "xNone",
        "9None",
        "5m\n",
        "5m5",
        "5m.",
        "99999999h",
        "2562047h47m16.854775808s",
    ],
)
def test_what_is_no_deadline_is_refused(text: str) -> None:
    """Refused by its look, or, where the misgrouped look lets it pass, as a duration."""
    with pytest.raises(ValueError, match="progressDeadline"):
        parse_deadline(text)


def ask(
    statuses: list[ClusterStatus],
    strategy: CompatStrategy,
    groups: tuple[CompatGroup, ...] = (CompatGroup(GroupKey(), ("c1", "c2", "c3")),),
) -> CompatResult:
    return decide(CompatWorld(groups, statuses, strategy), NOW)


def one(status: str, ago: int | None = None, cluster: str = "c1") -> ClusterStatus:
    return ClusterStatus(cluster, status, None if ago is None else Instant(NOW - ago * SECOND))


ALONE = (CompatGroup(GroupKey(), ("c1",)),)
ROLL, OUT, NOTHING = "roll", "timed out", "nothing"


@pytest.mark.parametrize(
    "status, ago, soak, deadline, place, recheck_in",
    [
        ("ToApply", None, 0, "60s", ROLL, None),
        ("Skip", None, 0, "60s", NOTHING, None),
        ("Succeeded", None, 0, "60s", NOTHING, None),
        ("Succeeded", None, 60, "60s", ROLL, 60),
        ("Succeeded", 120, 60, "60s", NOTHING, None),
        ("Succeeded", 60, 60, "60s", NOTHING, None),
        ("Succeeded", 59, 60, "60s", ROLL, 1),
        ("TimeOut", 0, 0, "60s", NOTHING, None),
        ("Progressing", 30, 0, "60s", ROLL, 30),
        ("Progressing", 30, 0, "None", ROLL, None),
        ("Progressing", None, 0, "60s", ROLL, 60),
        ("Progressing", None, 0, "0s", OUT, 0),
        ("Failed", 60, 0, "60s", OUT, 0),
        ("Failed", 59, 0, "60s", ROLL, 1),
        ("Unknown(8)", 60, 0, "60s", OUT, 0),
        ("Unknown(9)", 30, 0, "60s", ROLL, 30),
        ("Succeeded", None, 120, "60s", ROLL, 120),
        ("Succeeded", -30, 0, "60s", ROLL, 30),
        ("Succeeded", 0, -300, "60s", NOTHING, None),
        ("Succeeded", 0, DURATION_MAX, "60s", NOTHING, None),
    ],
)
def test_a_status_goes_where_the_library_puts_it(
    status: str, ago: int | None, soak: int, deadline: str, place: str, recheck_in: int | None
) -> None:
    """A status, with its soak and deadline, ends on the list and with the recheck it must."""
    length = Duration(soak if soak == DURATION_MAX else soak * SECOND)
    result = ask([one(status, ago)], CompatStrategy("Progressive", deadline, length), ALONE)
    lists = {ROLL: result.to_rollout, OUT: result.timed_out, NOTHING: ()}
    assert [bool(result.to_rollout), bool(result.timed_out)] == [place == ROLL, place == OUT]
    for entry in lists[place]:
        assert entry.status == ("TimeOut" if place == OUT else status)
        expected = None if recheck_in is None else NOW + recheck_in * SECOND
        assert entry.recheck_at == expected


@pytest.mark.parametrize(
    "ends_in, shortest",
    [
        ([30], 30),
        ([60, 30, 60], 30),
        ([30, 30, 60], 30),
        ([None, None, None], None),
        ([], None),
        ([None, 60, None], 60),
    ],
)
def test_the_shortest_wait_is_rechecked_first(
    ends_in: list[int | None], shortest: int | None
) -> None:
    """recheckAfter is the least of the waits there are; a cluster that is to start has none."""
    statuses = [
        one("ToApply", None, f"c{i}") if wait is None else one("Succeeded", 60 - wait, f"c{i}")
        for i, wait in enumerate(ends_in, start=1)
    ]
    result = ask(statuses, CompatStrategy("Progressive", soak=Duration(MINUTE)))
    assert result.recheck_after == (None if shortest is None else shortest * SECOND)


def test_a_wait_too_long_for_go_is_the_longest_go_knows() -> None:
    """A soak that ends in 300 years is rechecked in 292."""
    ago = -300 * 365 * 86400
    assert ask([one("Succeeded", ago)], CompatStrategy("All"), ALONE).recheck_after == DURATION_MAX


FOUR = (
    CompatGroup(GroupKey("a", 0), ("c1",)),
    CompatGroup(GroupKey("b", 1), ("c2",)),
    CompatGroup(GroupKey("a", 2), ("c3",)),
    CompatGroup(GroupKey("", 3), ("c4",)),
)


@pytest.mark.parametrize(
    "wanted, started",
    [
        ([GroupKey("b", 3)], "c2"),
        ([GroupKey("b")], "c2"),
        ([GroupKey(index=3)], "c4"),
        ([GroupKey()], "c1"),
        ([GroupKey(index=3), GroupKey("b")], "c2"),
        ([GroupKey("nope"), GroupKey(index=9)], "c1 c2 c3 c4"),
        ([], "c1 c2 c3 c4"),
    ],
)
def test_mandatory_groups_are_meant_by_name_or_else_by_index(
    wanted: list[GroupKey], started: str
) -> None:
    """A name wins over an index, nothing at all is index 0, and what does not exist is ignored."""
    result = ask([], CompatStrategy("Progressive", mandatory=tuple(wanted)), FOUR)
    assert " ".join(entry.cluster for entry in result.to_rollout) == started


def test_a_name_stands_for_all_its_groups_one_after_the_other() -> None:
    """The second group called a follows the first, before anything else starts."""
    strategy = CompatStrategy("ProgressivePerGroup", mandatory=(GroupKey("a"),))
    result = ask([one("Succeeded", 60)], strategy, FOUR)
    assert [entry.cluster for entry in result.to_rollout] == ["c3"]


SPARSE = (
    CompatGroup(GroupKey("a", 0), ("c1",)),
    CompatGroup(GroupKey("b", 2), ("c2",)),
)


def test_a_gap_in_the_indexes_loses_the_groups_behind_it() -> None:
    """With indexes 0 and 2, the clusters of group 2 are neither started nor kept."""
    result = ask([one("Succeeded", 60, "c2")], CompatStrategy("All"), SPARSE)
    assert [entry.cluster for entry in result.to_rollout] == ["c1"]
    assert [entry.cluster for entry in result.removed] == ["c2"]


def test_a_mandatory_group_behind_a_gap_is_started_and_removed_at_once() -> None:
    """Only the mandatory step still finds a group that its index has lost."""
    strategy = CompatStrategy("Progressive", mandatory=(GroupKey("b"),))
    result = ask([one("Succeeded", 60, "c2")], strategy, SPARSE)
    assert [entry.cluster for entry in result.to_rollout] == ["c2"]
    assert [entry.cluster for entry in result.removed] == ["c2"]


@pytest.mark.parametrize("kind", ["", "progressive", "manualPerGroup"])
def test_an_unknown_type_is_an_error_and_nothing_else(kind: str) -> None:
    """With an error every list is empty, the removed ones too."""
    result = ask([one("Failed", 60, "gone")], CompatStrategy(kind))
    assert result.error
    assert result == CompatResult(error=result.error)


def test_where_the_library_draws_lots_the_first_name_is_taken() -> None:
    """Two names for one index: the first by name is the group, whatever the order they come in."""
    twins = (CompatGroup(GroupKey("y", 0), ("c2",)), CompatGroup(GroupKey("x", 0), ("c1",)))
    assert ask([], CompatStrategy("All"), twins) == ask([], CompatStrategy("All"), twins[::-1])
    assert [entry.cluster for entry in ask([], CompatStrategy("All"), twins).to_rollout] == ["c1"]


def test_a_cluster_in_two_groups_is_started_in_the_first() -> None:
    """Where the library draws lots for the group to show, the lowest index is taken."""
    groups = (CompatGroup(GroupKey("a", 0), ("c1",)), CompatGroup(GroupKey("b", 1), ("c1", "c2")))
    started = ask([], CompatStrategy("All"), groups).to_rollout
    assert [(entry.cluster, entry.group.name) for entry in started] == [("c1", "a"), ("c2", "b")]


@pytest.mark.parametrize("members, removed", [(("", "c1"), 0), (("c1",), 1)])
def test_a_status_without_a_name_counts_for_nothing(members: tuple[str, ...], removed: int) -> None:
    """It is removed, or, where a group lists an empty name too, lost altogether."""
    groups = (CompatGroup(GroupKey(), members),)
    result = ask([one("Failed", 0, "")], CompatStrategy("Progressive"), groups)
    assert [entry.status for entry in result.to_rollout] == ["ToApply"] * len(members)
    assert len(result.removed) == removed
