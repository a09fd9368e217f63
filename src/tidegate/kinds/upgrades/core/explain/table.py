"""A cluster in a few words: what it waits for, and how far it is."""

from collections.abc import Iterable

from tidegate.kinds.upgrades.core.explain.stand import Stand
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.rules.fleet import Fleet, Member
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.step import Step
from tidegate.model.time import format_second


def why_cell(stand: Stand) -> str:
    """What happens now, or the gate that says most."""
    if text := aside_words(stand.member):
        return text
    if stand.shut is not None:
        return stand.why()
    step = stand.chief.change
    if not isinstance(step, Step):
        return ""
    pool = f"node pool {step.pool} " if step.pool else ""
    if step.starts_at is not None:
        return f"{pool}starts {format_second(step.starts_at)}"
    return f"{step.doing.value} {step.revision}: now"


def aside_words(member: Member) -> str:
    """What of its labels excludes a cluster; empty: nothing does."""
    if member.aside is None or member.aside.reason is not UpgradeReason.LabelsUnreadable:
        return ""
    first, *others = member.complaints
    more = f" (+{len(others)} more)" if others else ""
    return f"excluded, {first.label}: {first.words}{more}"


def word_of(stand: Stand) -> str:
    """Where a cluster stands, in a word or two."""
    standing = stand.member.standing
    if stand.member.aside is not None:
        return "excluded"
    if stand.starts:
        return "start now"
    if standing.failed:
        return "failed"
    if standing.under_way:
        return "under way"
    return "waiting" if stand.next else "up to date"


def by_fleet(plan: UpgradePlan, every: Iterable[Stand]) -> list[tuple[Fleet, list[Stand]]]:
    """Clusters by organisation, in the order in which both are looked at."""
    mine: dict[str, list[Stand]] = {fleet.key: [] for fleet in plan.fleets}
    for each in every:
        mine[each.fleet.key].append(each)
    return [(fleet, mine[fleet.key]) for fleet in plan.fleets if mine[fleet.key]]
