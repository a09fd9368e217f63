"""A preview for programs. Names are API."""

from typing import Any

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.kinds.integrations.cli.preview.prospect import Images, Preview
from tidegate.kinds.integrations.cli.preview.schedule import Clash, Schedule, Stage
from tidegate.kinds.integrations.cli.preview.words import verdict
from tidegate.kinds.integrations.core.review.effect import Effect, Fate
from tidegate.kinds.integrations.core.waves.outset import Move
from tidegate.model.time import Instant, format_duration, format_instant

Data = dict[str, Any]


def as_data(preview: Preview) -> Data:
    """Everything, nothing cut."""
    effects = preview.effects
    return {
        "verdict": verdict(preview),
        "base": preview.base,
        "head": preview.head,
        "at": format_instant(preview.at),
        "files": [preview.prefix + each for each in preview.files],
        "summary": {
            "created": len(effects.of(Fate.CREATED)),
            "changed": len(effects.of(Fate.CHANGED)),
            "deleted": len(effects.of(Fate.DELETED)),
            "imageChanges": sum(each.moves_image for each in effects.effects),
            "restarts": sum(each.restarts for each in effects.effects),
            "unknown": effects.unknown,
            "newErrors": preview.errors,
            "newWarnings": len(preview.findings) - preview.errors,
            "mended": preview.mended,
        },
        "environments": [
            {
                "name": each.name,
                "shardsBefore": each.shards_before,
                "shardsAfter": each.shards_after,
                "shardsTouched": each.shards_touched,
                "created": each.created,
                "changed": each.changed,
                "deleted": each.deleted,
                "restarts": each.restarts,
                "images": [_images(one) for one in each.images],
            }
            for each in preview.environments
        ],
        "workloads": [_workload(each) for each in effects.effects],
        "rollouts": [_rollout(each) for each in preview.schedules],
        "applied": [_applied(e) for e in preview.moves if e.alone or (e.units and not e.staged)],
        "pinned": [_camel(each) for each in preview.pinned],
        "warnings": [_camel(each) for each in preview.warnings],
        "findings": [
            {**msgspec.structs.asdict(each), "file": preview.prefix + each.file}
            for each in preview.findings
        ],
    }


def _images(one: Images) -> Data:
    return {"before": one.before, "after": one.after, "workloads": one.workloads}


def _workload(effect: Effect) -> Data:
    return {
        "fate": effect.fate.value,
        "environment": effect.environment,
        "cluster": effect.cluster,
        "namespace": effect.namespace,
        "kind": effect.kind,
        "name": effect.name,
        "integration": effect.integration,
        "shard": effect.unit,
        "imageBefore": effect.before,
        "imageAfter": effect.after,
        "restarts": effect.restarts,
        "differences": [
            {"field": one.field, "before": one.before, "after": one.after}
            for one in effect.differences
        ],
    }


def _place(move: Move) -> Data:
    namespace = move.place.managed.namespace
    return {
        "name": move.place.name,
        "integration": move.place.integration.name,
        "environment": namespace.environment,
        "cluster": namespace.cluster,
        "namespace": namespace.name,
        "before": move.before,
        "after": move.after,
    }


def _rollout(schedule: Schedule) -> Data:
    rules = schedule.move.place.managed.rollout
    assert rules is not None
    strategy = rules.strategy
    most, failures = strategy.max_concurrency, strategy.max_failures
    return {
        **_place(schedule.move),
        "rules": rules.where,
        "type": strategy.type.value,
        "soak": format_duration(strategy.soak),
        "maxConcurrency": None if most is None else str(most),
        "maxFailures": None if failures is None else str(failures),
        "applyTime": format_duration(schedule.apply_time),
        "applyTimeFrom": schedule.known_from,
        "underWay": schedule.under_way,
        "healthGates": list(schedule.health),
        "startsAt": _instant(schedule.starts_at),
        "doneAt": _instant(schedule.done_at),
        "groups": [_stage(each) for each in schedule.stages],
    }


def _stage(stage: Stage) -> Data:
    return {
        "name": stage.name,
        "shards": list(stage.shards),
        "startsAt": _instant(stage.starts_at),
        "doneAt": _instant(stage.done_at),
        "heldBy": stage.held_by or None,
        "collisions": [_collision(each) for each in stage.clashes],
    }


def _collision(one: Clash) -> Data:
    return {
        "gate": one.verdict.gate.value,
        "reason": one.verdict.reason.value,
        "text": sentence(one.verdict),
        "shards": list(one.shards),
        "wouldStartAt": _instant(one.at),
        "until": _instant(one.verdict.until),
    }


def _applied(move: Move) -> Data:
    """Who moves when somebody applies the bundle, all at once."""
    units = move.alone if move.staged else (*move.units, *move.alone)
    return {**_place(move), "shards": [unit.name for unit in units]}


def _camel(struct: Any) -> Data:
    """A flat struct whose fields are one word each."""
    return msgspec.structs.asdict(struct)


def _instant(moment: Instant | None) -> str | None:
    return format_instant(moment) if moment is not None else None
