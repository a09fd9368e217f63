"""The upgrade policies that a bundle declares, written as labels.

Every organisation by itself: one that cannot be written does not stop the others.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from tidegate.kinds.upgrades.app.owners.changes import checked, label_changes
from tidegate.kinds.upgrades.app.owners.label_writer import WrittenLabel, check_fresh, write
from tidegate.kinds.upgrades.app.owners.marks import read_marked
from tidegate.kinds.upgrades.app.owners.organisation import OwnerDocument, unreadable
from tidegate.kinds.upgrades.core.labels.bundled import Bundled, BundledOrg
from tidegate.kinds.upgrades.core.labels.declared_clusters import declarations
from tidegate.kinds.upgrades.core.labels.label_edit import HolderChange
from tidegate.kinds.upgrades.core.labels.label_sync import (
    MARK,
    LabelSync,
    in_turn,
    labelling,
    of_upgrades,
)
from tidegate.kinds.upgrades.core.service import Registration, UpgradeService
from tidegate.kinds.upgrades.core.world import Organisation
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.document import Part
from tidegate.model.errors import TidegateError, UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.time import Instant


class SyncedLabel(Part, frozen=True, kw_only=True):
    """One label that changes; null: it is not there."""

    organization: str
    target: str
    label: str
    before: str | None
    after: str | None
    written: bool
    why: str | UnsetType = UNSET


class KeptLabels(Part, frozen=True, kw_only=True):
    """Labels that are no longer declared and are not removed, and why not."""

    organization: str
    target: str
    labels: tuple[str, ...]
    why: str


class SyncError(Part, frozen=True, kw_only=True):
    """Why nothing was written for an organisation."""

    organization: str
    message: str


class LabelSyncReport(OwnerDocument, frozen=True, kw_only=True):
    """Every label that a bundle changes, and whether it is written."""

    dry_run: bool
    changes: tuple[SyncedLabel, ...]
    kept: tuple[KeptLabels, ...]
    notes: tuple[str, ...] = ()
    errors: tuple[SyncError, ...] = ()
    organizations: int = 0

    @property
    def failed(self) -> tuple[SyncedLabel, ...]:
        """The labels that were not written."""
        return tuple(each for each in self.changes if each.why is not UNSET)

    @property
    def of_upgrades(self) -> tuple[SyncedLabel, ...]:
        """The labels of upgrades, without the one that marks them as ours."""
        return tuple(each for each in self.changes if each.label != MARK)


class SyncPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One organisation: its manager, and what is to become of its labels."""

    manager: ManagedClusters
    org: Organisation
    planned: LabelSync
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[HolderChange, ...]:
        """All that changes, including the labels that only we read."""
        return self.planned.changes


