"""Whose fault it is that an upgrade does not go on, and so who is told and who is paged.

    user      what owners wrote, or what became of their cluster: they are told, nobody is paged
    outside   another system does not answer, or says what cannot be read: tried again, then paged
    ours      our own mistake, or what we are not allowed: paged

Most waits are nobody's fault: a window, a soak, a sector that goes first.
"""

import enum

from tidegate.model.reasons import Reason


class Fault(enum.Enum):
    """Who has to mend it."""

    USER = "user"
    OUTSIDE = "outside"
    OURS = "ours"


NOBODY = "nobody"
"""What stands for no fault where a word is needed."""

_FAULTS: dict[Reason, Fault] = {
    Reason.LabelsUnreadable: Fault.USER,
    Reason.OrgLabelsUnreadable: Fault.USER,
    Reason.ScheduleOver: Fault.USER,
    Reason.TwoUpgrades: Fault.USER,
    Reason.UpgradeFailed: Fault.USER,
    Reason.AddonFailed: Fault.USER,
    Reason.MutexUpgradeFailed: Fault.USER,
    Reason.VersionQuarantined: Fault.USER,
    Reason.SectorLimitUnreadable: Fault.USER,
    Reason.SectorCircle: Fault.USER,
    Reason.InheritanceUnverified: Fault.USER,
    Reason.AgreementMissing: Fault.USER,
    Reason.ClusterUnreadable: Fault.OUTSIDE,
    Reason.VersionUnreadable: Fault.OUTSIDE,
    Reason.SectorMemberUnreadable: Fault.OUTSIDE,
    Reason.ClusterUnread: Fault.OUTSIDE,
    Reason.OrgPartlyRead: Fault.OUTSIDE,
    Reason.SectorMemberUnread: Fault.OUTSIDE,
    Reason.MutexUnread: Fault.OUTSIDE,
    Reason.FailuresUnread: Fault.OUTSIDE,
    Reason.RefusedLately: Fault.OUTSIDE,
    Reason.HealthUnasked: Fault.OUTSIDE,
    Reason.CalendarEnds: Fault.OURS,
    Reason.CoverUnclear: Fault.OURS,
}


def fault_of(reason: Reason) -> Fault | None:
    """Whose fault a wait is; None: nobody's, it opens by itself or was asked for."""
    return _FAULTS.get(reason)
