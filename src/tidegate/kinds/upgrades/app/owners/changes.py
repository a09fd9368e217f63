"""Changes of labels: planned, checked by the rules that upgrades are decided by, and written.

Nothing is written that the service would report as an error. Each label that could not be written
is reported; the same change again writes the rest.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from tidegate.kinds.upgrades.app.owners.label_writer import (
    WrittenLabel,
    check_fresh,
    read_declared,
    write,
)
from tidegate.kinds.upgrades.app.owners.organisation import (
    DeclaredOrganisation,
    OwnerDocument,
    read_organisation,
)
from tidegate.kinds.upgrades.core.labels.label_check import check
from tidegate.kinds.upgrades.core.labels.label_edit import (
    ORGANISATION,
    HolderChange,
    LabelEdit,
    LabelHolder,
    Wanted,
    edits_of,
    org_holder,
)
from tidegate.kinds.upgrades.core.labels.label_sync import MARK
from tidegate.kinds.upgrades.core.labels.labels import split
from tidegate.kinds.upgrades.core.world import Organisation, UpgradeWorld
from tidegate.kinds.upgrades.ocm.documents import Label
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.document import Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Instant


class LabelPlan(msgspec.Struct, frozen=True):
    """The changes that are asked for, and what the owner should know of them."""

    changes: tuple[HolderChange, ...]
    notes: tuple[str, ...] = ()


Planner = Callable[[DeclaredOrganisation], LabelPlan]
"""Plans changes on what is declared now; UserError if they cannot be made."""


class LabelChange(Part, frozen=True, kw_only=True):
    """One label that changes; null: it is not there."""

    target: str
    label: str
    before: str | None
    after: str | None
    written: bool
    # Why it was not written, or why that is not known; unset: it was, or was not tried.
    why: str | UnsetType = UNSET


class LabelChangeReport(OwnerDocument, frozen=True, kw_only=True):
    """Every label that changes, and whether it is written."""

    dry_run: bool
    changes: tuple[LabelChange, ...]
    notes: tuple[str, ...] = ()
    # Whether the labels are those of the organisation, and not of clusters.
    of_organisation: bool = False

    @property
    def failed(self) -> tuple[LabelChange, ...]:
        """The labels that were not written."""
        return tuple(each for each in self.changes if each.why is not UNSET)


class PreparedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that may be written: checked, with the number of clusters that they reach."""

    org: Organisation
    changes: tuple[HolderChange, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    reach: int

    def report(self, written: Sequence[WrittenLabel] = (), *, dry_run: bool) -> LabelChangeReport:
        """What changes, and what became of each label."""
        return LabelChangeReport(
            warnings=self.warnings,
            notes=self.notes,
            dry_run=dry_run,
            changes=tuple(label_changes(self.changes, written)),
            of_organisation=all(each.holder.kind == ORGANISATION for each in self.changes),
        )


def organisation_change(declared: DeclaredOrganisation, wanted: Wanted) -> tuple[HolderChange, ...]:
    """The change of an organisation's own labels."""
    return (HolderChange(org_holder(declared.org), edits_of(declared.org.labels, wanted)),)


async def prepare_changes(
    manager: ManagedClusters, org: Organisation, planner: Planner, now: Instant
) -> PreparedChanges:
    """Plan changes and check them; UserError for what the service would report as an error."""
    declared, marks = await asyncio.gather(
        read_organisation(manager, org, now), manager.labels(MARK)
    )
    plan = planner(declared)
    changes = tuple(each for each in plan.changes if each.edits)
    overwritten = tuple(_overwritten(changes, marks.items))
    warnings = checked(declared.world, changes)
    return PreparedChanges(
        org=org,
        changes=changes,
        warnings=(*declared.warnings, *overwritten, *warnings),
        notes=plan.notes,
        reach=_reach(declared, changes),
    )


async def write_changes(
    manager: ManagedClusters,
    prepared: PreparedChanges,
    progress: Callable[[WrittenLabel], None] = lambda _: None,
    *,
    after_pause: bool = False,
) -> LabelChangeReport:
    """Write changes; after a pause StaleError if a label is no longer what it was."""
    if after_pause:
        check_fresh(await read_declared(manager, prepared.org.id), prepared.changes)
    done = await write(manager, prepared.changes, progress)
    return prepared.report(done, dry_run=False)


def checked(world: UpgradeWorld, changes: Sequence[HolderChange]) -> tuple[str, ...]:
    """What may not be meant; UserError for what the service would report as an error."""
    found = check(world, changes, world.now)
    if found.refused:
        raise UserError(tuple(Problem("", line) for line in found.refused))
    return found.warnings


def label_changes(
    changes: Iterable[HolderChange], done: Iterable[WrittenLabel]
) -> Iterator[LabelChange]:
    """Every label that changes, and what became of it."""
    became: dict[tuple[LabelHolder, LabelEdit], str] = {
        (each.holder, each.edit): each.why for each in done
    }
    for change in changes:
        for edit in change.edits:
            why = became.get((change.holder, edit))
            yield LabelChange(
                target=change.holder.text(),
                label=edit.label,
                before=edit.before,
                after=edit.after,
                written=why == "",
                why=why or UNSET,
            )


def _overwritten(changes: Iterable[HolderChange], marks: Iterable[Label]) -> Iterator[str]:
    """Labels that change here and are written from a bundle, so that they will not stay."""
    written = {each.subscription_id or each.organization_id: split(each.value) for each in marks}
    for change in changes:
        labels = [each.label for each in change.edits]
        several = [each for each in labels if each in (written.get(change.holder.id) or ())]
        if several:
            what = f"{', '.join(several)} {'is' if len(several) == 1 else 'are'} written from a"
            yield f"{change.holder.text()}: {what} bundle and will be set back; change it there"


def _reach(declared: DeclaredOrganisation, changes: Sequence[HolderChange]) -> int:
    """How many clusters changes reach: all that are managed, if a label of the organisation's."""
    if any(each.holder.kind == ORGANISATION for each in changes):
        return sum(bool(each.labels) for each in declared.world.clusters)
    return len(changes)
