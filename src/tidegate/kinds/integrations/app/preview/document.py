"""A preview as programs read it: everything, nothing cut."""

from typing import Any

from tidegate.bundle.finding import BundleFinding
from tidegate.explain.sentence import sentence
from tidegate.kinds.integrations.app.plan import FieldDifference
from tidegate.kinds.integrations.app.preview.prospect import Prospect
from tidegate.kinds.integrations.app.preview.schedule import (
    BrakeMet,
    RolloutSchedule,
    ScheduledGroup,
)
from tidegate.kinds.integrations.app.preview.words import verdict
from tidegate.kinds.integrations.core.review.effect import Effect, Fate
from tidegate.kinds.integrations.core.waves.outset import Move
from tidegate.model.document import Document, Part
from tidegate.model.time import Instant, format_duration, format_instant


class PreviewSummary(Part, frozen=True, kw_only=True):
    """How much a change does."""

    created: int
    changed: int
    deleted: int
    image_changes: int
    restarts: int
    # Workloads that are not known because of errors in the bundle.
    unknown: int
    new_errors: int
    new_warnings: int
    # Findings that the change fixes.
    mended: int


class PreviewImages(Part, frozen=True, kw_only=True):
    """How many workloads get which image in place of which."""

    before: str
    after: str
    workloads: int


class PreviewEnvironment(Part, frozen=True, kw_only=True):
    """What becomes of one environment."""

    name: str
    shards_before: int
    shards_after: int | None
    shards_touched: int
    created: int
    changed: int
    deleted: int
    restarts: int
    images: tuple[PreviewImages, ...]


class PreviewWorkload(Part, frozen=True, kw_only=True):
    """What becomes of one workload."""

    fate: str
    environment: str
    cluster: str
    namespace: str
    kind: str
    name: str
    integration: str
    shard: str
    image_before: str
    image_after: str
    restarts: bool
    differences: tuple[FieldDifference, ...]


class PreviewCollision(Part, frozen=True, kw_only=True):
    """A brake that is on when some shards could start."""

    gate: str
    reason: str
    text: str
    shards: tuple[str, ...]
    would_start_at: str | None
    until: str | None


class PreviewGroup(Part, frozen=True, kw_only=True):
    """A group of a rollout, and when it gets the change; null: no date is known."""

    name: str
    shards: tuple[str, ...]
    starts_at: str | None
    done_at: str | None
    held_by: str | None
    collisions: tuple[PreviewCollision, ...]


class PreviewPlace(Part, frozen=True, kw_only=True):
    """An integration in a namespace whose image moves."""

    name: str
    integration: str
    environment: str
    cluster: str
    namespace: str
    before: str
    after: str


class PreviewRollout(PreviewPlace, frozen=True, kw_only=True):
    """One that a rollout moves, group by group."""

    rules: str
    type: str
    soak: str
    max_concurrency: str | None
    max_failures: str | None
    apply_time: str
    apply_time_from: str
    under_way: str
    health_gates: tuple[str, ...]
    starts_at: str | None
    done_at: str | None
    groups: tuple[PreviewGroup, ...]


class PreviewApplied(PreviewPlace, frozen=True, kw_only=True):
    """One that moves at once when the bundle is applied."""

    shards: tuple[str, ...]


class PreviewPin(Part, frozen=True, kw_only=True):
    """A shard that keeps its own image, and where that is written."""

    place: str
    shard: str
    image: str
    where: str


class PreviewNote(Part, frozen=True, kw_only=True):
    """Something to look at before it is merged."""

    kind: str
    text: str


class Preview(Document, frozen=True, kw_only=True):
    """What `preview` answers."""

    verdict: str
    base: str | None
    head: str | None
    at: str
    files: tuple[str, ...]
    summary: PreviewSummary
    environments: tuple[PreviewEnvironment, ...]
    workloads: tuple[PreviewWorkload, ...]
    rollouts: tuple[PreviewRollout, ...]
    applied: tuple[PreviewApplied, ...]
    pinned: tuple[PreviewPin, ...]
    warnings: tuple[PreviewNote, ...]
    findings: tuple[BundleFinding, ...]


def preview_document(prospect: Prospect) -> Preview:
    """A prospect as programs read it."""
    applied = (e for e in prospect.moves if e.alone or (e.units and not e.staged))
    return Preview(
        verdict=verdict(prospect),
        base=prospect.base,
        head=prospect.head,
        at=format_instant(prospect.at),
        files=tuple(prospect.prefix + each for each in prospect.files),
        summary=_summary(prospect),
        environments=tuple(
            PreviewEnvironment(
                name=each.name,
                shards_before=each.shards_before,
                shards_after=each.shards_after,
                shards_touched=each.shards_touched,
                created=each.created,
                changed=each.changed,
                deleted=each.deleted,
                restarts=each.restarts,
                images=tuple(
                    PreviewImages(before=one.before, after=one.after, workloads=one.workloads)
                    for one in each.images
                ),
            )
            for each in prospect.environments
        ),
        workloads=tuple(map(_workload, prospect.effects.effects)),
        rollouts=tuple(map(_rollout, prospect.schedules)),
        applied=tuple(map(_applied, applied)),
        pinned=tuple(
            PreviewPin(place=each.place, shard=each.shard, image=each.image, where=each.where)
            for each in prospect.pinned
        ),
        warnings=tuple(PreviewNote(kind=each.kind, text=each.text) for each in prospect.warnings),
        findings=tuple(each.under(prospect.prefix) for each in prospect.findings),
    )


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
        differences=tuple(
            FieldDifference(field=one.field, before=one.before, after=one.after)
            for one in effect.differences
        ),
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
        apply_time=format_duration(schedule.apply_time),
        apply_time_from=schedule.known_from,
        under_way=schedule.under_way,
        health_gates=tuple(schedule.health),
        starts_at=_instant(schedule.starts_at),
        done_at=_instant(schedule.done_at),
        groups=tuple(map(_group, schedule.stages)),
    )


def _group(group: ScheduledGroup) -> PreviewGroup:
    return PreviewGroup(
        name=group.name,
        shards=tuple(group.shards),
        starts_at=_instant(group.starts_at),
        done_at=_instant(group.done_at),
        held_by=group.held_by or None,
        collisions=tuple(map(_collision, group.clashes)),
    )


def _collision(one: BrakeMet) -> PreviewCollision:
    return PreviewCollision(
        gate=one.verdict.gate.value,
        reason=one.verdict.reason.value,
        text=sentence(one.verdict),
        shards=tuple(one.shards),
        would_start_at=_instant(one.at),
        until=_instant(one.verdict.until),
    )


def _applied(move: Move) -> PreviewApplied:
    """The shards that move when the bundle is applied, all at once."""
    units = move.alone if move.staged else (*move.units, *move.alone)
    return PreviewApplied(**_place(move), shards=tuple(unit.name for unit in units))


def _instant(moment: Instant | None) -> str | None:
    return format_instant(moment) if moment is not None else None
