"""Expedited versions: one that is wanted now, for a reason, for a while.

An expedited version skips soak and windows, and nothing else: mutexes, sectors, holds, freezes,
blocks and agreements stand. It starts at the first whole minute that OpenShift Cluster Manager
takes.
"""

from collections.abc import Iterable

from tidegate.gates.block import is_like
from tidegate.gates.expedite import Expedite
from tidegate.gates.scope import Cover, KindOfChange, cover, in_force
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet, brake_labels
from tidegate.kinds.upgrades.core.schedule.schedule import lead_of, read_schedule
from tidegate.model.cron.cron import next_after
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict

_EVERY_MINUTE = "* * * * *"


class Expedites:
    """Who is expedited to what, in one organisation."""

    def __init__(self, every: Iterable[Expedite], fleet: OrganisationFleet, now: Instant) -> None:
        self._every = sorted((e for e in every if in_force(e, now)), key=lambda each: each.name)
        self._fleet = fleet
        self._lead = lead_of(fleet.org.notice_lead)
        fires = next_after(read_schedule(_EVERY_MINUTE), now + self._lead.least)
        self._starts_at = fires if fires is not None else Instant(now + self._lead.most)

    def of(
        self, member: FleetMember, version: str, starts_at: Instant | None = None
    ) -> tuple[Verdict, Verdict, Instant] | None:
        """What window and soak say of an expedited version, and when it starts; None: it is not.

        It starts at the first minute that can be asked for, unless the moment is given.
        """
        for each in self._every:
            if is_like(version, each.version) and self._covers(each, member):
                moment, ends = starts_at, each.expires_at
                if moment is None:
                    moment = self._starts_at
                    until = Instant(moment - self._lead.least)
                    ends = until if ends is None else min(until, ends)
                who = (each.why, each.owner)
                return (
                    verdict(UpgradeReason.WindowExpedited, moment, *who, until=ends),
                    verdict(VersionReason.SoakExpedited, *who, until=each.expires_at),
                    moment,
                )
        return None

    def _covers(self, expedite: Expedite, member: FleetMember) -> bool:
        """Where a name is not unique, the cluster is not known, and none is expedited."""
        if expedite.scope.targets is not None and not member.unique:
            return False
        labels = brake_labels(self._fleet.org, member.cluster)
        kind, name = KindOfChange.UPGRADES, member.cluster.name
        return cover(expedite.scope, kind, name, labels) is Cover.YES
