"""What owners who asked for it are told before an upgrade starts: to what, and when.

Told of are upgrades that were asked for just now and taken, and those that are there already and
have not started: what could not be told in one round is told in the next, in the same words.
"""

from collections.abc import Iterable, Iterator

from tidegate.core.model.time import Instant, format_second, parse_instant
from tidegate.core.upgrades.deciding.plan import Telling, UpgradePlan
from tidegate.core.upgrades.deciding.standing import can_be_taken_back
from tidegate.core.upgrades.step import Doing, Step

SUMMARY = "Cluster upgrade is about to start"
# Of those that OpenShift Cluster Manager knows, the one for what needs nobody to act.
SEVERITY = "Low"
_STARTS = (Doing.UPGRADE, Doing.POOL)


def upcoming(
    plan: UpgradePlan, taken: Iterable[tuple[str, Step]], now: Instant
) -> Iterator[Telling]:
    """What is to start: `taken` was asked for just now, by the external id of its cluster."""
    for uuid, step in taken:
        if step.doing in _STARTS and step.starts_at is not None:
            yield _telling(uuid, step.pool, step.revision or "", step.starts_at)
    for member in plan.members:
        for upgrade, pool in member.standing.under_way:
            starts_at = _moment(upgrade.next_run)
            if can_be_taken_back(upgrade) and starts_at is not None and starts_at > now:
                yield _telling(member.cluster.uuid, pool, upgrade.version, starts_at)


def _telling(uuid: str, pool: str, version: str, starts_at: Instant) -> Telling:
    what = f"node pool {pool}" if pool else "the cluster"
    text = f"- {what} is upgraded to {version}, from {format_second(starts_at)} on"
    return Telling(uuid, SUMMARY, text, SEVERITY)


def _moment(text: str | None) -> Instant | None:
    try:
        return parse_instant(text) if text is not None else None
    except ValueError:
        return None
