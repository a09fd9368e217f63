"""Whose fault it is that an upgrade does not go on, and so who is told and who is paged.

    user      what owners wrote, or what became of their cluster: they are told, nobody is paged
    outside   another system does not answer, or says what cannot be read: tried again, then paged
    ours      our own mistake, or what we are not allowed: paged

Most waits are nobody's fault: a window, a soak, a sector that goes first.
"""

import enum

from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Reason


class Fault(enum.Enum):
    """Who has to mend it."""

    USER = "user"
    OUTSIDE = "outside"
    OURS = "ours"


NOBODY = "nobody"
"""What stands for no fault where a word is needed."""

_FAULTS: dict[Reason, Fault] = {
    UpgradeReason.LabelsUnreadable: Fault.USER,
    UpgradeReason.OrgLabelsUnreadable: Fault.USER,
    UpgradeReason.ScheduleOver: Fault.USER,
    UpgradeReason.TwoUpgrades: Fault.USER,
    UpgradeReason.UpgradeFailed: Fault.USER,
    UpgradeReason.AddonFailed: Fault.USER,
    UpgradeReason.MutexUpgradeFailed: Fault.USER,
    VersionReason.VersionQuarantined: Fault.USER,
    UpgradeReason.SectorLimitUnreadable: Fault.USER,
    VersionReason.SectorCircle: Fault.USER,
    VersionReason.InheritanceUnverified: Fault.USER,
    VersionReason.AgreementMissing: Fault.USER,
    UpgradeReason.ClusterUnreadable: Fault.OUTSIDE,
    VersionReason.VersionUnreadable: Fault.OUTSIDE,
    VersionReason.SectorMemberUnreadable: Fault.OUTSIDE,
    UpgradeReason.ClusterUnread: Fault.OUTSIDE,
    UpgradeReason.OrgPartlyRead: Fault.OUTSIDE,
    VersionReason.SectorMemberUnread: Fault.OUTSIDE,
    UpgradeReason.MutexUnread: Fault.OUTSIDE,
    VersionReason.FailuresUnread: Fault.OUTSIDE,
    VersionReason.RefusedLately: Fault.OUTSIDE,
    UpgradeReason.HealthUnasked: Fault.OUTSIDE,
    BrakeReason.CalendarEnds: Fault.OURS,
    BrakeReason.CoverUnclear: Fault.OURS,
}


def fault_of(reason: Reason) -> Fault | None:
    """Whose fault a wait is; None: nobody's, it opens by itself or was asked for."""
    return _FAULTS.get(reason)
