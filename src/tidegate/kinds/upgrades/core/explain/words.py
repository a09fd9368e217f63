"""A cluster in a few words: what it waits for, and how far it is."""

from collections.abc import Iterable

from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.core.explain.phase import UpgradePhase, phase_of
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.model.time import format_second


def why_cell(summary: ClusterSummary) -> str:
    """What happens now, or the gate that says most."""
    if text := exclusion_words(summary.member):
        return text
    if summary.shut is not None:
        return summary.why()
    step = summary.chief.change
    if not isinstance(step, UpgradeStep):
        return ""
    pool = f"node pool {step.pool} " if step.pool else ""
    if step.starts_at is not None:
        return f"{pool}starts {format_second(step.starts_at)}"
    return f"{step.doing.value} {step.revision}: now"


def exclusion(member: FleetMember) -> str:
    """Why a cluster is excluded, with the label at fault; empty: it is not."""
    if member.excluded is None:
        return ""
    return exclusion_words(member) or sentence(member.excluded)


def exclusion_words(member: FleetMember) -> str:
    """What of its labels excludes a cluster; empty: nothing does."""
    if member.excluded is None or member.excluded.reason is not UpgradeReason.LabelsUnreadable:
        return ""
    first, *others = member.label_errors
    more = f" (+{len(others)} more)" if others else ""
    return f"excluded, {first.label}: {first.words}{more}"


# A cluster's phase in a word or two, as `why`, `get clusters` and the story of a rehearsal have it.
_PHASES = {
    UpgradePhase.CURRENT: "up to date",
    UpgradePhase.WAITING: "waiting",
    UpgradePhase.STARTING: "start now",
    UpgradePhase.UNDER_WAY: "under way",
    UpgradePhase.FAILED: "failed",
    UpgradePhase.EXCLUDED: "excluded",
}


def phase_word(summary: ClusterSummary) -> str:
    """The phase of a cluster: the one that `status`, `show` and metrics count it by."""
    return _PHASES[phase_of(summary)[0]]


def by_fleet(
    plan: UpgradePlan, every: Iterable[ClusterSummary]
) -> list[tuple[OrganisationFleet, list[ClusterSummary]]]:
    """Clusters by organisation, in the order in which both are looked at."""
    mine: dict[str, list[ClusterSummary]] = {fleet.key: [] for fleet in plan.fleets}
    for each in every:
        mine[each.fleet.key].append(each)
    return [(fleet, mine[fleet.key]) for fleet in plan.fleets if mine[fleet.key]]
