"""Service logs before an upgrade starts, for owners who want them: to what, when, how to stop it.

They are about upgrades that were requested and accepted just now, and those that are there and
have not started: a log that could not be written in one round is written in the next.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec

from tidegate.kinds.upgrades.core.labels.labels import PREFIX
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.kinds.upgrades.core.rules.plan import OwnerNotice, UpgradePlan
from tidegate.kinds.upgrades.core.rules.progress import can_be_taken_back
from tidegate.kinds.upgrades.core.schedule.schedule import LAST_LOOK
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.model.time import SECOND, Instant, format_second, parse_instant

SUMMARY = "Cluster upgrade is about to start"
# Of those that OpenShift Cluster Manager knows, the one for what needs no action.
SEVERITY = "Low"
_STARTS = (StepKind.UPGRADE, StepKind.POOL, StepKind.ADDON)
_BLOCKED = f"{PREFIX}blocked-versions"


class UpcomingUpgrade(msgspec.Struct, frozen=True):
    """An upgrade that was accepted, and has not started."""

    member: FleetMember
    version: str
    starts_at: Instant
    pool: str = ""  # empty: the cluster, or its control plane
    addon: str = ""  # empty: no add-on

    def owner_notice(self, *, takes_back: bool = True) -> OwnerNotice:
        """Service log: to what, when, how to stop it; `takes_back`: by a block."""
        what = f"node pool {self.pool}" if self.pool else "the cluster"
        what = f"add-on {self.addon}" if self.addon else what
        when = f"{format_second(self.starts_at)}{_local(self.starts_at, self.member.policy.zone)}"
        stop = "delete its upgrade policy in OpenShift Cluster Manager before then"
        if takes_back:
            by = format_second(Instant(self.starts_at - LAST_LOOK))
            stop = f"add {self._pattern()} to the label {_BLOCKED} of its subscription before {by}"
        text = f"- {what} is upgraded to {self.version}, from {when} on\n- to stop it, {stop}"
        return OwnerNotice(self.member.cluster.uuid, SUMMARY, text, SEVERITY)

    def _pattern(self) -> str:
        """A pattern that blocks this version and no other: 4.16.4 is found in 4.16.40, too."""
        name = f"{self.addon}/{self.version}" if self.addon else self.version
        return f"^{name}$".replace(".", r"\.").replace("+", r"\+")


def upcoming(
    plan: UpgradePlan, taken: Iterable[tuple[str, UpgradeStep]], now: Instant
) -> Iterator[UpcomingUpgrade]:
    """What is to start: `taken` was asked for just now, by the external id of its cluster.

    Shortly before the start there is no way to stop it that could be named.
    """
    known = {each.cluster.uuid: each for each in plan.members}
    for uuid, step in taken:
        if step.doing in _STARTS and step.starts_at is not None and uuid in known:
            version = step.revision or ""
            yield UpcomingUpgrade(known[uuid], version, step.starts_at, step.pool, step.addon)
    for member in plan.members:
        progress = member.progress
        parts = [(upgrade, (pool, "")) for upgrade, pool in progress.under_way]
        parts += [(upgrade, ("", addon)) for upgrade, addon in progress.addons]
        for upgrade, part in parts:
            starts_at = _moment(upgrade.next_run)
            # One without an id was not read yet, and perhaps was never made.
            there = bool(upgrade.id) and can_be_taken_back(upgrade)
            if there and starts_at is not None and starts_at - LAST_LOOK > now:
                yield UpcomingUpgrade(member, upgrade.version, starts_at, *part)


def _local(moment: Instant, zone: str) -> str:
    """The same on the clock of its schedule; nothing where that is UTC."""
    if not zone:
        return ""
    local = datetime.fromtimestamp(moment // SECOND, UTC).astimezone(ZoneInfo(zone))
    return f" ({local:%Y-%m-%d %H:%M} in {zone})"


def _moment(text: str | None) -> Instant | None:
    try:
        return parse_instant(text) if text is not None else None
    except ValueError:
        return None
