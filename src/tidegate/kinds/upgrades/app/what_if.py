"""`what-if`: what other labels would result in, before anything is written."""

from collections.abc import Sequence

from tidegate.explain.pace import DatePace
from tidegate.explain.verdict_part import VerdictPart, verdict_part
from tidegate.kinds.upgrades.app.forecast import upgrade_pace
from tidegate.kinds.upgrades.app.lint import LabelFinding, label_finding
from tidegate.kinds.upgrades.app.read.view import UpgradeView, find_cluster, views_of
from tidegate.kinds.upgrades.app.read.world import (
    FleetDocument,
    FleetReading,
    WorldReading,
    legacy_notes,
)
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.foresight.what_if import (
    ClusterGoal,
    ClusterShift,
    NoLabelError,
    WhatIf,
    edit_of,
    what_if,
)
from tidegate.kinds.upgrades.core.labels.label_edit import (
    HolderChange,
    LabelEdit,
    LabelHolder,
    cluster_holders,
    org_holder,
)
from tidegate.model.document import Part, instant_text
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

REMEDY = "write CLUSTER/LABEL=VALUE or org/ID/LABEL=VALUE"

Edits = dict[LabelHolder, dict[str, LabelEdit]]


class AssumedLabel(Part, frozen=True, kw_only=True):
    """A label that would change; null: it is not there."""

    of: str
    label: str
    before: str | None
    after: str | None


class ClusterAim(Part, frozen=True, kw_only=True):
    """Which version a cluster is heading for, and when."""

    next: str | None
    reaches: str
    starts_at: str | None
    done_at: str | None
    why: VerdictPart | None


class ShiftedCluster(Part, frozen=True, kw_only=True):
    """A cluster whose next version, first shut gate or dates change; null: it takes no part."""

    cluster: str
    uuid: str
    org: str
    environment: str
    before: ClusterAim | None
    after: ClusterAim | None


class ShiftedFindings(Part, frozen=True, kw_only=True):
    """What `lint` finds only after the change, and only before it."""

    appear: tuple[LabelFinding, ...]
    vanish: tuple[LabelFinding, ...]


class WhatIfReport(FleetDocument, frozen=True, kw_only=True):
    """What other labels would result in: before and after."""

    changes: tuple[AssumedLabel, ...]
    clusters: tuple[ShiftedCluster, ...]
    findings: ShiftedFindings

    @property
    def changes_nothing(self) -> bool:
        """Whether no cluster and no finding differs."""
        return not (self.clusters or self.findings.appear or self.findings.vanish)


def compare_labels(fleet: FleetReading, sets: Sequence[str], pace: DatePace) -> WhatIfReport:
    """What becomes of clusters if labels were others (CLUSTER/LABEL=VALUE); nothing is written."""
    some = views_of(fleet)
    edits: dict[int, Edits] = {id(each.reading): {} for each in some}
    for text in sets:
        reading, holder, edit = _edit(some, text)
        edits[id(reading)].setdefault(holder, {})[edit.label] = edit
    found = [_compared(each.reading, edits[id(each.reading)], upgrade_pace(pace)) for each in some]
    return WhatIfReport(
        errors=fleet.errors(),
        notes=(*legacy_notes(fleet), *fleet.notes()),
        changes=tuple(
            AssumedLabel(of=one.holder.text(), label=e.label, before=e.before, after=e.after)
            for changes, _ in found
            for one in changes
            for e in one.edits
        ),
        clusters=tuple(_shifted(each) for _, compared in found for each in compared.shifts),
        findings=ShiftedFindings(
            appear=tuple(label_finding(e) for _, compared in found for e in compared.appear),
            vanish=tuple(label_finding(e) for _, compared in found for e in compared.vanish),
        ),
    )


def _edit(some: Sequence[UpgradeView], text: str) -> tuple[WorldReading, LabelHolder, LabelEdit]:
    """The label that is set, and its owner; also if it has that value already."""
    place, equals, value = text.partition("=")
    kind, _, rest = place.partition("/")
    if kind not in ("cluster", "org"):
        kind, rest = "cluster", place
    name, _, label = rest.rpartition("/")
    if not equals or not name or not label:
        raise UserError((Problem(f'--set "{text}"', "not a label of an owner", REMEDY),))
    if kind == "org":
        reading, holder, labels = _organisation(some, name)
    else:
        reading, holder, labels = _cluster(some, name)
    try:
        return reading, holder, edit_of(holder, labels, label, value)
    except NoLabelError as error:
        raise UserError((Problem(f'--set "{text}"', str(error)),)) from None


def _cluster(
    some: Sequence[UpgradeView], name: str
) -> tuple[WorldReading, LabelHolder, dict[str, str]]:
    view, summary = find_cluster(some, name)
    cluster = summary.member.cluster
    holder = cluster_holders(view.reading.world)[cluster.subscribed_as]
    return view.reading, holder, cluster.labels


def _organisation(
    some: Sequence[UpgradeView], name: str
) -> tuple[WorldReading, LabelHolder, dict[str, str]]:
    every = [(view.reading, org) for view in some for org in view.reading.world.orgs]
    for reading, org in every:
        if name in (org.id, org.name):
            return reading, org_holder(org), org.labels
    known = [org.id for _, org in every if org.registered]
    hint = nearest_or_all(name, known, "none")
    raise UserError((Problem("", f'no organisation "{name}"', hint),))


def _compared(
    reading: WorldReading, edits: Edits, pace: UpgradePace
) -> tuple[tuple[HolderChange, ...], WhatIf]:
    changes = tuple(
        HolderChange(holder, new)
        for holder, mine in edits.items()
        if (new := tuple(each for each in mine.values() if each.before != each.after))
    )
    if not changes:
        return (), WhatIf((), (), ())
    return changes, what_if(reading.world, changes, reading.now, pace)


def _shifted(shift: ClusterShift) -> ShiftedCluster:
    return ShiftedCluster(
        cluster=shift.name,
        uuid=shift.uuid,
        org=shift.fleet.org.id,
        environment=shift.fleet.org.env,
        before=_aim(shift.before),
        after=_aim(shift.after),
    )


def _aim(aim: ClusterGoal | None) -> ClusterAim | None:
    if aim is None:
        return None
    return ClusterAim(
        next=aim.next or None,
        reaches=aim.reaches,
        starts_at=instant_text(aim.starts_at),
        done_at=instant_text(aim.done_at),
        why=None if aim.shut is None else verdict_part(aim.shut),
    )
