"""What has one meaning and is probably not intended: shards, overrides, images and names.

An override that applies to no shard, or changes nothing, looks like protection and is none. A tag
like `latest` in production changes what runs without a change here. A field that is not read has no
effect.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidegate.bundle.finding import BundleFinding, DocumentFault, Path, Severity
from tidegate.bundle.places import DocumentPlace
from tidegate.kinds.integrations.core.review.notes import FORM, read_note
from tidegate.kinds.integrations.core.sharding.idle import idle
from tidegate.kinds.integrations.core.sharding.model import (
    Integration,
    Managed,
    ShardKey,
    WorkloadShard,
)
from tidegate.kinds.integrations.core.sharding.names import CRON_LENGTH_MAX, LENGTH_MAX, PREFIX
from tidegate.kinds.integrations.core.sharding.shards import collisions, shards_of
from tidegate.model.problem import Problem, Problems, shown
from tidegate.model.time import Instant
from tidegate.registry.image import MUTABLE

PRODUCTION = "prod"
OVERRIDES = frozenset(("shardSpecOverrides", "shardSpecOverride"))

Stands = Mapping[str, tuple[DocumentPlace, Path]]


def linted(
    integrations: Sequence[Integration],
    inventories: Mapping[str, Sequence[ShardKey]],
    stands: Stands,
) -> list[tuple[DocumentPlace, DocumentFault]]:
    """Everything that is probably not meant, where it stands."""
    found: list[tuple[DocumentPlace, DocumentFault]] = []
    every: list[WorkloadShard] = []
    for integration in integrations:
        for managed in integration.managed:
            problems = Problems()
            shards = shards_of(integration, managed, inventories, None, problems)
            found += _stated(problems, "sharding", stands)
            every += shards
            found += _images(managed, stands)
            found += _idle(managed, stands)
            found += _names(integration, managed, shards, stands)
    problems = Problems()
    collisions(every, problems)
    return found + list(_stated(problems, "duplicate", stands))


def linted_shards(
    places: Iterable[tuple[str, Managed]],
    inventories: Mapping[str, Sequence[ShardKey]],
    stands: Stands,
) -> list[tuple[DocumentPlace, DocumentFault]]:
    """What is wrong with the shards of places that cannot be used for another cause."""
    found: list[tuple[DocumentPlace, DocumentFault]] = []
    for name, managed in places:
        problems = Problems()
        shards_of(Integration(name=name), managed, inventories, None, problems)
        found += _stated(problems, "sharding", stands)
    return found


def _stated(
    problems: Problems, rule: str, stands: Stands
) -> Iterator[tuple[DocumentPlace, DocumentFault]]:
    for problem in problems.errors:
        yield _at(problem, rule, "error", stands)
    for problem in problems.warnings:
        yield _at(problem, rule, "warning", stands)


def _at(
    problem: Problem, rule: str, severity: Severity, stands: Stands
) -> tuple[DocumentPlace, DocumentFault]:
    place, path = stands[problem.path]
    return place, DocumentFault(
        path=path,
        message=problem.message,
        rule="override" if OVERRIDES.intersection(path) else rule,
        remedy=problem.remedy,
        severity=severity,
    )


def _images(managed: Managed, stands: Stands) -> Iterator[tuple[DocumentPlace, DocumentFault]]:
    default = managed.spec.get("imageRef")
    production = managed.namespace.phase == PRODUCTION
    if production and default in MUTABLE:
        place, path = stands[managed.where]
        yield place, _mutable((*path, "spec", "imageRef"), str(default))
    for override in managed.sharding.overrides:
        if override.image_ref is None:
            continue
        place, path = stands[override.where]
        note = read_note(override.note)
        if override.note and note is None:
            yield place, _unreadable((*path, "imageRef"), override.note)
        # With a note it is kept for the day the default moves on.
        if override.image_ref == default and note is None:
            yield (
                place,
                DocumentFault(
                    path=(*path, "imageRef"),
                    message=f"{shown(default)} is what every shard runs",
                    rule="override",
                    remedy="drop it",
                    value=shown(default),
                    severity="warning",
                ),
            )
        elif production and override.image_ref in MUTABLE:
            yield place, _mutable((*path, "imageRef"), override.image_ref)


def _unreadable(path: Path, note: str) -> DocumentFault:
    return DocumentFault(
        path=path,
        message=f"the note {shown(note)} does not name its author, expiry and reason",
        rule="override",
        remedy=f"write {FORM}",
        value=shown(note),
        severity="warning",
    )


def overdue(integrations: Iterable[Integration], now: Instant) -> Iterator[BundleFinding]:
    """Pins that should be gone; asked anew each time, because only the clock makes them so."""
    for integration in integrations:
        for managed in integration.managed:
            for override in managed.sharding.overrides:
                note = read_note(override.note)
                ended = note.expires_at if note is not None else None
                if note is None or ended is None or ended > now or not override.image_ref:
                    continue
                file, _, line = override.where.rpartition(":")
                environment = managed.namespace.environment
                asked = f"tidegate unpin {integration.name} --shard {override.shard}"
                yield BundleFinding(
                    file=file,
                    line=int(line),
                    column=1,
                    severity="warning",
                    rule="expired-pin",
                    path="",
                    message=f"{override.shard} was to stay on {override.image_ref} "
                    f"until {note.until} ({note.by}: {note.reason})",
                    remedy=f"`{asked} --environment {environment}`, or pin it anew",
                    value=shown(override.image_ref),
                )


def _mutable(path: Path, tag: str) -> DocumentFault:
    return DocumentFault(
        path=path,
        message=f"{shown(tag)} can become another image at any time, in production",
        rule="mutable-tag",
        remedy="write the tag of one build, or a digest",
        value=shown(tag),
        severity="warning",
    )


def _idle(managed: Managed, stands: Stands) -> Iterator[tuple[DocumentPlace, DocumentFault]]:
    """Fields that do nothing, and the one that Kubernetes refuses."""
    place, path = stands[managed.where]
    for field, why in idle(managed.spec):
        yield (
            place,
            DocumentFault(
                path=(*path, "spec", field),
                message=f"{field} does nothing {why}",
                rule="no-effect",
                remedy="drop it",
                value=shown(managed.spec[field]),
                severity="warning",
            ),
        )
    if managed.spec.get("cron") and managed.spec.get("restartPolicy") == "Always":
        yield (
            place,
            DocumentFault(
                path=(*path, "spec", "restartPolicy"),
                message='Kubernetes refuses a job with "Always"',
                rule="value",
                remedy="write OnFailure or Never",
                value=shown("Always"),
                severity="warning",
            ),
        )


def _names(
    integration: Integration, managed: Managed, shards: Sequence[WorkloadShard], stands: Stands
) -> Iterator[tuple[DocumentPlace, DocumentFault]]:
    length_max = CRON_LENGTH_MAX if managed.spec.get("cron") else LENGTH_MAX
    long = [(whole, shard) for shard in shards if len(whole := _whole(shard)) > length_max]
    if not long:
        return
    whole, shard = max(long, key=lambda each: (len(each[0]), each[0]))
    place, path = stands[managed.where]
    others = f", and {len(long) - 1} more" if len(long) > 1 else ""
    yield (
        place,
        DocumentFault(
            path=path,
            message=f"{whole} has {len(whole)} characters and is cut to {shard.workload}{others}",
            rule="long-name",
            remedy=f"{length_max} are possible; shorten the name, or live with it",
            value=shown(integration.name),
            severity="warning",
        ),
    )


def _whole(shard: WorkloadShard) -> str:
    """The name of a workload if there were no limit."""
    parts = [part for part in (shard.key.lower(),) if part]
    if shard.index is not None and (shard.key or (shard.count or 1) > 1):
        parts.append(str(shard.index))
    return PREFIX + "-".join((shard.integration, *parts))
