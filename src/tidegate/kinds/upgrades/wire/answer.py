"""A plan of upgrades as `decide upgrades` answers it: what is written, kept, counted, and why."""

from typing import Any

import msgspec

from tidegate.explain.verdict_part import verdict_part
from tidegate.kinds.upgrades.core.explain.numbers import numbers
from tidegate.kinds.upgrades.core.requests import Write, post_service_log, request_of
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.kinds.upgrades.wire.state import write_ledger
from tidegate.model.plan import Option
from tidegate.model.time import SECOND, Instant, format_instant
from tidegate.model.verdict import Verdict, all_pass

_encode = msgspec.json.Encoder().encode


def answer_plan(
    ident: object, world: UpgradeWorld, plan: UpgradePlan, state: dict[str, Any], now: Instant
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
        request_of(by_uuid[each.target], each.change)
        for each in plan.actions
        if isinstance(each.change, UpgradeStep)
    ]
    found += [
        post_service_log(each.uuid, each.summary, each.description, severity=each.severity)
        for each in plan.owner_notices
    ]
    return [each.write() for each in found]


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
    if isinstance(change, UpgradeStep):
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
        raw = known[id(one)] = msgspec.Raw(_encode(verdict_part(one)))
    return raw
