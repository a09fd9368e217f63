"""Service logs before an upgrade starts, for owners who want them: to what, when, how to stop it.

They are about upgrades that were requested and accepted just now, and those that are there and
have not started: a log that could not be written in one round is written in the next.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from tidegate.kinds.upgrades.core.labels.labels import PREFIX
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember
from tidegate.kinds.upgrades.core.rules.plan import OwnerNotice, UpgradePlan
from tidegate.kinds.upgrades.core.rules.progress import can_be_taken_back
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.model.time import SECOND, Instant, format_second, parse_instant

SUMMARY = "Cluster upgrade is about to start"
# Of those that OpenShift Cluster Manager knows, the one for what needs no action.
SEVERITY = "Low"
_STARTS = (StepKind.UPGRADE, StepKind.POOL, StepKind.ADDON)
_BLOCKED = f"{PREFIX}blocked-versions"


def upcoming(
    plan: UpgradePlan, taken: Iterable[tuple[str, UpgradeStep]], now: Instant
) -> Iterator[OwnerNotice]:
    """What is to start: `taken` was asked for just now, by the external id of its cluster."""
    known = {each.cluster.uuid: each for each in plan.members}
    for uuid, step in taken:
        if step.doing in _STARTS and step.starts_at is not None and uuid in known:
            version, part = step.revision or "", (step.pool, step.addon)
            yield _owner_notice(known[uuid], part, version, step.starts_at)
    for member in plan.members:
        progress = member.progress
        parts = [(upgrade, (pool, "")) for upgrade, pool in progress.under_way]
        parts += [(upgrade, ("", addon)) for upgrade, addon in progress.addons]
        for upgrade, part in parts:
            starts_at = _moment(upgrade.next_run)
            # One without an id was not read yet, and perhaps was never made.
            there = bool(upgrade.id) and can_be_taken_back(upgrade)
            if there and starts_at is not None and starts_at > now:
                yield _owner_notice(member, part, upgrade.version, starts_at)


def _owner_notice(
    member: FleetMember, part: tuple[str, str], version: str, starts_at: Instant
) -> OwnerNotice:
    pool, addon = part
    what = f"add-on {addon}" if addon else f"node pool {pool}" if pool else "the cluster"
    name = f"{addon}/{version}" if addon else version
    when = f"{format_second(starts_at)}{_local(starts_at, member.policy.zone)}"
    text = (
        f"- {what} is upgraded to {version}, from {when} on\n"
        f"- to stop it, add {name} to the label {_BLOCKED} of its subscription before then"
    )
    return OwnerNotice(member.cluster.uuid, SUMMARY, text, SEVERITY)


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
