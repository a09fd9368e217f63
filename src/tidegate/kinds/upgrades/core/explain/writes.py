"""What each write of a plan changes: of which cluster, from what, to what, and when it starts."""

from collections.abc import Iterable

import msgspec

from tidegate.kinds.upgrades.core.requests import OcmRequest, post_service_log, request_of
from tidegate.kinds.upgrades.core.rules.plan import OwnerNotice, UpgradePlan
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import ManagedCluster, MinorGate, UpgradeWorld
from tidegate.model.time import format_second

TELL = "tell"


class PlannedWrite(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a plan, and what it changes."""

    request: OcmRequest
    # None: a cluster that is not known here.
    cluster: ManagedCluster | None
    # What is done, as `Doing` names it, or `tell`: a service log is written.
    do: str
    # From what to what: versions, channels; a gate; the summary of a service log.
    before: str = ""
    after: str = ""
    pool: str = ""
    addon: str = ""
    # As it is written; empty: it starts nothing.
    starts_at: str = ""
    # The text of a service log, and what the predecessor writes of the same.
    text: str = ""
    known: str = ""

    def is_like(self, other: "PlannedWrite") -> bool:
        """Whether another asks for the same, in our words or in the predecessor's."""
        if self.request == other.request:
            return True
        told = self.do == other.do == TELL and self.cluster == other.cluster
        return told and self.after == other.after and self.known == other.text


def planned_writes(plan: UpgradePlan, world: UpgradeWorld) -> list[PlannedWrite]:
    """Everything a plan asks of OpenShift Cluster Manager, in order: actions, then service logs."""
    by_uuid = {each.cluster.uuid: each.cluster for each in plan.members}
    steps = [
        planned_step(by_uuid[each.target], each.change, world.gates)
        for each in plan.actions
        if isinstance(each.change, UpgradeStep)
    ]
    known = {each.uuid: each for each in world.clusters}
    return [*steps, *(_planned_log(known.get(each.uuid), each) for each in plan.owner_notices)]


def planned_step(
    cluster: ManagedCluster, step: UpgradeStep, gates: Iterable[MinorGate] = ()
) -> PlannedWrite:
    """One step of a cluster."""
    starts = step.starts_at is not None and step.doing not in (
        StepKind.CANCEL,
        StepKind.CANCEL_ADDON,
    )
    return PlannedWrite(
        request=request_of(cluster, step),
        cluster=cluster,
        do=step.doing.value,
        before=_before(cluster, step),
        after=_gate_name(step.ident, gates)
        if step.doing is StepKind.AGREE
        else step.revision or "",
        pool=step.pool,
        addon=step.addon,
        starts_at=format_second(step.starts_at) if starts and step.starts_at is not None else "",
    )


def _planned_log(cluster: ManagedCluster | None, owner_notice: OwnerNotice) -> PlannedWrite:
    return PlannedWrite(
        request=post_service_log(
            owner_notice.uuid,
            owner_notice.summary,
            owner_notice.description,
            severity=owner_notice.severity,
        ),
        cluster=cluster,
        do=TELL,
        after=owner_notice.summary,
        text=owner_notice.description,
        known=owner_notice.known,
    )


def _before(cluster: ManagedCluster, step: UpgradeStep) -> str:
    """What a step changes: a version or a channel; an agreement changes neither."""
    if step.doing is StepKind.AGREE:
        return ""
    if step.doing is StepKind.CHANNEL:
        return cluster.updates_from
    if step.addon:
        return next((each.version for each in cluster.addons if each.id == step.addon), "")
    if step.pool:
        return next((each.version for each in cluster.node_pools if each.id == step.pool), "")
    return cluster.version


def _gate_name(ident: str, gates: Iterable[MinorGate]) -> str:
    found = next((each for each in gates if each.id == ident), None)
    return f"{found.label.rpartition('/')[2]} for {found.prefix}" if found is not None else ""
