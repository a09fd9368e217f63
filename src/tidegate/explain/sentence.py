"""A verdict as a sentence, as named facts, and as what would open it.

Sentences are made from facts on demand, never stored: a plan of 100,000 targets holds a
dozen verdicts, and each becomes text once.
"""

from collections.abc import Callable

from tidegate.model.reason import FactFormat, Outcome
from tidegate.model.time import Instant, format_age, format_duration, format_second
from tidegate.model.verdict import FactValue, Verdict

MARKS = {Outcome.PASS: "✓", Outcome.WAIT: "…", Outcome.STOP: "✗"}


class _Count(int):
    """A number that can bring its noun: `{failed:failure}` is "1 failure" or "2 failures"."""

    def __format__(self, noun: str) -> str:
        if not noun:
            return str(int(self))
        return f"{int(self)} {noun}" if self == 1 else f"{int(self)} {noun}s"


def sentence(verdict: Verdict) -> str:
    """What the gate says, with its numbers."""
    return verdict.reason.entry.sentence.format_map(_words(verdict))


def opens(verdict: Verdict) -> str:
    """What would open the gate; empty where it is open or nothing needs to."""
    return verdict.reason.entry.opens.format_map(_words(verdict))


def facts(verdict: Verdict) -> dict[str, int | str | tuple[str, ...]]:
    """The facts by name; durations in Go's syntax, moments in RFC 3339."""
    named = zip(verdict.reason.entry.facts, verdict.facts, strict=True)
    return {name: _plain(kind, value) for (name, kind), value in named}


def _plain(kind: FactFormat, value: FactValue) -> FactValue:
    if isinstance(value, int):
        return _PLAIN.get(kind, int)(value)
    return value


_PLAIN: dict[FactFormat, Callable[[int], FactValue]] = {
    FactFormat.DURATION: format_duration,
    FactFormat.INSTANT: format_second,
}


def _words(verdict: Verdict) -> dict[str, object]:
    named = zip(verdict.reason.entry.facts, verdict.facts, strict=True)
    return {name: _word(kind, value) for (name, kind), value in named}


def _word(kind: FactFormat, value: FactValue) -> object:
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, int):
        return _SPOKEN.get(kind, _Count)(value)
    return value


_SPOKEN: dict[FactFormat, Callable[[int], object]] = {
    FactFormat.DURATION: format_age,
    FactFormat.INSTANT: format_second,
}


def until_text(verdict: Verdict, now: Instant) -> str:
    """When time alone could change it: the moment and how far off it is; empty if never."""
    if verdict.until is None:
        return ""
    about = "about " if verdict.estimate else ""
    left = format_age(verdict.until - now)
    return f"until {about}{format_second(verdict.until)} (in {left})"
