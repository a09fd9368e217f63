"""Who must act when an upgrade does not proceed, and so who is notified and who is paged.

    user      what owners wrote, or the state of their cluster: they are notified
    outside   another system does not answer, or says what cannot be read: tried again, then paged
    ours      our own mistake, or what we are not allowed: paged

Most waits need no action: a window, a soak, a sector that goes first.
"""

import enum

from tidegate.kinds.upgrades.core.reasons.label_reasons import LabelReason
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Reason


class FaultParty(enum.Enum):
    """Who must act."""

    USER = "user"
    OUTSIDE = "outside"
    OURS = "ours"


NOBODY = "nobody"
"""What stands for no fault where a word is needed."""

_FAULTS: dict[Reason, FaultParty] = {
    UpgradeReason.LabelsUnreadable: FaultParty.USER,
    UpgradeReason.OrgLabelsUnreadable: FaultParty.USER,
    UpgradeReason.ScheduleOver: FaultParty.USER,
    UpgradeReason.TwoUpgrades: FaultParty.USER,
    UpgradeReason.UpgradeFailed: FaultParty.USER,
    UpgradeReason.AddonFailed: FaultParty.USER,
    UpgradeReason.MutexUpgradeFailed: FaultParty.USER,
    VersionReason.VersionQuarantined: FaultParty.USER,
    UpgradeReason.SectorLimitUnreadable: FaultParty.USER,
    VersionReason.SectorCircle: FaultParty.USER,
    VersionReason.InheritanceUnverified: FaultParty.USER,
    VersionReason.AgreementMissing: FaultParty.USER,
    UpgradeReason.ClusterUnreadable: FaultParty.OUTSIDE,
    VersionReason.VersionUnreadable: FaultParty.OUTSIDE,
    VersionReason.SectorMemberUnreadable: FaultParty.OUTSIDE,
    UpgradeReason.ClusterUnread: FaultParty.OUTSIDE,
    UpgradeReason.OrgPartlyRead: FaultParty.OUTSIDE,
    LabelReason.LabelsUnread: FaultParty.OUTSIDE,
    VersionReason.SectorMemberUnread: FaultParty.OUTSIDE,
    UpgradeReason.MutexUnread: FaultParty.OUTSIDE,
    VersionReason.FailuresUnread: FaultParty.OUTSIDE,
    VersionReason.RefusedLately: FaultParty.OUTSIDE,
    UpgradeReason.HealthUnasked: FaultParty.OUTSIDE,
    VersionReason.AgreementRefused: FaultParty.OURS,
    BrakeReason.CalendarEnds: FaultParty.OURS,
    BrakeReason.CoverUnclear: FaultParty.OURS,
}


def fault_of(reason: Reason) -> FaultParty | None:
    """Who must act on a wait; None: it opens by itself, or was asked for."""
    return _FAULTS.get(reason)
