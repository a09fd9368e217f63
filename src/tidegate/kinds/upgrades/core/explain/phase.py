"""Where a cluster stands in a word, and the one verdict it is counted by: for numbers and alerts.

What is under way on a cluster, or failed, goes before whatever its next version waits for.
"""

import enum

from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, doing_of
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.model.reason import Gate, Outcome
from tidegate.model.verdict import Verdict


class UpgradePhase(enum.Enum):
    """Where a cluster stands."""

    CURRENT = "current"  # nothing newer is offered
    WAITING = "waiting"  # for the gate its verdict names
    STARTING = "starting"  # an upgrade of it, or of a node pool, is asked for now
    UNDER_WAY = "under_way"  # an upgrade of it is to start, or has
    FAILED = "failed"  # its upgrade failed, and is still there
    EXCLUDED = "set_aside"  # its labels or the cluster itself cannot be read


# A channel is nothing to wait for: without a version only these say anything.
_OF_THE_CLUSTER = (Gate.READING, Gate.PROGRESS, Gate.LABELS, Gate.RULES)


def phase_of(summary: ClusterSummary) -> tuple[UpgradePhase, Verdict | None]:
    """Where a cluster stands, and what it waits for; None: nothing, it is current or goes on."""
    if summary.member.excluded is not None:
        return UpgradePhase.EXCLUDED, summary.member.excluded
    if summary.starts:
        return UpgradePhase.STARTING, None
    progress, own = summary.member.progress, _of_the_cluster(summary)
    if progress.failed:
        return UpgradePhase.FAILED, own or summary.shut
    if progress.under_way:
        return UpgradePhase.UNDER_WAY, None
    held = summary.shut if doing_of(summary.chief) in (StepKind.UPGRADE, StepKind.POOL) else own
    if (
        held is not None
        and held.gate is Gate.RULES
        and not summary.member.cluster.available_upgrades
    ):
        held = None  # there is nothing those rules could ask for
    return (UpgradePhase.CURRENT if held is None else UpgradePhase.WAITING), held


def _of_the_cluster(summary: ClusterSummary) -> Verdict | None:
    """What is shut whatever the version."""
    shut = [each for each in summary.chief.verdicts if each.outcome is not Outcome.PASS]
    return next((each for gate in _OF_THE_CLUSTER for each in shut if each.gate is gate), None)
