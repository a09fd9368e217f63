"""The document of a preview, from what is known of a change."""

from typing import Any

from msgspec.structs import replace

from tidegate.explain.sentence import sentence
from tidegate.kinds.integrations.app.preview.parts import PreviewWorkload
from tidegate.kinds.integrations.app.preview.prospect import Prospect
from tidegate.kinds.integrations.app.preview.report import (
    Preview,
    PreviewApplied,
    PreviewCollision,
    PreviewGroup,
    PreviewRollout,
    PreviewSummary,
)
from tidegate.kinds.integrations.app.preview.schedule import (
    BrakeMet,
    RolloutSchedule,
    ScheduledGroup,
)
from tidegate.kinds.integrations.app.preview.words import verdict
from tidegate.kinds.integrations.core.review.effect import Effect, Fate
from tidegate.kinds.integrations.core.waves.outset import Move
from tidegate.model.document import instant_text
from tidegate.model.time import format_duration, format_instant


def preview_document(prospect: Prospect) -> Preview:
    """A prospect as people and programs read it."""
    applied = (e for e in prospect.moves if e.alone or (e.units and not e.staged))
    found = Preview(
        verdict="",
        words=prospect.words,
        base=prospect.base,
        head=prospect.head,
        prefix=prospect.prefix,
        at=format_instant(prospect.at),
        files=tuple(prospect.prefix + each for each in prospect.files),
        summary=_summary(prospect),
        environments=prospect.environments,
        workloads=tuple(map(_workload, prospect.effects.effects)),
        rollouts=tuple(map(_rollout, prospect.schedules)),
        applied=tuple(map(_applied, applied)),
        pinned=prospect.pinned,
        warnings=prospect.warnings,
        findings=tuple(each.under(prospect.prefix) for each in prospect.findings),
    )
    return replace(found, verdict=verdict(found))


def _summary(prospect: Prospect) -> PreviewSummary:
    effects = prospect.effects
    return PreviewSummary(
        created=len(effects.of(Fate.CREATED)),
        changed=len(effects.of(Fate.CHANGED)),
        deleted=len(effects.of(Fate.DELETED)),
        image_changes=sum(each.moves_image for each in effects.effects),
        restarts=sum(each.restarts for each in effects.effects),
        unknown=effects.unknown,
        new_errors=prospect.errors,
        new_warnings=len(prospect.findings) - prospect.errors,
        mended=prospect.fixed,
    )


def _workload(effect: Effect) -> PreviewWorkload:
    return PreviewWorkload(
        fate=effect.fate.value,
        environment=effect.environment,
        cluster=effect.cluster,
        namespace=effect.namespace,
        kind=effect.kind,
        name=effect.name,
        integration=effect.integration,
        shard=effect.unit,
        image_before=effect.before,
        image_after=effect.after,
        restarts=effect.restarts,
        differences=effect.differences,
    )


def _place(move: Move) -> dict[str, Any]:
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


def _rollout(schedule: RolloutSchedule) -> PreviewRollout:
    rules = schedule.move.place.managed.rollout
    assert rules is not None
    strategy = rules.strategy
    most, failures = strategy.max_concurrency, strategy.max_failures
    return PreviewRollout(
        **_place(schedule.move),
        rules=rules.where,
        type=strategy.type.value,
        soak=format_duration(strategy.soak),
        max_concurrency=None if most is None else str(most),
        max_failures=None if failures is None else str(failures),
        clean_runs=rules.runs,
        apply_time=format_duration(schedule.apply_time),
        apply_time_from=schedule.known_from,
        under_way=schedule.under_way,
        health_gates=tuple(schedule.health),
        starts_at=instant_text(schedule.starts_at),
        done_at=instant_text(schedule.done_at),
        groups=tuple(map(_group, schedule.stages)),
    )


def _group(group: ScheduledGroup) -> PreviewGroup:
    return PreviewGroup(
        name=group.name,
        shards=tuple(group.shards),
        starts_at=instant_text(group.starts_at),
        done_at=instant_text(group.done_at),
        held_by=group.held_by or None,
        collisions=tuple(map(_collision, group.clashes)),
    )


def _collision(one: BrakeMet) -> PreviewCollision:
    return PreviewCollision(
        gate=one.verdict.gate.value,
        reason=one.verdict.reason.value,
        text=sentence(one.verdict),
        shards=tuple(one.shards),
        would_start_at=instant_text(one.at),
        until=instant_text(one.verdict.until),
    )


def _applied(move: Move) -> PreviewApplied:
    """The shards that move when the bundle is applied, all at once."""
    units = move.alone if move.staged else (*move.units, *move.alone)
    return PreviewApplied(
        **_place(move),
        shards=tuple(unit.name for unit in units),
        alone=tuple(unit.name for unit in move.alone),
    )
