"""What `policy sync` changes, and what became of it."""

from collections.abc import Iterator
from itertools import groupby

from tidegate.explain.table import layout
from tidegate.kinds.upgrades.app.owners.policy_sync import LabelSyncReport
from tidegate.kinds.upgrades.cli.text.label_changes import change_text, diff_lines, why_text
from tidegate.kinds.upgrades.core.labels.label_sync import MARK
from tidegate.model.counted import counted


def sync_lines(report: LabelSyncReport) -> Iterator[str]:
    """A line a label, below the name of its organisation where there are several."""
    several = report.organizations > 1
    for org, changes in groupby(report.of_upgrades, key=lambda each: each.organization):
        if several:
            yield org
        yield from (f"  {line}" if several else line for line in diff_lines(changes))


def sync_summary(report: LabelSyncReport) -> Iterator[str]:
    """What was written, and what not."""
    yield from _kept(report)
    marks = sum(each.label == MARK for each in report.changes)
    if not report.changes and report.organizations:
        yield "nothing to change: the labels are what the bundle declares"
    elif not report.of_upgrades and marks:
        owners = counted(marks, "owner")
        yield f"the labels have these values already; noted as declared: those of {owners}"
    if report.dry_run and report.changes:
        yield "dry run: nothing was written"
    written = [each for each in report.changes if each.written]
    if written:
        owners = counted(len({(each.organization, each.target) for each in written}), "owner")
        labels = counted(sum(each.label != MARK for each in written), "label")
        yield f"written: {labels} of {owners}"
    if report.failed:
        yield from _failures(report)


def _kept(report: LabelSyncReport) -> Iterator[str]:
    """What is not removed, and why not."""
    for (org, why), some in groupby(report.kept, key=lambda each: (each.organization, each.why)):
        yield f"Error: {org}: not removed: {why}"
        for each in some:
            yield f"  {each.target} ({', '.join(each.labels)})"


def _failures(report: LabelSyncReport) -> Iterator[str]:
    yield f"Error: {counted(len(report.failed), 'label')} not written:"
    rows = [
        (each.organization, each.target, each.label, change_text(each), why_text(each))
        for each in report.failed
    ]
    yield from (f"  {line}" for line in layout(("", "", "", "", ""), rows, headed=False))
    yield "what is written stays; run the same again to write the rest"
