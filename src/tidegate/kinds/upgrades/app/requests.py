"""Requests to OpenShift Cluster Manager: one for each step that was decided."""

from tidegate.engine.kind import ActRefusedError
from tidegate.kinds.upgrades.app.label_edits import write_labels
from tidegate.kinds.upgrades.core.journal.facts import Job
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.kinds.upgrades.ocm.port import (
    UNAUTHORIZED,
    ManagedClusters,
    OcmRefusedError,
    Upgradable,
)
from tidegate.model.errors import StaleError
from tidegate.model.time import format_second


async def request(manager: ManagedClusters, state: UpgradeState, job: Job) -> str:
    """Make one request; what was asked for, in words. StaleError if it is not wanted any more.

    ActRefusedError if it was refused. 401: our credentials are wrong; this cluster was not refused.
    """
    cluster = state.clusters.get(job.target)
    try:
        if job.change.doing is StepKind.LABELS:
            await write_labels(manager, state, job)
        elif cluster is None:
            raise StaleError("the cluster is gone")
        else:
            await _send(manager, cluster, job)
    except OcmRefusedError as error:
        if error.status == UNAUTHORIZED:
            raise
        raise ActRefusedError(str(error)) from error
    return words(job)


async def _send(manager: ManagedClusters, cluster: ManagedCluster, job: Job) -> None:
    step, ident = job.change, cluster.ident
    of = Upgradable(ident, cluster.is_hosted, step.pool)
    if step.doing is StepKind.AGREE:
        await manager.agree(ident, step.ident)
    elif step.doing is StepKind.CHANNEL:
        await manager.switch_channel(ident, step.revision or "")
    elif step.doing is StepKind.CANCEL:
        await manager.delete_policy(of, step.ident)
    elif step.doing is StepKind.CANCEL_ADDON:
        await manager.delete_addon_plan(ident, step.ident)
    elif step.starts_at is not None and step.doing is StepKind.ADDON:
        when = format_second(step.starts_at)
        await manager.create_addon_plan(ident, step.addon, step.revision or "", when)
    elif step.starts_at is not None:
        await manager.create_policy(of, step.revision or "", format_second(step.starts_at))


def words(job: Job) -> str:
    """The request in words, for the journal and for logs."""
    step = job.change
    part = f" of pool {step.pool}" if step.pool else ""
    part = f" of add-on {step.addon}" if step.addon else part
    starts = f" at {format_second(step.starts_at)}" if step.starts_at is not None else ""
    return f"{step.doing.value} {step.revision or step.ident}{part}{starts}"
