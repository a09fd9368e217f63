"""A plan of upgrades as `decide upgrades` answers it: what is written, kept, counted, and why."""

from typing import Any

import msgspec

from tidegate.explain.verdict_doc import verdict_doc
from tidegate.kinds.upgrades.core.rules.fleet import SERVICE
from tidegate.kinds.upgrades.core.rules.numbers import numbers
from tidegate.kinds.upgrades.core.rules.plan import Telling, UpgradePlan
from tidegate.kinds.upgrades.core.step import Doing, Step
from tidegate.kinds.upgrades.core.world import Cluster, World
from tidegate.kinds.upgrades.wire.state import write_ledger
from tidegate.model.plan import Option
from tidegate.model.time import SECOND, Instant, format_instant, format_second
from tidegate.model.verdict import Verdict, all_pass

_CLUSTERS = "/api/clusters_mgmt/v1/clusters"
_ADDONS = "/api/addons_mgmt/v1/clusters"
_LOGS = "/api/service_logs/v1/cluster_logs"
_SEVERITY = "Moderate"
_encode = msgspec.json.Encoder().encode

Write = tuple[str, str, dict[str, Any]]


def answer_plan(
    ident: object, world: World, plan: UpgradePlan, state: dict[str, Any], now: Instant
) -> dict[str, Any]:
    """The whole answer; `state` as it was read."""
    if not world.dry_run:
        state = state | {key: write_ledger(each, now) for key, each in plan.ledgers.items()}
    after = None if plan.recheck_at is None else (plan.recheck_at - now) / SECOND
    return {
        **({} if ident is None else {"id": ident}),
        "writes": [] if world.dry_run else writes_of(plan),
        "state": state,
        "metrics": numbers(world, plan, now),
        "warnings": plan.warnings,
        "recheckAfter": after,
        "targets": targets_of(plan),
    }


def writes_of(plan: UpgradePlan) -> list[Write]:
    """Everything that is asked of OpenShift Cluster Manager, in order."""
    by_uuid = {each.cluster.uuid: each.cluster for each in plan.members}
    found = [
        _write(by_uuid[each.target], each.change)
        for each in plan.actions
        if isinstance(each.change, Step)
    ]
    return [*found, *(_log(each) for each in plan.tellings)]


def _write(cluster: Cluster, step: Step) -> Write:
    path = f"{_CLUSTERS}/{cluster.ident}"
    version = step.revision or ""
    if step.doing is Doing.CHANNEL:
        return ("PATCH", path, {"channel": version})
    if step.doing is Doing.AGREE:
        return ("POST", f"{path}/gate_agreements", {"version_gate": {"id": step.ident}})
    if step.addon:
        return _addon_write(cluster, step)
    policies = f"{path}/{_policies(cluster, step)}"
    if step.doing is Doing.CANCEL:
        return ("DELETE", f"{policies}/{step.ident}", {})
    body: dict[str, Any] = {"version": version, "schedule_type": "manual"}
    if cluster.is_hosted:
        what = "NodePool" if step.pool else "ControlPlane"
        body |= {"upgrade_type": what, "cluster_id": cluster.ident}
    starts_at = step.starts_at if step.starts_at is not None else Instant(0)
    return ("POST", policies, body | {"next_run": format_second(starts_at)})


def _addon_write(cluster: Cluster, step: Step) -> Write:
    plans = f"{_ADDONS}/{cluster.ident}/upgrade_plans"
    if step.doing is Doing.CANCEL_ADDON:
        return ("DELETE", f"{plans}/{step.ident}", {})
    starts_at = step.starts_at if step.starts_at is not None else Instant(0)
    body = {
        "version": step.revision,
        "type": "manual",
        "addon_id": step.addon,
        "cluster_id": cluster.ident,
        "next_run": format_second(starts_at),
    }
    return ("POST", plans, body)


def _policies(cluster: Cluster, step: Step) -> str:
    if step.pool:
        return f"node_pools/{step.pool}/upgrade_policies"
    return "control_plane/upgrade_policies" if cluster.is_hosted else "upgrade_policies"


def _log(telling: Telling) -> Write:
    body = {
        "cluster_uuid": telling.uuid,
        "service_name": SERVICE,
        "summary": telling.summary,
        "description": telling.description,
        "severity": _SEVERITY,
    }
    return ("POST", _LOGS, body)


def targets_of(plan: UpgradePlan) -> list[dict[str, Any]]:
    """Every cluster with all its options and what every gate says of them."""
    options: dict[int, list[Option]] = {}
    for option in plan.options:
        options.setdefault(option.target, []).append(option)
    known: dict[int, msgspec.Raw] = {}  # verdicts are shared, so each becomes text once
    return [
        {
            "cluster": member.cluster.name,
            "uuid": member.cluster.uuid,
            "org": member.cluster.org,
            "version": member.cluster.version,
            "options": [_option(each, known) for each in options.get(at, ())],
        }
        for at, member in enumerate(plan.members)
    ]


def _option(option: Option, known: dict[int, msgspec.Raw]) -> dict[str, Any]:
    change = option.change
    go = all_pass(option.verdicts)
    doc: dict[str, Any] = {"go": go}
    if isinstance(change, Step):
        doc |= {"do": change.doing.value, "version": change.revision}
        if change.pool:
            doc["pool"] = change.pool
        if change.addon:
            doc["addon"] = change.addon
        if go and change.starts_at is not None:
            doc["startsAt"] = format_instant(change.starts_at)
    doc["verdicts"] = [_verdict(each, known) for each in option.verdicts]
    return doc


def _verdict(one: Verdict, known: dict[int, msgspec.Raw]) -> msgspec.Raw:
    raw = known.get(id(one))
    if raw is None:
        raw = known[id(one)] = msgspec.Raw(_encode(verdict_doc(one)))
    return raw
