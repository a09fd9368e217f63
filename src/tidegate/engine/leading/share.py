"""Which partitions a worker takes, asks for and gives up, so that all workers have as many.

Every worker reads the same leases and decides for itself; none directs the others. A free partition
is taken by a worker that has less than its share, and by any after a while. A worker with fewer
partitions than another asks for some of that one's, in the record of their leases; the holder gives
them up between two rounds, and until the wish ends no other takes them. With 1,000 partitions on
three workers (334, 333, 333), a fourth asks for 84, 83 and 83.

A worker that only observes takes nothing from one that acts, and gives up what another would act
on.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from zlib import crc32

import msgspec

from tidegate.journal.lease import KeptLease
from tidegate.model.time import SECOND, Duration, Instant

# A partition that is free for so long is taken by any worker: those whose share it is may be of
# another kind, or hang.
SPARE = Duration(3 * SECOND)
# More wishes are made by the next look.
WISHES_MAX = 500


class ShareStep(msgspec.Struct, frozen=True):
    """What a worker does about its share."""

    take: tuple[str, ...] = ()
    wish: tuple[str, ...] = ()
    give: tuple[str, ...] = ()


class ShareView(msgspec.Struct, frozen=True):
    """What a worker knows when it decides."""

    holder: str
    # The partitions that it could run, and whether it would act on each.
    runs: Mapping[str, bool]
    leases: Mapping[str, KeptLease]
    # Since when it has seen a partition free.
    free_since: Mapping[str, Instant]
    now: Instant


def free_ones(runs: Collection[str], leases: Mapping[str, KeptLease], now: Instant) -> list[str]:
    """The partitions that none holds."""
    return [each for each in runs if each not in leases or not leases[each].runs(now)]


def share_step(view: ShareView) -> ShareStep:
    """What to take, to ask for, and to give up now."""
    now, me = view.now, view.holder
    running = {name: each for name, each in view.leases.items() if each.runs(now)}
    loads = Counter(each.lease.holder for each in running.values())
    take = _taken(view, running, loads)
    give = _given(view, running, loads)
    loads[me] += len(take) - len(give)
    return ShareStep(take, () if give else _wished(view, running, loads), give)


def _taken(
    view: ShareView, running: Mapping[str, KeptLease], loads: Counter[str]
) -> tuple[str, ...]:
    me, now = view.holder, view.now
    workers, pending = {me}, 0
    promised, free = [], []
    for name in view.runs:
        record = view.leases.get(name)
        wish = None if record is None else record.wished(now)
        if wish is not None:
            workers.add(wish.by)
        if name in running:
            workers.add(running[name].lease.holder)
            pending += wish is not None and wish.by == me
        elif wish is None:
            free.append(name)
        elif wish.by == me:
            promised.append(name)
    share = -(-len(view.runs) // len(workers))
    room = max(0, share - loads[me] - pending - len(promised))
    free.sort(key=lambda name: _order(me, name))
    spare = [name for name in free[room:] if now - view.free_since.get(name, now) >= SPARE]
    return (*promised, *free[:room], *spare)


def _wished(
    view: ShareView, running: Mapping[str, KeptLease], loads: Counter[str]
) -> tuple[str, ...]:
    me, now = view.holder, view.now
    left, mine = Counter(loads), loads[me]
    theirs: dict[str, list[str]] = {}
    wished: list[str] = []
    for name, acts in view.runs.items():
        record = running.get(name)
        if record is None or record.lease.holder == me:
            continue
        holder, wish = record.lease.holder, record.wished(now)
        observed = record.look is not None and not record.look.acts
        if wish is not None:
            left[holder] -= 1
            mine += wish.by == me
        elif acts and observed:
            wished.append(name)
        elif acts or observed:
            theirs.setdefault(holder, []).append(name)
    if max((left[each] for each in theirs), default=0) - mine < 2:
        return tuple(wished)  # it is even: nothing needs an order
    for names in theirs.values():
        names.sort(key=lambda name: _order(me, name))
    while theirs and len(wished) < WISHES_MAX:
        richest = max(theirs, key=lambda each: (left[each], each))
        if left[richest] - mine < 2:
            break
        wished.append(theirs[richest].pop())
        left[richest] -= 1
        mine += 1
        if not theirs[richest]:
            del theirs[richest]
    return tuple(wished)


def _given(
    view: ShareView, running: Mapping[str, KeptLease], loads: Counter[str]
) -> tuple[str, ...]:
    me, now = view.holder, view.now
    asked: dict[str, list[str]] = {}
    given: list[str] = []
    for name, record in running.items():
        wish = record.wished(now) if record.lease.holder == me else None
        if wish is None or wish.by == me:
            continue
        if wish.acts and not view.runs.get(name, False):
            given.append(name)
        else:
            asked.setdefault(wish.by, []).append(name)
    left, mine = Counter(loads), loads[me] - len(given)
    while asked:
        poorest = min(asked, key=lambda each: (left[each], each))
        if mine - left[poorest] < 2:
            break
        given.append(asked[poorest].pop())
        left[poorest] += 1
        mine -= 1
        if not asked[poorest]:
            del asked[poorest]
    return tuple(given)


def _order(holder: str, partition: str) -> int:
    """An order of its own for each worker, so that two seldom ask for the same."""
    return crc32(f"{holder} {partition}".encode())
