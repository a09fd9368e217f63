"""What `policy sync` changes, and what became of it, for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.owners.relabel import Manner, diff_lines, edit_text
from tidegate.kinds.upgrades.core.labels.label_edit import Change
from tidegate.kinds.upgrades.core.labels.labelling import MARK, Labelling, of_upgrades
from tidegate.kinds.upgrades.core.world import Org
from tidegate.model.counted import counted
from tidegate.model.errors import TidegateError, UserError

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.app.owners.label_writer import Written
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters

Done = Mapping[str, "tuple[Written, ...]"]
"""What became of each edit, by organisation."""


class Turn(msgspec.Struct, frozen=True):
    """One organisation: the way there, and what is to become of its labels."""

    manager: "ManagedClusters"
    org: Org
    planned: Labelling

    @property
    def changes(self) -> tuple[Change, ...]:
        """All that changes, those labels included that only we read."""
        return self.planned.changes


def show(turns: Sequence[Turn], *, several: bool) -> None:
    """A line a label, below the name of its organisation where there are several."""
    for turn in turns:
        lines = diff_lines(of_upgrades(turn.changes))
        if several and lines:
            click.echo(turn.org.id)
        for line in lines:
            click.echo(f"  {line}" if several else line)


def finish(
    turns: Sequence[Turn],
    done: Done,
    manner: Manner,
    *,
    failed: bool,
) -> None:
    """Say what was written, what not, and what was not taken away; exit 1 if anything was not."""
    if manner.output != "table":
        emit({"dryRun": manner.dry_run, **_document(turns, done)}, manner.output)
    _tell_kept(turns)
    lost = [(org, each) for org, written in done.items() for each in written if each.why]
    for line in _summary(turns, done, manner):
        click.echo(line, err=True)
    if lost:
        click.echo(f"Error: {counted(len(lost), 'label')} not written:", err=True)
        rows = [
            (org, each.holder.text(), each.edit.label, edit_text(each.edit), each.why)
            for org, each in lost
        ]
        for line in layout(("", "", "", "", ""), rows, headed=False):
            click.echo(f"  {line}", err=True)
        click.echo("what is written stays; run the same again to write the rest", err=True)
    if lost or failed:
        raise click.exceptions.Exit(FAILURE)


def _summary(turns: Sequence[Turn], done: Done, manner: Manner) -> Iterator[str]:
    changes = [each for turn in turns for each in turn.changes]
    labels = [edit for each in of_upgrades(changes) for edit in each.edits]
    marks = sum(edit.label == MARK for each in changes for edit in each.edits)
    if not changes and turns:
        yield "nothing to change: the labels are what the bundle declares"
    elif not labels and marks:
        yield f"the labels are so already; noted as declared: those of {counted(marks, 'owner')}"
    if manner.dry_run and changes:
        yield "dry run: nothing was written"
    written = [one for each in done.values() for one in each if not one.why]
    if written:
        owners = counted(len({each.holder for each in written}), "owner")
        told = counted(sum(each.edit.label != MARK for each in written), "label")
        yield f"written: {told} of {owners}"


def _tell_kept(turns: Sequence[Turn]) -> None:
    """What is not taken away, and why not."""
    for turn in turns:
        if turn.planned.why:
            some = [
                f"{holder.text()} ({', '.join(labels)})" for holder, labels in turn.planned.kept
            ]
            click.echo(f"Error: {turn.org.id}: not taken away: {turn.planned.why}", err=True)
            for line in some:
                click.echo(f"  {line}", err=True)


def _document(turns: Sequence[Turn], done: Done) -> dict[str, list[dict[str, Any]]]:
    """Every label that changes, and whether it is written; and what is kept: for programs."""
    became = {
        (org, each.holder, each.edit): each.why for org, some in done.items() for each in some
    }
    changes, kept = [], []
    for turn in turns:
        for change in turn.changes:
            for edit in change.edits:
                why = became.get((turn.org.id, change.holder, edit))
                changes.append(
                    {
                        "organization": turn.org.id,
                        "target": change.holder.text(),
                        "label": edit.label,
                        "before": edit.before,
                        "after": edit.after,
                        "written": why == "",
                        **({"why": why} if why else {}),
                    }
                )
        for holder, labels in turn.planned.kept:
            target = {"organization": turn.org.id, "target": holder.text()}
            kept.append({**target, "labels": list(labels), "why": turn.planned.why})
    return {"changes": changes, "kept": kept}


def tell_left(org: str, error: TidegateError) -> None:
    """Why one organisation is left as it is."""
    if isinstance(error, UserError):
        for problem in error.problems:
            click.echo(f"Error: {org}: {problem.text()}", err=True)
    else:
        click.echo(f"Error: {org}: {error}", err=True)
    click.echo(f"{org}: nothing was written", err=True)
