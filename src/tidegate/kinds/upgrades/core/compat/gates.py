"""Version gates: which of them a cluster must still agree to, and who agrees for it."""

from collections.abc import Mapping, Sequence

import msgspec

from tidegate.kinds.upgrades.core.compat.discovery import discover, environments, selected
from tidegate.kinds.upgrades.core.compat.record import (
    APPROVER,
    AbortError,
    LegacyRecord,
    error_text,
)
from tidegate.kinds.upgrades.core.labels.labels import split
from tidegate.kinds.upgrades.core.step import StepKind, step_of
from tidegate.kinds.upgrades.core.versions import VersionError, key_of, minor_of
from tidegate.kinds.upgrades.core.world import ManagedCluster, MinorGate, Organisation

_OCP = "api.openshift.com/gate-ocp"
_STS = "api.openshift.com/gate-sts"
_INGRESS = "api.openshift.com/gate-ingress"


def missing_gates(
    cluster: ManagedCluster, candidates: Sequence[str], gates: Sequence[MinorGate]
) -> list[MinorGate]:
    """Gates on the way to its candidates that it has not agreed to; unknown ones do not apply."""
    if not gates:
        return []
    minors = {minor_of(version) for version in candidates}
    own = key_of(cluster.version)[:2]
    return [
        gate
        for gate in gates
        if gate.prefix in minors
        and own < key_of(f"{gate.prefix}.0")[:2]
        and (gate.label in (_OCP, _INGRESS) or (gate.label == _STS and cluster.sts))
        and gate.id not in cluster.gate_agreements
    ]


def approve(record: LegacyRecord) -> None:
    """Agree to gates for all clusters that opted in, and for those whose organisation has labels.

    A label of an organisation, any of them, makes all its clusters take part; without a list of
    approvals they approve the first kind of gate.
    """
    for orgs in environments(record.world).values():
        try:
            _approve_all(record, orgs)
        except (AbortError, VersionError) as error:
            record.error(error_text(error))


def _approve_all(record: LegacyRecord, orgs: list[Organisation]) -> None:
    mine = selected(orgs, APPROVER)
    for ident, clusters in discover(record, orgs, by_org=True).items():
        if ident in mine:
            for cluster in clusters:
                _approve(record, cluster, mine[ident].labels)


def _approve(record: LegacyRecord, cluster: ManagedCluster, of_org: Mapping[str, str]) -> None:
    labels = {**of_org, **cluster.labels}
    enabled = split(labels.get("version-gate-approvals")) or (_OCP,)
    for gate in missing_gates(cluster, cluster.available_upgrades, record.world.gates):
        if gate.label in enabled:
            record.info(
                f"handle gate {gate.label} for cluster {cluster.name} {{gate_id = {gate.id}),"
                f" version = {gate.prefix}, cluster_id = {cluster.ident}, org_id = {cluster.org}}}"
            )
            if not record.world.dry_run:
                step = step_of(StepKind.AGREE, gate.prefix)
                record.ask(cluster, msgspec.structs.replace(step, ident=gate.id))
