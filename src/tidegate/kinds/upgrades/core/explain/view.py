"""An organisation as rows: what every command and the API show of its plan."""

from collections.abc import Iterable, Mapping

from tidegate.explain.view import Needs, OptionRow, PartitionView, TargetRow
from tidegate.gates.approval import missing_approvals
from tidegate.kinds.upgrades.core.explain.label_rows import (
    label_options,
    request_rows,
    stopped,
)
from tidegate.kinds.upgrades.core.explain.phase import UpgradePhase, phase_of
from tidegate.kinds.upgrades.core.explain.summary import ClusterSummary, cluster_summaries
from tidegate.kinds.upgrades.core.journal.made import OrganisationPlan
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.kinds.upgrades.core.rules.progress import can_be_taken_back
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.model.counted import counted
from tidegate.model.plan import Option
from tidegate.model.time import Instant
from tidegate.model.verdict import all_pass

STATES = {
    UpgradePhase.CURRENT: "Done",
    UpgradePhase.WAITING: "Waiting",
    UpgradePhase.STARTING: "Waiting",  # a worker that acts asks for it, and then it is under way
    UpgradePhase.UNDER_WAY: "Updating",
    UpgradePhase.FAILED: "Failed",
    UpgradePhase.EXCLUDED: "Excluded",
}


def organisation_view(
    partition: str,
    made: OrganisationPlan,
    now: Instant,
    *,
    paused: bool,
    recheck_at: Instant | None,
) -> PartitionView:
    """The rows of an organisation."""
    found = sorted(cluster_summaries(made.plan), key=_place)
    labelling = made.labelling
    requests = () if labelling is None else tuple(request_rows(labelling))
    wanted = {} if labelling is None else label_options(labelling)
    rows = tuple(target_row(each, wanted) for each in found)
    failed = tuple(each.name for each in rows if each.state == "Failed")
    wrong = tuple(each.member.cluster.name for each in found if each.member.label_errors)
    moving = sum(each.state == "Updating" for each in rows)
    summary = "Paused" if paused else "Failed" if failed else "Progressing" if moving else ""
    waiting = sum(each.state == "Waiting" for each in rows)
    return PartitionView(
        partition=partition,
        summary=summary or ("Waiting" if waiting else "Succeeded"),
        now=now,
        headline=_headline(rows, paused),
        targets=rows,
        needs=Needs(
            approvals=missing_approvals(each.verdicts for each in made.plan.options),
            failures=failed,
            mistakes=wrong,
            requests=stopped(requests),
        ),
        recheck_at=recheck_at,
        paused=paused,
        gates=tuple(each.name for each in made.world.brakes.approvals),
        gate_versions=_gate_versions(found),
        requests=requests,
        breached=bool(failed),
    )


def _place(summary: ClusterSummary) -> tuple[int, str, str]:
    """Sectors in the order in which they get a version; a cluster stays where it is among them."""
    cluster = summary.member.cluster
    sector = brake_labels(summary.fleet.org, cluster).get("sector", "")
    return len(summary.fleet.org_policy.awaited(sector)), sector, cluster.name


def _headline(rows: tuple[TargetRow, ...], paused: bool) -> str:
    states = [each.state for each in rows]
    counts = [f"{states.count(word)} {word.lower()}" for word in dict.fromkeys(sorted(states))]
    return " · ".join((["Paused"] if paused else []) + [counted(len(rows), "cluster"), *counts])


def target_row(summary: ClusterSummary, wanted: Mapping[str, OptionRow] | None = None) -> TargetRow:
    """One cluster; `wanted`: what is requested of labels, by external id."""
    cluster = summary.member.cluster
    labels_option = (wanted or {}).get(cluster.uuid)
    phase, shut = phase_of(summary)
    labels = brake_labels(summary.fleet.org, cluster)
    return TargetRow(
        name=cluster.name,
        state=STATES[phase],
        group=labels.get("sector", ""),
        revision=cluster.version,
        next=summary.next,
        version=summary.chief.change.revision or "",
        starts=summary.starts,
        waits=_waits(summary, phase),
        withdrawable=_withdrawable(summary),
        shut=shut if shut is not None else summary.shut,
        options=(
            *map(_option, summary.options),
            *([] if labels_option is None else [labels_option]),
        ),
    )


def _waits(summary: ClusterSummary, phase: UpgradePhase) -> bool:
    """Whether it is to get a version, blocked ones included, or its upgrade has not begun."""
    scheduled = bool(summary.next) and not summary.member.progress.occupies
    return phase is UpgradePhase.WAITING or scheduled


def _withdrawable(summary: ClusterSummary) -> str:
    ahead = (each for each, _ in summary.member.progress.under_way if can_be_taken_back(each))
    return next((each.version for each in ahead), "")


def _option(option: Option) -> OptionRow:
    change = option.change
    doing = f"{change.doing.value} " if isinstance(change, UpgradeStep) else ""
    return OptionRow(
        change=f"{doing}{change.revision or ''}".strip(),
        verdicts=option.verdicts,
        starts=all_pass(option.verdicts),
    )


def _gate_versions(found: Iterable[ClusterSummary]) -> dict[str, tuple[str, ...]]:
    """The versions that clusters go to next, by the gate that asks for an approval of each."""
    versions: dict[str, set[str]] = {}
    for each in found:
        revision = each.chief.change.revision
        for gate in missing_approvals([each.chief.verdicts]) if revision else ():
            versions.setdefault(gate, set()).add(revision or "")
    return {gate: tuple(sorted(some)) for gate, some in versions.items()}
