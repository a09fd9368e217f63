"""One cause is one line, whatever the things are called that it stops."""

from tidegate.cli.render.causes import CauseCount, cause_lines, cause_of


def test_names_make_no_other_cause() -> None:
    assert cause_of("a-1: no way to a-1", "a-1") == cause_of("b-2: no way to b-2", "b-2")
    assert cause_of("unread: a-1: shut", "a-1") == "unread: shut"
    assert cause_of("a-1: shut", "") == "a-1: shut"


def test_problems_of_one_cause_name_two_and_count_the_rest() -> None:
    same = [f"c{at}: no access to c{at}" for at in range(1_002)]
    assert list(cause_lines([*same, "x: other"])) == [
        "c0, c1 and 1,000 more: no access to NAME",
        "x: other",
    ]
    assert list(cause_lines(same[:2])) == ["c0, c1: no access to NAME"]
    assert list(cause_lines(same[:1])) == same[:1]
    assert list(cause_lines(same, verbose=True)) == same


def test_as_many_are_counted_as_are_not_shown() -> None:
    brief, whole = CauseCount(), CauseCount(verbose=True)
    shown = [each for each in range(7) if brief.shows(f"n{each}: shut", f"n{each}")]
    assert shown == [0, 1]
    assert list(brief.rest()) == ["and 5 more: shut (--verbose lists all)"]
    assert all(whole.shows("shut") for _ in range(7))
    assert list(whole.rest()) == []
