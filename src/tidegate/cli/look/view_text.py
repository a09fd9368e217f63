"""A partition as tables and trees of text, from its document: of every kind alike."""

from collections.abc import Sequence

from tidegate.app.documents import GroupDoc, OptionDoc, TargetDoc
from tidegate.app.workers import PartitionWorker
from tidegate.cli.render.worker_text import start_words
from tidegate.explain.table import Row
from tidegate.explain.verdict_part import first_shut_part, part_lines
from tidegate.model.time import Instant, format_age, format_second, parse_instant

GROUP_HEAD: Row = (
    "GROUP", "INDEX", "STATUS", "WAITING", "UPDATING", "SOAKING", "DONE", "FAILED", "IGNORED",
)  # fmt: skip
TARGET_HEAD: Row = ("GROUP", "TARGET", "STATE", "SINCE", "UNTIL", "WHY")
# How an option says that it leads back, and that the target goes.
_BACK, _REMOVE = "return ", "remove"


def group_rows(groups: Sequence[GroupDoc]) -> list[Row]:
    """One row a group."""
    return [
        (
            each.name,
            str(each.index),
            each.status,
            str(each.counts.waiting),
            str(each.counts.in_flight),
            str(each.counts.soaking),
            str(each.counts.done),
            str(each.counts.failed),
            str(each.counts.ignored),
        )
        for each in groups
    ]


def target_rows(
    targets: Sequence[TargetDoc], now: Instant, worker: PartitionWorker | None = None
) -> list[Row]:
    """One row a target: the gate that says most says why."""
    starts = start_words(worker)
    return [_target(each, now, starts) for each in targets]


def _target(row: TargetDoc, now: Instant, starts: str) -> Row:
    why = starts if row.starts else row.why
    for option in row.options[1:]:
        if option.change.startswith(_BACK):
            shut = first_shut_part(option.verdicts)
            goes = f"returns to {option.change.removeprefix(_BACK)} now"
            why = f"{why}; {shut.message if shut is not None else goes}"
    since = format_age(now - parse_instant(row.since)) if row.since is not None else ""
    until = format_age(parse_instant(row.until) - now) if row.until is not None else ""
    return (row.group, row.name, row.state, since, until, why)


def target_tree(row: TargetDoc, now: Instant, worker: PartitionWorker | None = None) -> list[str]:
    """One target: every option, and what every gate says of it."""
    parts = [row.name, row.state]
    if row.group:
        parts.append(f"in {row.group}")
    if row.since is not None:
        since = parse_instant(row.since)
        status = f"{row.status} " if row.status else ""
        parts.append(f"{status}since {format_second(since)} ({format_age(now - since)})")
    if row.revision:
        other = row.next and row.next != row.revision
        parts.append(f"on {row.revision}" + (f", wants {row.next}" if other else ""))
    if row.starts:
        parts.append(start_words(worker))
    lines = ["  ".join(parts)]
    several = sum(_title(each) == "" for each in row.options) > 1
    for option in row.options:
        title = _title(option)
        if not title and several:
            title = f"{option.change}: {'now' if option.starts else 'waits'}"
        lines += [*([title] if title else []), *part_lines(option.verdicts, now)]
    return lines


def _title(option: OptionDoc) -> str:
    """What is said of a way back and of a removal; empty: it is neither."""
    if option.change.startswith(_BACK):
        go = "now" if option.starts else "when every gate below is open"
        return f"back to {option.change.removeprefix(_BACK)}: {go}"
    if option.change == _REMOVE:
        return "removed: now" if option.starts else "kept for now"
    return ""
