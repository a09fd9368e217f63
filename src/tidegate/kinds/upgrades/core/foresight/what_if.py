"""What other labels would result in: where each cluster is heading, before and after.

Both worlds are decided on and run ahead by the same rules, so that nothing differs but the labels.
Reported are clusters whose next version, first shut gate or dates differ, and what `lint` finds in
only one of the two.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, cluster_summaries
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedUpgrades
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast, forecast
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.labels.label_edit import (
    CLUSTER_LABELS,
    ORG_LABELS,
    ORGANISATION,
    HolderChange,
    LabelEdit,
    LabelHolder,
    changed,
)
from tidegate.kinds.upgrades.core.labels.labels import SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL
from tidegate.kinds.upgrades.core.lint.findings import LintFinding
from tidegate.kinds.upgrades.core.lint.lint import lint
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict


class ClusterGoal(msgspec.Struct, frozen=True):
    """Where a cluster is heading."""

    # The version that comes next; empty: none does.
    next: str
    # The version it reaches in the end.
    reaches: str
    # What keeps it from its next version now; None: nothing does.
    shut: Verdict | None
    # When its next step starts and its last one is done; None: there is no date.
    starts_at: Instant | None
    done_at: Instant | None


class ClusterShift(msgspec.Struct, frozen=True):
    """A cluster that is heading elsewhere, or at another time."""

    fleet: OrganisationFleet
    name: str
    uuid: str
    # None: it takes no part then.
    before: ClusterGoal | None
    after: ClusterGoal | None


class WhatIf(msgspec.Struct, frozen=True):
    """All that other labels would result in."""

    shifts: tuple[ClusterShift, ...]
    appear: tuple[LintFinding, ...]
    vanish: tuple[LintFinding, ...]


def what_if(
    world: UpgradeWorld,
    changes: Iterable[HolderChange],
    now: Instant,
    pace: UpgradePace | None = None,
) -> WhatIf:
    """The world as it is, compared with the same after some labels changed."""
    after = changed(world, changes)
    ahead = [forecast(each, now, pace) for each in (world, after)]
    found = [
        lint(each, now, pace, outlook) for each, outlook in zip((world, after), ahead, strict=True)
    ]
    plans = [decide(each, now) for each in (world, after)]
    aims = [_aims(plan, outlook) for plan, outlook in zip(plans, ahead, strict=True)]
    known = {**aims[0], **aims[1]}
    shifts = (
        ClusterShift(
            summary.fleet, summary.member.cluster.name, uuid, *(_aim(each, uuid) for each in aims)
        )
        for uuid, (summary, _) in known.items()
    )
    return WhatIf(
        tuple(each for each in shifts if each.before != each.after),
        tuple(each for each in found[1] if each not in found[0]),
        tuple(each for each in found[0] if each not in found[1]),
    )


def _aims(
    plan: UpgradePlan, outlook: FleetForecast
) -> dict[str, tuple[ClusterSummary, ClusterGoal]]:
    found = {}
    for summary in cluster_summaries(plan):
        uuid = summary.member.cluster.uuid
        found[uuid] = (summary, aim_of(summary, outlook.expected[uuid]))
    return found


def _aim(aims: Mapping[str, tuple[ClusterSummary, ClusterGoal]], uuid: str) -> ClusterGoal | None:
    return aims[uuid][1] if uuid in aims else None


def aim_of(summary: ClusterSummary, expected: ExpectedUpgrades) -> ClusterGoal:
    """Where a cluster is heading, by what is decided and what is foreseen."""
    ours = [each.starts_at for each in expected.upgrades if each.asked_at is not None]
    return ClusterGoal(
        next=summary.next,
        reaches=expected.version,
        shut=summary.shut,
        starts_at=min(ours, default=None),
        done_at=expected.done_at,
    )


class NoLabelError(ValueError):
    """An unknown label; the text offers the nearest."""


def edit_of(holder: LabelHolder, labels: Mapping[str, str], label: str, value: str) -> LabelEdit:
    """One label of a holder set to a value, or taken away if that is empty."""
    of_org = holder.kind == ORGANISATION
    known = ORG_LABELS if of_org else CLUSTER_LABELS
    of_sector = label.startswith((SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL))
    if label not in known and label not in labels and not (of_org and of_sector):
        more = (f"{SECTOR_DEPENDENCIES}NAME", f"{SECTOR_MAX_PARALLEL}NAME") if of_org else ()
        raise NoLabelError(f'no label "{label}"; {nearest_or_all(label, (*known, *more))}')
    return LabelEdit(label, labels.get(label), value or None)
