"""Whose fault it is that a dry run failed: the change's, ours, or not known.

A run that failed is tried again. What fails with the change and works without it is the change's.
What fails the same without it is not. What failed once and then worked is a flake. Where the other
side could not be run, it is not known, and must be tried again.
"""

from enum import StrEnum

import msgspec

from tidegate.kinds.integrations.core.waves.rehearsal import LogDifference, compare


class End(StrEnum):
    """How a run ended."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    OUTSIDE = "could not be run"  # an image, a cluster: it may be there later
    MISSING = "no runner"  # the setup of the runner must be fixed


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run, and what it said."""

    end: End
    code: int = 0
    lines: tuple[str, ...] = ()
    # Why it could not be run.
    words: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ended well."""
        return self.end is End.EXITED and self.code == 0

    @property
    def text(self) -> str:
        """How it ended, in words."""
        if self.end is not End.EXITED:
            return self.words or self.end.value
        return f"exit code {self.code}"


class CheckFault(StrEnum):
    """Who must act."""

    OK = "ok"
    BASE = "fails without the change, too"
    CHANGE = "failed"
    FLAKE = "flake"
    OUTSIDE = "unknown"
    OURS = "not run"


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of trying one shard on both sides."""

    fault: CheckFault
    # What there is to say of it; empty: nothing.
    words: str = ""
    difference: LogDifference = LogDifference()


def judge(head: tuple[Attempt, ...], base: tuple[Attempt, ...]) -> Judgement:
    """Whose fault it is, from all tries of both sides; no try of the base: there is none."""
    last, other = head[-1], base[-1] if base else None
    for attempt in (last, other):
        if attempt is not None and attempt.end is End.MISSING:
            return Judgement(fault=CheckFault.OURS, words=attempt.text)
    if last.end is End.OUTSIDE:
        return Judgement(fault=CheckFault.OUTSIDE, words=last.text)
    comparable = other is not None and other.end is End.EXITED
    difference = compare(other.lines, last.lines) if other and comparable else LogDifference()
    if last.passed:
        return _passed(head, other, difference)
    return _failed(last, other, difference)


def _passed(
    head: tuple[Attempt, ...], other: Attempt | None, difference: LogDifference
) -> Judgement:
    if len(head) > 1:
        words = f"{head[0].text} at first, then it worked"
        return Judgement(fault=CheckFault.FLAKE, words=words, difference=difference)
    words = ""
    if other is None:
        words = "new: nothing to compare it with"
    elif other.end is not End.EXITED:
        words = f"nothing to compare it with: without the change, {other.text}"
    elif not other.passed:
        words = f"fixed: {other.text} without the change"
    return Judgement(fault=CheckFault.OK, words=words, difference=difference)


def _failed(last: Attempt, other: Attempt | None, difference: LogDifference) -> Judgement:
    if other is None:
        words = f"{last.text}; it is new, so there is nothing to compare it with"
        return Judgement(fault=CheckFault.CHANGE, words=words)
    if other.passed:
        words = f"{last.text}; without the change it works"
        return Judgement(fault=CheckFault.CHANGE, words=words, difference=difference)
    if other.end is End.OUTSIDE:
        words = f"{last.text}; whether it is the change is not known: {other.text}"
        return Judgement(fault=CheckFault.OUTSIDE, words=words)
    if last.end is End.TIMED_OUT and other.end is End.TIMED_OUT:
        words = f"{last.text}, with the change and without it"
        return Judgement(fault=CheckFault.OUTSIDE, words=words)
    if (last.end, last.code) == (other.end, other.code) and difference.count == 0:
        return Judgement(fault=CheckFault.BASE, words=f"{last.text} on both sides, saying the same")
    words = f"{last.text}; without the change it fails in another way: {other.text}"
    return Judgement(fault=CheckFault.CHANGE, words=words, difference=difference)
