"""A whole run: environment by environment, organisation by organisation."""

from functools import partial

from tidegate.kinds.upgrades.core.compat.cluster_pass import LegacyPass
from tidegate.kinds.upgrades.core.compat.discovery import environments
from tidegate.kinds.upgrades.core.compat.gates import approve
from tidegate.kinds.upgrades.core.compat.record import (
    AbortError,
    LegacyRecord,
    cluster_path,
    error_text,
)
from tidegate.kinds.upgrades.core.compat.soak import inherit, remaining, updated
from tidegate.kinds.upgrades.core.compat.specs import OrgSpec, oldest, prepare
from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.requests import post_service_log
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep, step_of
from tidegate.kinds.upgrades.core.versions import VersionError
from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld

_GATES = "/api/clusters_mgmt/v1/version_gates"
_LOGS = "/api/service_logs/v1"


def run(world: UpgradeWorld) -> LegacyRecord:
    """What AUS does in one run; the gate approver if that is asked for."""
    record = LegacyRecord(world)
    if world.approver:
        approve(record)
        return record
    for env, orgs in environments(world).items():
        try:
            prepared = prepare(record, orgs)
        except AbortError as error:
            failed = f"Failed to get org upgrade specs for OCM environment {env}. Skipping"
            record.error(f"{failed} | {error_text(error)}")
            record.count("aus_ocm_environment_errors_total", env, 1)
            continue
        for spec in prepared:
            record.refused.update(uuid for uuid, _ in spec.cluster_errors)
            _organisation(record, spec)
    return record


def _organisation(record: LegacyRecord, spec: OrgSpec) -> None:
    org = spec.org
    failed = 0
    try:
        _show(record, spec)
        if spec.cluster_errors or spec.org_errors:
            _signal(record, spec)
        else:
            _process(record, spec)
    except (AbortError, VersionError, OverflowError) as error:
        failed = 1
        what = f"Failed to reconcile cluster upgrades in OCM organization {org.id}"
        record.error(f"{what} | {error_text(error)}")
    record.count("aus_organization_reconciled_total", org.env, 1, org_id=org.id)
    record.count("aus_organization_reconcile_errors_total", org.env, failed, org_id=org.id)


def _show(record: LegacyRecord, spec: OrgSpec) -> None:
    org = spec.org
    wrong = len(spec.cluster_errors) + len(spec.org_errors)
    record.count("aus_organization_validation_errors", org.env, wrong, org_id=org.id)
    for one in spec.specs:
        cluster, wants = one.cluster, one.wants
        record.count(
            "aus_cluster_upgrade_policy_info",
            org.env,
            1.0,
            cluster_uuid=cluster.uuid,
            org_id=org.id,
            org_name=org.name,
            channel=cluster.updates_from,
            current_version=oldest(cluster),
            cluster_name=cluster.name,
            schedule=wants.schedule,
            sector=wants.sector or "",
            mutexes=",".join(wants.mutexes or ()),
            soak_days=str(wants.soak_days),
            workloads=",".join(wants.workloads),
            product=cluster.product,
            hypershift="true" if cluster.hypershift else "false",
        )
        for source, errors, _ in one.health:
            labels = {"cluster_uuid": cluster.uuid, "health_source": source}
            record.count("aus_cluster_health_state", org.env, 0.0 if errors else 1.0, **labels)


def _signal(record: LegacyRecord, spec: OrgSpec) -> None:
    """Tell the owners what is wrong, in service logs of their clusters."""
    if record.world.dry_run:
        return
    where = f"{spec.org.env} org {spec.org.id}"
    if spec.cluster_errors:
        errors = ", ".join(
            f"ClusterValidationError(cluster_uuid={uuid!r}, messages={messages!r})"
            for uuid, messages in spec.cluster_errors
        )
        record.warning(f"Cluster config errors found in {where}: [{errors}]")
        for uuid, messages in spec.cluster_errors:
            text = "\n".join(f"- {message}" for message in messages)
            _post(record, uuid, "Cluster upgrade policy validation errors", text)
    if spec.org_errors:
        errors = ", ".join(
            f"OrganizationValidationError(message={message!r})" for message in spec.org_errors
        )
        record.warning(f"Organization config errors found in {where}: [{errors}]")
        for one in spec.specs:
            text = "\n".join(spec.org_errors)
            _post(record, one.cluster.uuid, "AUS configuration error on organization", text)