class PreparedSync(msgspec.Struct, frozen=True, kw_only=True):
    """All organisations that can be changed, and why others cannot."""

    plans: tuple[SyncPlan, ...]
    errors: tuple[SyncError, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def reach(self) -> int:
        """How many owners of labels change."""
        return sum(len(each.changes) for each in self.plans)

    def report(
        self, done: Mapping[str, Sequence[WrittenLabel]] | None = None, *, dry_run: bool
    ) -> LabelSyncReport:
        """What changes, and what became of each label, by organisation."""
        became = done or {}
        changes = [
            SyncedLabel(organization=plan.org.id, **msgspec.structs.asdict(each))
            for plan in self.plans
            for each in label_changes(plan.changes, became.get(plan.org.id, ()))
        ]
        kept = [
            KeptLabels(
                organization=plan.org.id,
                target=holder.text(),
                labels=labels,
                why=plan.planned.why,
            )
            for plan in self.plans
            for holder, labels in plan.planned.kept
        ]
        return LabelSyncReport(
            warnings=tuple(each for plan in self.plans for each in plan.warnings),
            notes=(*self.notes, *(each for plan in self.plans for each in plan.notes)),
            errors=self.errors,
            dry_run=dry_run,
            changes=tuple(changes),
            kept=tuple(kept),
            organizations=len(self.plans),
        )


Synced = tuple[ManagedClusters, Organisation, BundledOrg]
"""An organisation that is to be synced: its manager, itself, and what the bundle declares."""


def check_complete(bundled: Bundled) -> None:
    """UserError if part of the bundle could not be read: then nothing is written."""
    if bundled.gaps:
        remedy = "fix it; from part of a bundle nothing is written"
        raise UserError(tuple(Problem("", gap, remedy) for gap in bundled.gaps))


def declared_organisation(bundled: Bundled, org: str) -> BundledOrg:
    """What a bundle declares of an organisation; UserError if nothing."""
    declared = {each.id: each for each in bundled.organizations}
    if org not in declared:
        hint = nearest_or_all(org, declared)
        raise UserError((Problem("--org", f'"{org}" is not in the bundle', hint),))
    return declared[org]


def served_declarations(
    service: UpgradeService, bundled: Bundled, org: str, writer: str
) -> tuple[list[tuple[Registration, BundledOrg]], tuple[str, ...]]:
    """The organisations that are served and declared, and notes on those that stay unchanged.

    `writer` is the name under which an organisation can disable the sync.
    """
    served = [each for each in service.served() if not org or each.id == org]
    if org and not served:
        hint = nearest_or_all(org, [each.id for each in service.served()])
        raise UserError((Problem("--org", f'"{org}" is not served', hint),))
    declared = {each.id for each in bundled.organizations}
    found: list[tuple[Registration, BundledOrg]] = []
    notes: list[str] = []
    for each in served:
        known = service.environment(each.environment) is not None
        if not known or (each.id not in declared and not org):
            continue
        mine = declared_organisation(bundled, each.id)
        if writer in mine.disabled:
            notes.append(f"{each.id}: {writer} is disabled there: unchanged")
        else:
            found.append((each, mine))
    ids = {each.id for each in service.served()}
    notes += [
        f"{one.id}: {one.where}: not served here: unchanged"
        for one in bundled.organizations
        if one.id not in ids and not org and (one.clusters or one.sectors or one.blocked)
    ]
    return found, tuple(notes)


async def prepare_sync(
    some: Sequence[Synced], now: Callable[[], Instant], *, allow_mass_delete: bool
) -> PreparedSync:
    """What is to become of the labels of each organisation."""
    plans: list[SyncPlan] = []
    errors: list[SyncError] = []
    for manager, org, declared in some:
        try:
            plans.append(await _plan(manager, org, declared, now(), allow_mass_delete))
        except TidegateError as error:
            texts = _texts(error)
            errors += [SyncError(organization=org.id, message=each) for each in texts]
    return PreparedSync(plans=tuple(plans), errors=tuple(errors))


def _texts(error: TidegateError) -> list[str]:
    """An error in words, a text a problem."""
    if isinstance(error, UserError):
        return [problem.text() for problem in error.problems]
    return [str(error)]


async def _plan(
    manager: ManagedClusters, org: Organisation, declared: BundledOrg, now: Instant, allowed: bool
) -> SyncPlan:
    read = await read_marked(manager, org, now)
    found = declarations(declared, read.world.clusters)
    if found.problems:
        raise UserError(found.problems)
    complete = read.complete and not found.missing
    planned = labelling(read.labelled, found.labels, complete=complete, allowed=allowed)
    warnings = checked(read.world, of_upgrades(planned.changes))
    unread = map(unreadable, read.survey.unreadable)
    return SyncPlan(
        manager=manager,
        org=org,
        planned=planned,
        warnings=(*unread, *(each.text() for each in found.missing), *warnings),
        notes=tuple(
            f"{holder.text()}: {', '.join(labels)}: not declared, and not written by us: unchanged"
            for holder, labels in planned.others
        ),
    )


async def check_sync_fresh(prepared: PreparedSync, now: Callable[[], Instant]) -> None:
    """StaleError if a label that is to change is no longer what it was."""
    for plan in prepared.plans:
        if plan.changes:
            read = await read_marked(plan.manager, plan.org, now())
            check_fresh(read.survey, plan.changes)


async def write_sync(
    prepared: PreparedSync, progress: Callable[[WrittenLabel], None] = lambda _: None
) -> LabelSyncReport:
    """Write the labels of every organisation."""
    done = {plan.org.id: await _write(plan, progress) for plan in prepared.plans if plan.changes}
    return prepared.report(done, dry_run=False)


async def _write(
    plan: SyncPlan, progress: Callable[[WrittenLabel], None]
) -> tuple[WrittenLabel, ...]:
    done: list[WrittenLabel] = []
    for changes in in_turn(plan.changes):
        if any(each.why for each in done):
            break
        done += await write(plan.manager, changes, progress)
    return tuple(done)
