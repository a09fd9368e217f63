"""Changes of labels, from what is asked for to what became of it: shown, checked, asked, written.

Nothing is written that the service would complain about. What could not be written is told label by
label; whoever runs the same again writes the rest.
"""

import asyncio
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tidegate.cli.asking import asked_about
from tidegate.cli.main import FAILURE
from tidegate.cli.output import FORMATS, emit
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.owners.tenancy import Declared, Tenant, look
from tidegate.kinds.upgrades.core.labels.label_check import check
from tidegate.kinds.upgrades.core.labels.label_edit import (
    ORGANISATION,
    Change,
    Edit,
    Wanted,
    edits_of,
    org_holder,
)
from tidegate.kinds.upgrades.core.labels.labels import split
from tidegate.model.counted import counted
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

if TYPE_CHECKING:
    from tidegate.kinds.upgrades.app.owners.label_writer import Written
    from tidegate.kinds.upgrades.ocm.documents import Label
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters

Function = Callable[..., Any]
Plan = Callable[[Declared], Iterable[Change]]

# A list of more items is shown by what comes and goes.
ITEMS_MAX = 4
# Labels whose value is one text, with a comma or without.
_TEXTS = ("schedule", "sector", "soak-days")


class Manner(msgspec.Struct, frozen=True):
    """How a change is made."""

    dry_run: bool
    yes: bool
    output: str


def writing_options(function: Function) -> Function:
    """What every command that writes labels takes; it is handed all as `manner`."""

    @functools.wraps(function)
    def command(*args: Any, dry_run: bool, yes: bool, output: str, **kwargs: Any) -> Any:
        return function(*args, manner=Manner(dry_run, yes, output), **kwargs)

    flagged: Function = command
    for option in (
        click.option("-o", "--output", type=click.Choice(FORMATS), default="table"),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Show the labels that change; write nothing."),
    ):
        flagged = option(flagged)
    return flagged


def org_change(declared: Declared, wanted: Wanted) -> list[Change]:
    """The organisation's change."""
    return [Change(org_holder(declared.org), edits_of(declared.org.labels, wanted))]


def relabel(tenant: Tenant, plan: Plan, manner: Manner) -> None:
    """Make changes, after showing them."""
    asyncio.run(_relabel(tenant, plan, manner))


async def _relabel(tenant: Tenant, plan: Plan, manner: Manner) -> None:
    from tidegate.kinds.upgrades.app.owners.label_writer import check_fresh, read_declared
    from tidegate.kinds.upgrades.core.labels.labelling import MARK

    async with tenant.opened() as (manager, org):
        declared, marks = await asyncio.gather(look(manager, org), manager.labels(MARK))
        changes = [each for each in plan(declared) if each.edits]
        for line in _set_back(changes, marks.items):
            click.echo(f"warning: {line}", err=True)
        _refuse(declared, changes)
        if manner.output == "table":
            for line in diff_lines(changes):
                click.echo(line)
        if not changes:
            click.echo("nothing to change: the labels are so already", err=True)
        if not changes or manner.dry_run:
            _finish(changes, (), manner)
            return
        if _asked(declared, changes, manner):
            # Whoever was asked took his time, and somebody else may have used it.
            check_fresh(await read_declared(manager, org.id), changes)
        done = await _write(manager, changes)
    _finish(changes, done, manner)


def _set_back(changes: Iterable[Change], marks: "Iterable[Label]") -> Iterator[str]:
    """Labels that change here and are written from a bundle, so that they will not stay so."""
    written = {each.subscription_id or each.organization_id: split(each.value) for each in marks}
    for change in changes:
        labels = [each.label for each in change.edits]
        several = [each for each in labels if each in (written.get(change.holder.id) or ())]
        if several:
            what = f"{', '.join(several)} {'is' if len(several) == 1 else 'are'} written from a"
            yield f"{change.holder.text()}: {what} bundle and will be set back; change it there"


