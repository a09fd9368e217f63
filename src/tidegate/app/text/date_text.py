"""Shifts of dates in words, for the command line and the page."""

from tidegate.app.brakes.what_if import RolloutWhatIf, ShiftedTarget
from tidegate.model.counted import counted
from tidegate.model.time import format_age, format_second, parse_instant


def shift_words(each: ShiftedTarget) -> str:
    """How much later or earlier a target is done; empty: at the same time, or never."""
    before = None if each.before is None else each.before.done_at
    after = None if each.after is None else each.after.done_at
    if before is None or after is None:
        return "" if before == after else "has a date" if after else "no date any more"
    span = parse_instant(after) - parse_instant(before)
    return "" if not span else f"{format_age(abs(span))} {'later' if span > 0 else 'earlier'}"


def end_words(found: RolloutWhatIf) -> str:
    """The end before and after, and how many targets have other dates."""

    def end(text: str | None) -> str:
        return "no date" if text is None else format_second(parse_instant(text))

    number = counted(found.shifted, "target")
    return f"end: {end(found.ends_before)} -> {end(found.ends_after)}; {number} with other dates"
