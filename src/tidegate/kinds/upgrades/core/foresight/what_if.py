"""What other labels would come to: where each cluster is heading, before and after.

Both worlds are decided on and run ahead by the same rules, so that nothing differs but the labels.
Told of is whose next version, first shut gate or dates are not the same; and what `lint` finds in
only one of the two.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.explain.stand import Stand, stands
from tidegate.kinds.upgrades.core.foresight.expected import Expected
from tidegate.kinds.upgrades.core.foresight.forecast import Outlook, forecast
from tidegate.kinds.upgrades.core.foresight.pace import Pace
from tidegate.kinds.upgrades.core.labels.label_edit import (
    CLUSTER_LABELS,
    ORG_LABELS,
    ORGANISATION,
    Change,
    Edit,
    Holder,
    changed,
)
from tidegate.kinds.upgrades.core.labels.labels import SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL
from tidegate.kinds.upgrades.core.lint.finding import Finding
from tidegate.kinds.upgrades.core.lint.lint import lint
from tidegate.kinds.upgrades.core.rules.decide import decide
from tidegate.kinds.upgrades.core.rules.fleet import Fleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.world import World
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict


class Aim(msgspec.Struct, frozen=True):
    """Where a cluster is heading."""

    # The version that comes next; empty: none does.
    next: str
    # The version it comes to in the end.
    reaches: str
    # What keeps it from its next version now; None: nothing does.
    shut: Verdict | None
    # When its next step starts and its last one is done; None: there is no date.
    starts_at: Instant | None
    done_at: Instant | None


class Shift(msgspec.Struct, frozen=True):
    """A cluster that is heading elsewhere, or at another time."""

    fleet: Fleet
    name: str
    uuid: str
    # None: it takes no part then.
    before: Aim | None
    after: Aim | None


class WhatIf(msgspec.Struct, frozen=True):
    """All that other labels would come to."""

    shifts: tuple[Shift, ...]
    appear: tuple[Finding, ...]
    vanish: tuple[Finding, ...]


def what_if(
    world: World, changes: Iterable[Change], now: Instant, pace: Pace | None = None
) -> WhatIf:
    """What the world comes to as it is, and with some labels changed."""
    after = changed(world, changes)
    ahead = [forecast(each, now, pace) for each in (world, after)]
    found = [
        lint(each, now, pace, outlook) for each, outlook in zip((world, after), ahead, strict=True)
    ]
    plans = [decide(each, now) for each in (world, after)]
    aims = [_aims(plan, outlook) for plan, outlook in zip(plans, ahead, strict=True)]
    known = {**aims[0], **aims[1]}
    shifts = (
        Shift(stand.fleet, stand.member.cluster.name, uuid, *(_aim(each, uuid) for each in aims))
        for uuid, (stand, _) in known.items()
    )
    return WhatIf(
        tuple(each for each in shifts if each.before != each.after),
        tuple(each for each in found[1] if each not in found[0]),
        tuple(each for each in found[0] if each not in found[1]),
    )


def _aims(plan: UpgradePlan, outlook: Outlook) -> dict[str, tuple[Stand, Aim]]:
    found = {}
    for stand in stands(plan):
        uuid = stand.member.cluster.uuid
        found[uuid] = (stand, aim_of(stand, outlook.expected[uuid]))
    return found


def _aim(aims: Mapping[str, tuple[Stand, Aim]], uuid: str) -> Aim | None:
    return aims[uuid][1] if uuid in aims else None


def aim_of(stand: Stand, expected: Expected) -> Aim:
    """Where a cluster is heading, by what is decided and what is foreseen."""
    ours = [each.starts_at for each in expected.upgrades if each.asked_at is not None]
    return Aim(
        next=stand.next,
        reaches=expected.version,
        shut=stand.shut,
        starts_at=min(ours, default=None),
        done_at=expected.done_at,
    )


class NoLabelError(ValueError):
    """A label that nobody knows; the text offers the nearest."""


def edit_of(holder: Holder, labels: Mapping[str, str], label: str, value: str) -> Edit:
    """One label of a holder set to a value, or taken away if that is empty."""
    of_org = holder.kind == ORGANISATION
    known = ORG_LABELS if of_org else CLUSTER_LABELS
    of_sector = label.startswith((SECTOR_DEPENDENCIES, SECTOR_MAX_PARALLEL))
    if label not in known and label not in labels and not (of_org and of_sector):
        more = (f"{SECTOR_DEPENDENCIES}NAME", f"{SECTOR_MAX_PARALLEL}NAME") if of_org else ()
        raise NoLabelError(f'no label "{label}"; {nearest_or_all(label, (*known, *more))}')
    return Edit(label, labels.get(label), value or None)
