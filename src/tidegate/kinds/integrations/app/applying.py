"""Carries changes out: many at a time, in order within a namespace, and every outcome is kept.

First what is called, then what calls it, then what is to be no more; and nothing is removed from a
namespace in which something else did not go as it should. What was looked at is what is changed:
an object that is another one by now is left alone.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec

from tidegate.kinds.integrations.core.workloads.change import ACTING, Change, Key, Verb, rank
from tidegate.kinds.integrations.core.workloads.difference import differences, restarts
from tidegate.kubernetes.port import (
    Applied,
    Cluster,
    ConflictError,
    Object,
    RefusedError,
    Take,
)
from tidegate.kubernetes.port import Outcome as Told
from tidegate.model.errors import OutsideError, StaleError

T = TypeVar("T")

# So many changes are under way at once on one cluster.
CONCURRENCY_MAX = 10
# A cluster gives up by itself after a minute, and then at once; this is for one that never does.
ACT_S = 120.0
_TAKE_IT = "leave it out of the bundle, or take it with --adopt"


class Outcome(StrEnum):
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


BAD = frozenset((Outcome.CONFLICT, Outcome.REFUSED, Outcome.FAILED))


class Done(msgspec.Struct, frozen=True):
    """A change, what became of it, and in whose words."""

    change: Change
    outcome: Outcome
    detail: str = ""


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """Where changes are made, and how hard a cluster may be pressed."""

    clusters: Mapping[str, Cluster]
    # As they were read: what they are by now is checked against these.
    objects: Mapping[Key, Object]
    concurrency_max: int = CONCURRENCY_MAX
    act_s: float = ACT_S
    # Fields of somebody else's may be taken in what is ours.
    consent: bool = False


Tell = Callable[[Done], None]


async def preview(
    changes: Sequence[Change], hands: Hands, tell: Callable[[int], None] = lambda _: None
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """What each change comes to by the servers' own word, and what they would not say.

    Nothing is written. Where a server may not be asked, what we know ourselves stands.
    """
    notes: dict[tuple[str, str], str] = {}
    asked = _to_ask(changes)

    async def one(change: Change) -> Change:
        try:
            return _foreseen(change, await _apply(change, hands, dry_run=True), hands)
        except ConflictError as error:
            return _now(change, Verb.CONFLICT, f"{_fields(error)}; {_TAKE_IT}")
        except RefusedError as error:
            return _now(change, Verb.REFUSED, str(error))
        except (OutsideError, StaleError, TimeoutError) as error:
            where = change.cluster, change.namespace
            notes.setdefault(where, str(error) or f"{change.cluster}: no answer in time")
            return change
        finally:
            tell(1)

    found = await _each(asked, hands, one)
    foreseen = {change.key: change for change in found}
    told = tuple(f"a dry run failed: {why}" for why in dict.fromkeys(notes.values()))
    return tuple(foreseen.get(change.key, change) for change in changes), told


def to_ask(changes: Sequence[Change]) -> int:
    """How many questions a preview asks."""
    return len(_to_ask(changes))


def _to_ask(changes: Sequence[Change]) -> list[Change]:
    """What differs by our own account, and one new object a namespace: it may not be there."""
    first: dict[tuple[str, str], Key] = {}
    for each in changes:
        if each.verb is Verb.CREATE:
            first.setdefault((each.cluster, each.namespace), each.key)
    fresh = set(first.values())
    return [
        each for each in changes if each.verb in (Verb.CONFIGURE, Verb.ADOPT) or each.key in fresh
    ]


def acts(change: Change, consent: bool) -> bool:
    """Whether a cluster is told of a change at all."""
    return change.verb in ACTING and (consent or change.verb is not Verb.ADOPT)


async def apply(
    changes: Sequence[Change],
    hands: Hands,
    *,
    dry_run: bool = False,
    tell: Tell = lambda _: None,
) -> tuple[Done, ...]:
    """Carry out all changes that act; what became of each, in their order."""
    acting = [each for each in changes if acts(each, hands.consent)]
    places: defaultdict[tuple[str, str], list[Change]] = defaultdict(list)
    for each in acting:
        places[each.cluster, each.namespace].append(each)
    slots = _slots(hands)

    async def one(change: Change) -> Done:
        async with slots[change.cluster]:
            done = await _try(change, hands, dry_run)
        tell(done)
        return done

    async def place(mine: list[Change]) -> list[Done]:
        done: list[Done] = []
        for step in sorted({rank(each)[0] for each in mine}):
            now = [each for each in mine if rank(each)[0] == step]
            bad = any(each.outcome in BAD for each in done)
            if bad and now[0].verb is Verb.REMOVE:
                why = "something else here went wrong, so nothing is removed"
                skipped = [Done(each, Outcome.SKIPPED, why) for each in now]
                for each in skipped:
                    tell(each)
                done += skipped
            else:
                done += await asyncio.gather(*map(one, now))
        return done

    found = [each for some in await asyncio.gather(*map(place, places.values())) for each in some]
    by_key = {each.change.key: each for each in found}
    return tuple(by_key[each.key] for each in acting)


async def release(
    found: Iterable[tuple[Change, Object]], hands: Hands, tell: Tell = lambda _: None
) -> tuple[Done, ...]:
    """Give objects back as they are."""
    objects = {change.key: each for change, each in found}

    async def one(change: Change) -> Done:
        try:
            async with asyncio.timeout(hands.act_s):
                await hands.clusters[change.cluster].release(objects[change.key])
            done = Done(change, Outcome.RELEASED)
        except (OutsideError, StaleError, TimeoutError) as error:
            done = Done(change, Outcome.FAILED, str(error) or "no answer in time")
        tell(done)
        return done

    return tuple(await _each([change for change, _ in found], hands, one))


async def _each(
    changes: Sequence[Change], hands: Hands, work: Callable[[Change], Awaitable[T]]
) -> list[T]:
    """What comes of some work on each, many at a time on each cluster."""
    slots = _slots(hands)

    async def one(change: Change) -> T:
        async with slots[change.cluster]:
            return await work(change)

    return await asyncio.gather(*map(one, changes))


def _slots(hands: Hands) -> dict[str, asyncio.Semaphore]:
    return {name: asyncio.Semaphore(hands.concurrency_max) for name in hands.clusters}


async def _try(change: Change, hands: Hands, dry_run: bool) -> Done:
    try:
        if change.verb is Verb.REMOVE:
            return await _remove(change, hands, dry_run)
        applied = await _apply(change, hands, dry_run=dry_run)
    except ConflictError as error:
        return Done(change, Outcome.CONFLICT, f"{_fields(error)}; {_TAKE_IT}")
    except RefusedError as error:
        return Done(change, Outcome.REFUSED, str(error))
    except (OutsideError, StaleError, TimeoutError) as error:
        return Done(change, Outcome.FAILED, str(error) or "no answer in time")
    if change.verb is Verb.ADOPT:
        return Done(change, Outcome.ADOPTED, _taken(applied))
    return Done(change, _OUTCOMES[applied.outcome], _taken(applied))


async def _remove(change: Change, hands: Hands, dry_run: bool) -> Done:
    async with asyncio.timeout(hands.act_s):
        there = hands.objects[change.key]
        gone = not await hands.clusters[change.cluster].delete(there, dry_run=dry_run)
    return Done(change, Outcome.REMOVED, "it was gone already" if gone else "")


async def _apply(change: Change, hands: Hands, *, dry_run: bool) -> Applied:
    assert change.manifest is not None
    async with asyncio.timeout(hands.act_s):
        return await hands.clusters[change.cluster].apply(
            change.manifest,
            before=hands.objects.get(change.key),
            take=_take(change, hands),
            dry_run=dry_run,
        )


def _take(change: Change, hands: Hands) -> Take:
    """Whose fields may be set: drift is put back, all else of somebody else's needs consent."""
    if change.verb is Verb.ADOPT:
        return Take.OVER
    return Take.BACK if change.drifted or hands.consent else Take.NOTHING


