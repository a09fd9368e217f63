"""Whose fault it is that a dry run failed: every way both sides can end."""

import pytest

from tidegate.kinds.integrations.core.review.fault import Attempt, CheckFault, End, judge

OK = Attempt(end=End.EXITED, lines=("done",))
SAYS = Attempt(end=End.EXITED, lines=("done", "more"))
BAD = Attempt(end=End.EXITED, code=1, lines=("boom",))
WORSE = Attempt(end=End.EXITED, code=1, lines=("bang",))
OTHER = Attempt(end=End.EXITED, code=2, lines=("boom",))
SLOW = Attempt(end=End.TIMED_OUT, words="not done after 5 s")
AWAY = Attempt(end=End.OUTSIDE, words="no such image")
NONE = Attempt(end=End.MISSING, words="docker: no such program")


@pytest.mark.parametrize(
    "head, base, fault, words",
    [
        ((OK,), (OK,), CheckFault.OK, ""),
        ((SAYS,), (OK,), CheckFault.OK, ""),
        ((OK,), (BAD, BAD), CheckFault.OK, "fixed: exit code 1 without the change"),
        ((OK,), (), CheckFault.OK, "new: nothing to compare it with"),
        (
            (OK,),
            (AWAY, AWAY),
            CheckFault.OK,
            "nothing to compare it with: without the change, no such image",
        ),
        ((BAD, OK), (OK,), CheckFault.FLAKE, "exit code 1 at first, then it worked"),
        ((SLOW, OK), (OK,), CheckFault.FLAKE, "not done after 5 s at first, then it worked"),
        ((BAD, BAD), (OK,), CheckFault.CHANGE, "exit code 1; without the change it works"),
        ((BAD, BAD), (BAD, OK), CheckFault.CHANGE, "exit code 1; without the change it works"),
        ((SLOW, SLOW), (OK,), CheckFault.CHANGE, "not done after 5 s; without the change it works"),
        (
            (BAD, BAD),
            (),
            CheckFault.CHANGE,
            "exit code 1; it is new, so there is nothing to compare it with",
        ),
        ((BAD, BAD), (BAD, BAD), CheckFault.BASE, "exit code 1 on both sides, saying the same"),
        (
            (BAD, BAD),
            (WORSE, WORSE),
            CheckFault.CHANGE,
            "exit code 1; without the change it fails in another way: exit code 1",
        ),
        (
            (BAD, BAD),
            (OTHER, OTHER),
            CheckFault.CHANGE,
            "exit code 1; without the change it fails in another way: exit code 2",
        ),
        (
            (BAD, BAD),
            (SLOW, SLOW),
            CheckFault.CHANGE,
            "exit code 1; without the change it fails in another way: not done after 5 s",
        ),
        (
            (SLOW, SLOW),
            (SLOW, SLOW),
            CheckFault.OUTSIDE,
            "not done after 5 s, with the change and without it",
        ),
        (
            (BAD, BAD),
            (AWAY, AWAY),
            CheckFault.OUTSIDE,
            "exit code 1; whether it is the change is not known: no such image",
        ),
        ((AWAY, AWAY), (OK,), CheckFault.OUTSIDE, "no such image"),
        ((NONE,), (NONE,), CheckFault.OURS, "docker: no such program"),
        ((OK,), (NONE,), CheckFault.OURS, "docker: no such program"),
    ],
)
def test_whose_fault_it_is(
    head: tuple[Attempt, ...], base: tuple[Attempt, ...], fault: CheckFault, words: str
) -> None:
    judgement = judge(head, base)
    assert (judgement.fault, judgement.words) == (fault, words)


def test_only_new_lines_are_new_and_times_are_no_difference() -> None:
    old = Attempt(end=End.EXITED, lines=("[2026-01-01 10:00:00] a took 3.2s", "b"))
    new = Attempt(end=End.EXITED, lines=("[2026-02-02 11:11:11] a took 9s", "c"))
    difference = judge((new,), (old,)).difference
    assert (difference.added, difference.gone) == (("c",), ("b",))


def test_what_the_base_says_before_it_is_cut_off_is_compared_with_nothing() -> None:
    assert judge((SAYS,), (SLOW, SLOW)).difference.count == 0
