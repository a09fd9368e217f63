"""A partition as tables and trees of text, from its rows: of every kind alike."""

from tidegate.explain.sentence import sentence
from tidegate.explain.table import Row, first_shut
from tidegate.explain.tree import verdict_lines
from tidegate.explain.view import OptionRow, PartitionView, TargetRow
from tidegate.model.time import Instant, format_age, format_second

GROUP_HEAD: Row = (
    "GROUP", "INDEX", "STATUS", "WAITING", "UPDATING", "SOAKING", "DONE", "FAILED", "IGNORED",
)  # fmt: skip
TARGET_HEAD: Row = ("GROUP", "TARGET", "STATE", "SINCE", "UNTIL", "WHY")


def group_rows(view: PartitionView) -> list[Row]:
    """One row a group."""
    return [
        (
            each.name,
            str(each.index),
            each.status,
            *map(
                str,
                (
                    each.waiting,
                    each.updating,
                    each.soaking,
                    each.done,
                    each.failed,
                    each.ignored,
                ),
            ),
        )
        for each in view.groups
    ]


def target_rows(view: PartitionView) -> list[Row]:
    """One row a target: the gate that says most says why."""
    return [_target(each, view.now) for each in view.targets]


def _target(row: TargetRow, now: Instant) -> Row:
    shut = row.shut
    why = "starts now" if row.starts else sentence(shut) if shut is not None else ""
    for option in row.options[1:]:
        if option.change.startswith("return"):
            gate = first_shut(option.verdicts)
            goes = f"returns to {option.change.removeprefix('return ')} now"
            why = f"{why}; {sentence(gate) if gate is not None else goes}"
    since = format_age(now - row.since) if row.since is not None else ""
    until = format_age(shut.until - now) if shut is not None and shut.until is not None else ""
    return (row.group, row.name, row.state, since, until, why)


def target_tree(view: PartitionView, row: TargetRow) -> list[str]:
    """One target: every option, and what every gate says of it."""
    parts = [row.name, row.state]
    if row.group:
        parts.append(f"in {row.group}")
    if row.since is not None:
        age = format_age(view.now - row.since)
        parts.append(f"since {format_second(row.since)} ({age})")
    if row.revision:
        other = row.next and row.next != row.revision
        parts.append(f"on {row.revision}" + (f", wants {row.next}" if other else ""))
    if row.starts:
        parts.append("starts now")
    lines = ["  ".join(parts)]
    several = len(row.options) > 1
    for option in row.options:
        lines += _option(option, view.now, named=several)
    return lines


def _option(option: OptionRow, now: Instant, *, named: bool) -> list[str]:
    head = [f"{option.change}: {'now' if option.starts else 'waits'}"] if named else []
    return [*head, *verdict_lines(option.verdicts, now)]
