"""Changes of labels as lines, and what became of them."""

from collections.abc import Iterable, Iterator

import click
from msgspec import UNSET

from tidegate.explain.table import layout
from tidegate.kinds.upgrades.app.owners.changes import LabelChange, LabelChangeReport
from tidegate.kinds.upgrades.app.owners.policy_sync import SyncedLabel
from tidegate.kinds.upgrades.core.labels.labels import split
from tidegate.model.counted import counted

# Of a list with more items only the difference is shown.
ITEMS_MAX = 4
# Labels whose value is one text, with a comma or without.
_TEXTS = ("schedule", "sector", "soak-days")


def show_warnings(warnings: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Print warnings and notes on stderr."""
    for line in warnings:
        click.echo(f"warning: {line}", err=True)
    for line in notes:
        click.echo(line, err=True)


def diff_lines(changes: Iterable[LabelChange | SyncedLabel]) -> list[str]:
    """A line a label: cluster/pay-prod-1  soak-days  2 → 5."""
    rows = [(each.target, each.label, change_text(each)) for each in changes]
    return layout(("", "", ""), rows, headed=False) if rows else []


def change_text(change: LabelChange | SyncedLabel) -> str:
    """The value before and after; of a long list only the difference."""
    before, after = split(change.before) or (), split(change.after) or ()
    several = max(len(before), len(after)) > ITEMS_MAX and change.label not in _TEXTS
    if several and change.before is not None and change.after is not None:
        gone = [f"-{each}" for each in before if each not in after]
        new = [f"+{each}" for each in after if each not in before]
        if gone or new:
            return f"{' '.join(gone + new)} (of {len(before)}, then {len(after)})"
    return f"{_shown(change.before)} → {_shown(change.after)}"


def _shown(value: str | None) -> str:
    """A value as it is; quoted where its end could not be seen."""
    if value is None:
        return "-"
    return value if value and value == value.strip() else f'"{value}"'


def changes_summary(report: LabelChangeReport) -> Iterator[str]:
    """What was written."""
    if not report.changes:
        yield "nothing to change: the labels have these values already"
    elif report.dry_run:
        yield "dry run: nothing was written"
    else:
        written = [each for each in report.changes if each.written]
        owners = len({each.target for each in written})
        of = "the organisation" if report.of_organisation else counted(owners, "cluster")
        yield f"written: {counted(len(written), 'label')} of {of}"


def failure_lines(report: LabelChangeReport) -> Iterator[str]:
    """The labels that were not written, and why."""
    failed = report.failed
    yield f"Error: {counted(len(failed), 'label')} not written, as far as is known:"
    rows = [(each.target, each.label, change_text(each), why_text(each)) for each in failed]
    yield from (f"  {line}" for line in layout(("", "", "", ""), rows, headed=False))
    yield "what is written stays; run the same again to write the rest"


def why_text(change: LabelChange | SyncedLabel) -> str:
    """Why a label was not written."""
    return "" if change.why is UNSET else str(change.why)
