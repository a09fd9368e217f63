"""The effect of other labels as a table: before and after, side by side."""

from collections.abc import Iterator

from tidegate.explain.table import Row, layout
from tidegate.kinds.upgrades.app.what_if import ClusterAim, ShiftedCluster, WhatIfReport
from tidegate.kinds.upgrades.cli.text.lint import finding_lines
from tidegate.kinds.upgrades.core.explain.dates import NO_DATE, date_text
from tidegate.model.time import parse_instant

HEAD: Row = ("CLUSTER", "LABELS", "NEXT", "STARTS", "REACHES", "WHY")
NONE = "-"


def what_if_lines(document: WhatIfReport, width: int | None) -> Iterator[str]:
    """The labels that change, the clusters they affect, and what `lint` finds anew or no more."""
    for each in document.changes:
        yield f"{each.of}: {each.label} {_value(each.before)} → {_value(each.after)}"
    if document.clusters:
        yield ""
        rows = [row for each in document.clusters for row in _rows(each)]
        yield from layout(HEAD, rows, width)
    found = document.findings
    for said, findings in (("also", found.appear), ("no longer", found.vanish)):
        if findings:
            yield from ("", f"`lint` {said} reports:")
            yield from finding_lines(findings, width)


def _value(text: str | None) -> str:
    return "none" if text is None else f'"{text}"'


def _rows(shift: ShiftedCluster) -> list[Row]:
    return [
        (shift.cluster, "before", *_cells(shift.before)),
        ("", "after", *_cells(shift.after)),
    ]


def _cells(aim: ClusterAim | None) -> tuple[str, ...]:
    if aim is None:
        return (NONE, "", "", "takes no part")
    why = "starts now" if aim.why is None else aim.why.message
    done = f"{aim.reaches} {_date(aim.done_at)}" if aim.done_at is not None else NONE
    return (aim.next or NONE, _date(aim.starts_at), done, why)


def _date(at: str | None) -> str:
    return NO_DATE if at is None else date_text(parse_instant(at))