def _refuse(declared: Declared, changes: Sequence[Change]) -> None:
    """Warn of what may not be meant; UserError for what the service would complain about."""
    found = check(declared.world, changes, declared.world.now)
    for line in found.warnings:
        click.echo(f"warning: {line}", err=True)
    if found.refused:
        raise UserError(tuple(Problem("", line) for line in found.refused))


def diff_lines(changes: Iterable[Change]) -> list[str]:
    """A line a label: cluster/pay-prod-1  soak-days  2 → 5."""
    rows = [
        (change.holder.text(), edit.label, edit_text(edit))
        for change in changes
        for edit in change.edits
    ]
    return layout(("", "", ""), rows, headed=False) if rows else []


def edit_text(edit: Edit) -> str:
    """What becomes of one label; of a long list only what comes and goes."""
    before, after = split(edit.before) or (), split(edit.after) or ()
    several = max(len(before), len(after)) > ITEMS_MAX and edit.label not in _TEXTS
    if several and edit.before is not None and edit.after is not None:
        gone = [f"-{each}" for each in before if each not in after]
        come = [f"+{each}" for each in after if each not in before]
        if gone or come:
            return f"{' '.join(gone + come)} (of {len(before)}, then {len(after)})"
    return f"{_shown(edit.before)} → {_shown(edit.after)}"


def _shown(value: str | None) -> str:
    """A value as it stands; quoted where one could not see where it ends."""
    if value is None:
        return "-"
    return value if value and value == value.strip() else f'"{value}"'


def _asked(declared: Declared, changes: Sequence[Change], manner: Manner) -> bool:
    """Whether somebody was asked, and said yes; where few are reached or nobody is there, no."""
    managed = [each for each in declared.world.clusters if each.labels]
    of_org = any(each.holder.kind == ORGANISATION for each in changes)
    reach = len(managed) if of_org else len(changes)
    return asked_about(f"Write this? It reaches {counted(reach, 'cluster')}.", reach, manner.yes)


async def _write(manager: "ManagedClusters", changes: Sequence[Change]) -> "tuple[Written, ...]":
    from tidegate.cli.progress import Progress
    from tidegate.kinds.upgrades.app.owners.label_writer import write

    with Progress("writing labels", sum(len(each.edits) for each in changes)) as progress:
        return await write(manager, changes, lambda _: progress.tell(1))


def _finish(changes: Sequence[Change], done: "Sequence[Written]", manner: Manner) -> None:
    """Say what was written and what not; exit 1 if anything was not."""
    failed = [each for each in done if each.why]
    if manner.output != "table":
        emit({"dryRun": manner.dry_run, "changes": _documents(changes, done)}, manner.output)
    if manner.dry_run and changes:
        click.echo("dry run: nothing was written", err=True)
    if done:
        holders = len({each.holder for each in done if not each.why})
        labels = counted(len(done) - len(failed), "label")
        click.echo(f"written: {labels} of {_whom(done, holders)}", err=True)
    if not failed:
        return
    click.echo(f"Error: {counted(len(failed), 'label')} not written, as far as is known:", err=True)
    rows = [
        (each.holder.text(), each.edit.label, edit_text(each.edit), each.why) for each in failed
    ]
    for line in layout(("", "", "", ""), rows, headed=False):
        click.echo(f"  {line}", err=True)
    click.echo("what is written stays; run the same again to write the rest", err=True)
    raise click.exceptions.Exit(FAILURE)


def _whom(done: "Sequence[Written]", number: int) -> str:
    if all(each.holder.kind == ORGANISATION for each in done):
        return "the organisation"
    return counted(number, "cluster")


def _documents(changes: Sequence[Change], done: "Sequence[Written]") -> list[dict[str, Any]]:
    """Every label that changes, and whether it is written, for programs."""
    became = {(each.holder, each.edit): each.why for each in done}
    found: list[dict[str, Any]] = []
    for change in changes:
        for edit in change.edits:
            why = became.get((change.holder, edit))
            found.append(
                {
                    "target": change.holder.text(),
                    "label": edit.label,
                    "before": edit.before,
                    "after": edit.after,
                    "written": why == "",
                    **({"why": why} if why else {}),
                }
            )
    return found
