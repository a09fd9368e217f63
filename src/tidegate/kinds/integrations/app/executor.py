"""Carries changes out: many at a time, in order within a namespace; every result is reported.

First what is called, then what calls it, then what is to be removed; nothing is removed from a
namespace in which another change failed. An object that was replaced since it was read is left
unchanged.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.kinds.integrations.core.reasons import ObjectReason
from tidegate.kinds.integrations.core.workloads.change import (
    ACTING,
    Key,
    ObjectAction,
    PlannedChange,
    rank,
)
from tidegate.kinds.integrations.core.workloads.changes import settled
from tidegate.kinds.integrations.core.workloads.difference import differences, restarts
from tidegate.kubernetes.port import (
    Applied,
    Cluster,
    ConflictError,
    Object,
    ObjectRefusedError,
    Take,
)
from tidegate.kubernetes.port import ApplyOutcome as ServerOutcome
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.verdict import Verdict, verdict

T = TypeVar("T")

# So many changes are under way at once on one cluster.
CONCURRENCY_MAX = 10
# A cluster gives up by itself after a minute, and then at once; this is for one that never does.
ACT_S = 120.0
_NO_ANSWER = "no answer in time"


class ObjectOutcome(StrEnum):
    """What became of a change."""

    CREATED = "created"
    CONFIGURED = "configured"
    ADOPTED = "adopted"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    RELEASED = "released"
    CONFLICT = "conflict"
    REFUSED = "refused"
    FAILED = "failed"
    SKIPPED = "skipped"


BAD = frozenset((ObjectOutcome.CONFLICT, ObjectOutcome.REFUSED, ObjectOutcome.FAILED))


class ObjectResult(msgspec.Struct, frozen=True):
    """A change, its outcome, and what the server's answer adds to its verdicts."""

    change: PlannedChange
    outcome: ObjectOutcome
    verdict: Verdict | None = None

    @property
    def detail(self) -> str:
        """What the answer adds, as a sentence; empty: nothing."""
        return sentence(self.verdict) if self.verdict is not None else ""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What was known before it, and what the answer adds."""
        return (*self.change.verdicts, *((self.verdict,) if self.verdict is not None else ()))


class ObjectExecutor(msgspec.Struct, frozen=True, kw_only=True):
    """Where changes are made, and how many at once."""

    clusters: Mapping[str, Cluster]
    # As they were read: an object that differs from this by now is not changed.
    objects: Mapping[Key, Object]
    concurrency_max: int = CONCURRENCY_MAX
    act_s: float = ACT_S
    # Fields of other managers may be taken in objects that are ours.
    consent: bool = False
    # What was changed since it was read is not changed at all.
    exact: bool = False


OnResult = Callable[[ObjectResult], None]
# Called right before a change is sent.
OnStart = Callable[[PlannedChange], None]


async def preview(
    changes: Sequence[PlannedChange],
    executor: ObjectExecutor,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[tuple[PlannedChange, ...], tuple[str, ...]]:
    """Each change as a dry run on its server has it, and the dry runs that failed.

    Nothing is written. Where a dry run is not allowed, the change stays as it was worked out here.
    """
    notes: dict[tuple[str, str], str] = {}
    asked = _to_ask(changes)

    async def one(change: PlannedChange) -> PlannedChange:
        try:
            return _foreseen(change, await _apply(change, executor, dry_run=True), executor)
        except ConflictError as error:
            return _now(change, ObjectAction.CONFLICT, _owned(error))
        except ObjectRefusedError as error:
            return _now(change, ObjectAction.REFUSED, _refused(error))
        except (OutsideError, StaleError, TimeoutError) as error:
            where = change.cluster, change.namespace
            notes.setdefault(where, str(error) or f"{change.cluster}: no answer in time")
            return change
        finally:
            progress(1)

    found = await _each(asked, executor, one)
    foreseen = {change.key: change for change in found}
    failed = tuple(f"a dry run failed: {why}" for why in dict.fromkeys(notes.values()))
    return tuple(foreseen.get(change.key, change) for change in changes), failed


def to_ask(changes: Sequence[PlannedChange]) -> int:
    """How many questions a preview asks."""
    return len(_to_ask(changes))


def _to_ask(changes: Sequence[PlannedChange]) -> list[PlannedChange]:
    """What differs by our own account, and one new object a namespace: it may not be there."""
    first: dict[tuple[str, str], Key] = {}
    for each in changes:
        if each.verb is ObjectAction.CREATE:
            first.setdefault((each.cluster, each.namespace), each.key)
    fresh = set(first.values())
    return [
        each
        for each in changes
        if each.verb in (ObjectAction.CONFIGURE, ObjectAction.ADOPT) or each.key in fresh
    ]


def acts(change: PlannedChange, consent: bool) -> bool:
    """Whether a change is sent to its cluster."""
    return change.verb in ACTING and (consent or change.verb is not ObjectAction.ADOPT)


async def apply(
    changes: Sequence[PlannedChange],
    executor: ObjectExecutor,
    *,
    dry_run: bool = False,
    on_result: OnResult = lambda _: None,
    on_start: OnStart = lambda _: None,
) -> tuple[ObjectResult, ...]:
    """Carry out all changes that act; their results, in the same order."""
    acting = [each for each in changes if acts(each, executor.consent)]
    places: defaultdict[tuple[str, str], list[PlannedChange]] = defaultdict(list)
    for each in acting:
        places[each.cluster, each.namespace].append(each)
    slots = _slots(executor)

    async def one(change: PlannedChange) -> ObjectResult:
        async with slots[change.cluster]:
            on_start(change)
            done = await _try(change, executor, dry_run)
        on_result(done)
        return done

    async def place(mine: list[PlannedChange]) -> list[ObjectResult]:
        done: list[ObjectResult] = []
        for step in sorted({rank(each)[0] for each in mine}):
            now = [each for each in mine if rank(each)[0] == step]
            bad = any(each.outcome in BAD for each in done)
            if bad and now[0].verb is ObjectAction.REMOVE:
                withheld = verdict(ObjectReason.RemovalWithheld)
                skipped = [ObjectResult(each, ObjectOutcome.SKIPPED, withheld) for each in now]
                for each in skipped:
                    on_result(each)
                done += skipped
            else:
                done += await asyncio.gather(*map(one, now))
        return done

    found = [each for some in await asyncio.gather(*map(place, places.values())) for each in some]
    by_key = {each.change.key: each for each in found}
    return tuple(by_key[each.key] for each in acting)


async def release(
    found: Iterable[tuple[PlannedChange, Object]],
    executor: ObjectExecutor,
    on_result: OnResult = lambda _: None,
) -> tuple[ObjectResult, ...]:
    """Give objects back as they are."""
    objects = {change.key: each for change, each in found}

    async def one(change: PlannedChange) -> ObjectResult:
        try:
            async with asyncio.timeout(executor.act_s):
                await executor.clusters[change.cluster].release(objects[change.key])
            done = ObjectResult(change, ObjectOutcome.RELEASED)
        except (OutsideError, StaleError, TimeoutError) as error:
            done = ObjectResult(change, ObjectOutcome.FAILED, _failed(error))
        on_result(done)
        return done

    return tuple(await _each([change for change, _ in found], executor, one))


async def _each(
    changes: Sequence[PlannedChange],
    executor: ObjectExecutor,
    work: Callable[[PlannedChange], Awaitable[T]],
) -> list[T]:
    """The results of some work on each, many at a time on each cluster."""
    slots = _slots(executor)

    async def one(change: PlannedChange) -> T:
        async with slots[change.cluster]:
            return await work(change)

    return await asyncio.gather(*map(one, changes))


def _slots(executor: ObjectExecutor) -> dict[str, asyncio.Semaphore]:
    return {name: asyncio.Semaphore(executor.concurrency_max) for name in executor.clusters}


async def _try(change: PlannedChange, executor: ObjectExecutor, dry_run: bool) -> ObjectResult:
    try:
        if change.verb is ObjectAction.REMOVE:
            return await _remove(change, executor, dry_run)
        applied = await _apply(change, executor, dry_run=dry_run)
    except ConflictError as error:
        return ObjectResult(change, ObjectOutcome.CONFLICT, _owned(error))
    except ObjectRefusedError as error:
        return ObjectResult(change, ObjectOutcome.REFUSED, _refused(error))
    except (OutsideError, StaleError, TimeoutError) as error:
        return ObjectResult(change, ObjectOutcome.FAILED, _failed(error))
    if change.verb is ObjectAction.ADOPT:
        return ObjectResult(change, ObjectOutcome.ADOPTED, _taken(applied))
    return ObjectResult(change, _OUTCOMES[applied.outcome], _taken(applied))


async def _remove(change: PlannedChange, executor: ObjectExecutor, dry_run: bool) -> ObjectResult:
    async with asyncio.timeout(executor.act_s):
        there = executor.objects[change.key]
        gone = not await executor.clusters[change.cluster].delete(there, dry_run=dry_run)
    return ObjectResult(
        change, ObjectOutcome.REMOVED, verdict(ObjectReason.AlreadyGone) if gone else None
    )


async def _apply(change: PlannedChange, executor: ObjectExecutor, *, dry_run: bool) -> Applied:
    assert change.manifest is not None
    async with asyncio.timeout(executor.act_s):
        return await executor.clusters[change.cluster].apply(
            change.manifest,
            before=executor.objects.get(change.key),
            take=_take(change, executor),
            dry_run=dry_run,
            exact=executor.exact,
        )


def _take(change: PlannedChange, executor: ObjectExecutor) -> Take:
    """Which fields may be taken: drift is put back, what others alone own needs consent.

    What was adopted is still its former manager's as well, until it changes.
    """
    if change.verb is ObjectAction.ADOPT:
        return Take.OVER
    return Take.BACK if change.drifted or executor.consent else Take.SHARED


def _foreseen(change: PlannedChange, applied: Applied, executor: ObjectExecutor) -> PlannedChange:
    """A change as the server would make it."""
    before = executor.objects.get(change.key)
    if before is None:
        return change
    if applied.outcome is ServerOutcome.UNCHANGED and change.verb is ObjectAction.CONFIGURE:
        kept = (each for each in change.verdicts if each.reason is ObjectReason.ImageStays)
        return settled(change, next(kept, None))
    differs = differences(before.document, applied.object.document)
    again = restarts(before.document, differs)
    by = ", ".join(f"{each.field.lstrip('.')} by {each.manager}" for each in applied.taken)
    verdicts = change.verdicts
    if by and change.drifted:
        verdicts = (*verdicts[:-1], verdict(ObjectReason.FieldsDrifted, by))
    return msgspec.structs.replace(change, differences=differs, restarts=again, verdicts=verdicts)


def _now(change: PlannedChange, verb: ObjectAction, why: Verdict) -> PlannedChange:
    return msgspec.structs.replace(change, verb=verb, verdicts=(*change.verdicts, why))


def _owned(error: ConflictError) -> Verdict:
    fields = (f"{each.field.lstrip('.')} belongs to {each.manager}" for each in error.conflicts)
    return verdict(ObjectReason.FieldsOwned, ", ".join(fields))


def _refused(error: ObjectRefusedError) -> Verdict:
    return verdict(ObjectReason.ServerRefused, str(error))


def _failed(error: Exception) -> Verdict:
    return verdict(ObjectReason.ServerFailed, str(error) or _NO_ANSWER)


def _taken(applied: Applied) -> Verdict | None:
    """Which fields were taken from other managers; None: none."""
    whose: dict[str, list[str]] = {}
    for each in applied.taken:
        whose.setdefault(each.manager, []).append(each.field.lstrip("."))
    if not whose:
        return None
    words = (f"{', '.join(fields)} taken from {who}" for who, fields in whose.items())
    return verdict(ObjectReason.FieldsTaken, "; ".join(words))


_OUTCOMES = {
    ServerOutcome.CREATED: ObjectOutcome.CREATED,
    ServerOutcome.CONFIGURED: ObjectOutcome.CONFIGURED,
    ServerOutcome.UNCHANGED: ObjectOutcome.UNCHANGED,
}
