"""Which worker leads a partition, whether it acts, and when it last saw the outside.

Time goes on in a reader even where no worker looks any more: a target that reported nothing for an
hour may be well. So what is shown is decided for now only while a worker looks; otherwise for the
moment of its last look, and the reader is told.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tidegate.engine.kind import ACTOR
from tidegate.journal.chain import Break
from tidegate.journal.lease import STANDBY, KeptLease
from tidegate.model.counted import counted
from tidegate.model.document import Part
from tidegate.model.errors import OutsideError
from tidegate.model.time import (
    Duration,
    Instant,
    format_age,
    format_instant,
    format_second,
    parse_instant,
)
from tidegate.store.port import BrokenChainError, Store, last_entries

# How many of the last entries are searched for one that a worker wrote.
TAIL = 50
# More names than these are counted.
NAMED = 2


class PartitionWorker(Part, frozen=True, kw_only=True):
    """The worker of a partition, and its last look."""

    partition: str
    # The worker that leads it; null: none is running.
    leader: str | None
    # Whether it acts on what it decides, or only observes; of the last one, where none is running.
    # Null: it is not known.
    acts: bool | None
    # When a round last saw the outside; null: it is not known.
    looked_at: str | None
    # Whether what is shown is decided for that moment, and not for now: none has looked since.
    stale: bool
    # Why its worker sees nothing; empty: it does, or there is none.
    trouble: str = ""
    # The worker that led it last and has not given it back: it was killed, or hangs. Empty: none.
    gone: str = ""
    # Whether its source lists it no more, so that no worker looks at it: it was removed.
    left: bool = False
    # That its chain is broken, and what to do; empty: it holds, or a worker leads it and says so.
    broken: str = ""

    @property
    def saw_nothing(self) -> bool:
        """Whether its worker cannot see it, and no worker ever did: nothing is known of it."""
        return self.leader is not None and bool(self.trouble) and self.looked_at is None

    @property
    def moves(self) -> bool:
        """Whether what may start is started."""
        return self.leader is not None and self.acts is not False and not self.stale


class StandbyWorker(Part, frozen=True, kw_only=True):
    """A worker that leads nothing, and takes over what another leaves."""

    name: str
    # Whether it would act on what it decides, or only observe.
    acts: bool
    # When it last said that it is there.
    seen_at: str


def standbys(records: Mapping[str, KeptLease], now: Instant) -> tuple[StandbyWorker, ...]:
    """The workers that stand by, by name: one that leads by now does not, whatever it said last."""
    running = [(name, each) for name, each in records.items() if each.runs(now)]
    leading = {each.lease.holder for name, each in running if not name.startswith(STANDBY)}
    there = (
        (each.lease.holder, each.look)
        for name, each in running
        if name.startswith(STANDBY) and each.lease.holder not in leading
    )
    found = (
        StandbyWorker(name=name, acts=look.acts, seen_at=format_instant(look.at))
        for name, look in there
        if look is not None and look.at is not None
    )
    return tuple(sorted(found, key=lambda each: each.name))


class Attendance(msgspec.Struct, frozen=True):
    """The worker of a partition, and the moment to decide for."""

    worker: PartitionWorker
    at: Instant


def attendance(
    store: Store, records: Mapping[str, KeptLease], partition: str, now: Instant
) -> Attendance:
    """Which worker leads a partition, and the moment up to which its facts say what is so."""
    record = records.get(partition)
    runs = record is not None and record.runs(now)
    look = record.look if record is not None else None
    last = look.at if look is not None else None
    # A worker that renews its leases looks at least this often.
    term = Duration(record.term + (look.every if look else 0)) if record else Duration(0)
    fresh = runs and (not term or (last is not None and now - last <= term))
    if not fresh:
        last = max(filter(None, (last, _written_at(store, partition))), default=None)
        fresh = runs and (last is None or now - last <= term)
    worker = PartitionWorker(
        partition=partition,
        leader=record.lease.holder if record is not None and runs else None,
        acts=look.acts if look is not None else None,
        looked_at=None if last is None else format_instant(last),
        stale=not fresh and last is not None,
        trouble=look.trouble if runs and look is not None else "",
        gone=record.lease.holder if record is not None and not runs else "",
        left=not runs and look is not None and look.left,
    )
    return Attendance(worker, now if fresh or last is None else min(last, now))


def verified(found: Attendance, verify: Callable[[str], Break | None]) -> Attendance:
    """The same, with what is wrong with its chain; a worker that leads it verifies it itself."""
    worker = found.worker
    broken = verify(worker.partition) if worker.leader is None else None
    if broken is None:
        return found
    said = str(BrokenChainError(worker.partition, broken))
    return replace(found, worker=replace(worker, broken=said))


def _written_at(store: Store, partition: str) -> Instant | None:
    """When a worker last wrote to a partition; None: not among the last entries."""
    try:
        entries = list(last_entries(store, partition, TAIL))
    except OutsideError:  # some are missing: that its chain is broken is said in its place
        return None
    return next((each.at for each in reversed(entries) if each.actor == ACTOR), None)


def trouble_lines(workers: Iterable[PartitionWorker], now: Instant) -> Iterator[str]:
    """What is not shown as it is now, and why; what none acts on."""
    known = list(workers)
    yield from dict.fromkeys(each.broken for each in known if each.broken)
    never = [each for each in known if each.saw_nothing]
    for why in dict.fromkeys(each.trouble for each in never):
        for some in grouped(each for each in never if each.trouble == why):
            names = f"{named([each.partition for each in some])}, of which nothing is known"
            yield f"worker {some[0].leader} cannot see it ({why}): {names}"
    if removed := [each for each in known if each.left]:
        names = named([each.partition for each in removed])
        yield f"removed, no worker looks at it: {names}{_last_look(removed, now)}"
    for some in grouped(each for each in known if each.stale and not each.left):
        leader, names = some[0].leader, named([each.partition for each in some])
        moment = _last_look(some, now)
        if leader is None:
            gone = sorted({each.gone for each in some if each.gone})
            by = f" (gone: {named(gone)})" if gone else ""
            yield f"no worker is running{by}, nothing is acted on: {names}{moment}"
        else:
            why = next((each.trouble for each in some if each.trouble), "")
            what = f"cannot see it ({why})" if why else "has ended no round since"
            yield f"worker {leader} {what}: {names}{moment}"


def unreadable(
    records: Mapping[str, KeptLease], partition: str, error: BrokenChainError, now: Instant
) -> PartitionWorker:
    """The worker of a partition that cannot be folded, because its chain is broken."""
    record = records.get(partition)
    look = None if record is None else record.look
    return PartitionWorker(
        partition=partition,
        leader=record.lease.holder if record is not None and record.runs(now) else None,
        acts=None if look is None else look.acts,
        looked_at=None,
        stale=False,
        broken=str(error),
    )


def _last_look(some: Iterable[PartitionWorker], now: Instant) -> str:
    looked = [parse_instant(each.looked_at) for each in some if each.looked_at is not None]
    return f" {look_words(min(looked), now)}" if looked else ""


def look_words(at: Instant, now: Instant) -> str:
    """How old what is shown is."""
    return f"as of the last look, {format_second(at)}, {format_age(now - at)} ago"


def grouped(workers: Iterable[PartitionWorker]) -> list[list[PartitionWorker]]:
    """Partitions with the same worker, which acts in all of them or in none."""
    found: dict[tuple[str | None, bool | None], list[PartitionWorker]] = {}
    for each in workers:
        found.setdefault((each.leader, each.acts), []).append(each)
    return list(found.values())


def named(names: Sequence[str]) -> str:
    """The first few names; the others are counted."""
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {counted(len(names) - NAMED, 'other')}"