def _foreseen(change: Change, applied: Applied, hands: Hands) -> Change:
    """A change as the server would make it."""
    before = hands.objects.get(change.key)
    if before is None:
        return change
    if applied.outcome is Told.UNCHANGED and change.verb is Verb.CONFIGURE:
        return _now(change, Verb.HELD if change.held else Verb.UNCHANGED, change.held)
    differs = differences(before.document, applied.object.document)
    again = restarts(before.document, differs)
    by = ", ".join(f"{each.field.lstrip('.')} by {each.manager}" for each in applied.taken)
    reason = f"changed since: {by}" if by and change.drifted else change.reason
    return msgspec.structs.replace(change, differences=differs, restarts=again, reason=reason)


def _now(change: Change, verb: Verb, reason: str) -> Change:
    return msgspec.structs.replace(change, verb=verb, reason=reason)


def _fields(error: ConflictError) -> str:
    return ", ".join(
        f"{each.field.lstrip('.')} belongs to {each.manager}" for each in error.conflicts
    )


def _taken(applied: Applied) -> str:
    """Whose fields were taken, by their names."""
    whose: dict[str, list[str]] = {}
    for each in applied.taken:
        whose.setdefault(each.manager, []).append(each.field.lstrip("."))
    return "; ".join(f"{', '.join(fields)} taken from {who}" for who, fields in whose.items())


_OUTCOMES = {
    Told.CREATED: Outcome.CREATED,
    Told.CONFIGURED: Outcome.CONFIGURED,
    Told.UNCHANGED: Outcome.UNCHANGED,
}