def _post(record: LegacyRecord, uuid: str, summary: str, description: str) -> None:
    record.read(f"{_LOGS}/clusters/cluster_logs")
    record.post(post_service_log(uuid, summary, description))


def _process(record: LegacyRecord, spec: OrgSpec) -> None:
    env, ident = spec.org.env, spec.org.id
    _read_upgrades(record, spec)
    history, unhealthy = updated(record, spec)
    for version, one in history.versions.items():
        for workload, soak in one.workloads.items():
            labels = {"org_id": ident, "version": version, "workload": workload}
            record.count("aus_organization_version_data", env, soak.soak_days, **labels)
    # The predecessor adds it all up twice, once to show and once to keep, and says so twice.
    for line in (*unhealthy, *unhealthy):
        record.debug(line)
    record.save(spec.key, history)
    history, minima = inherit(record, spec, history)
    passed = LegacyPass(record, spec, history, minima)
    _show_remaining(record, spec, passed, history)
    record.read(_GATES)
    passed.decide()
    _act(record, spec, passed)


def _read_upgrades(record: LegacyRecord, spec: OrgSpec) -> None:
    for one in spec.specs:
        cluster = one.cluster
        if not cluster.is_hosted:
            record.read(cluster_path(cluster.ident, "upgrade_policies"))
            continue
        record.read(cluster_path(cluster.ident, "control_plane", "upgrade_policies"))
        for pool in cluster.node_pools:
            record.read(cluster_path(cluster.ident, "node_pools", pool.id, "upgrade_policies"))


def _show_remaining(
    record: LegacyRecord, spec: OrgSpec, passed: LegacyPass, history: SoakHistory
) -> None:
    name = "aus_cluster_version_remaining_soak_days"
    for one in spec.specs:
        is_blocked = partial(passed.is_blocked, one)
        for version, left in remaining(one, history, record.world.now, is_blocked):
            labels = {"cluster_uuid": one.cluster.uuid, "soaking_version": version}
            record.count(name, spec.org.env, left, **labels)


def _act(record: LegacyRecord, spec: OrgSpec, passed: LegacyPass) -> None:
    """Ask for every upgrade, then for every switch; a refusal of one stops no other."""
    dry, org = record.world.dry_run, spec.org
    for start in passed.starts:
        record.info(start.log)
        if not dry:
            _ask(record, start.cluster, start.step)
    refused = 0
    for cluster, target in passed.switches:
        before = cluster.updates_from
        record.info(f"[{org.id}/{cluster.name}] switching channel {before} -> {target}")
        if dry:
            continue
        if _ask(record, cluster, step_of(StepKind.CHANNEL, target)):
            labels = {"org_id": org.id, "cluster_uuid": cluster.uuid}
            labels |= {"from_channel": before, "to_channel": target}
            record.count("aus_cluster_channel_switch", org.env, 1, **labels)
        else:
            refused += 1
    if refused:
        what = "sub-exception" if refused == 1 else "sub-exceptions"
        raise AbortError("ExceptionGroup", f"channel switch errors ({refused} {what})")


def _ask(record: LegacyRecord, cluster: ManagedCluster, step: UpgradeStep) -> bool:
    """Whether OCM accepted the request."""
    try:
        record.ask(cluster, step)
    except AbortError as error:
        record.error(f"{cluster.name}: {error}")
        return False
    return True
