"""What goes out, how far it is, what waits and why: questions about partitions of every kind."""

from collections import Counter

from msgspec.structs import replace

from tidegate.app.documents import (
    HistoryEntry,
    PlannedClaim,
    RolloutDetails,
    RolloutList,
    StatusReport,
    TargetDates,
    TargetDetails,
    TargetDoc,
    TargetParts,
    group_part,
    recheck_of,
    request_doc,
)
from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.app.partitions.lookup import target_of
from tidegate.app.when import expected_in
from tidegate.app.workers import PartitionWorker, standbys
from tidegate.explain.verdict_part import VerdictPart
from tidegate.explain.view import PartitionView
from tidegate.gates.scope import kind_word
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import UnknownFactError
from tidegate.model.errors import NotFoundError, StaleError
from tidegate.model.problem import nearest
from tidegate.model.target import bare
from tidegate.model.time import Instant, format_instant, parse_instant
from tidegate.store.port import Store

# How many entries of its journal `show` ends with.
HISTORY = 10
# How many are read at first, and then twice as many.
TAIL = 50
# What `status` calls partitions that are not acted on before they are restored.
BROKEN = "journals with a broken chain"


def status(journals: Journals) -> StatusReport:
    """Per kind how many targets move, wait and failed; what needs a person; and who leads."""
    kinds: dict[str, Counter[str]] = {}
    needs: Counter[str] = Counter(approvals=0, failures=0)
    holds: set[str] = set()
    workers: list[PartitionWorker] = []
    for one in journals.all():
        if one.worker.left:  # it neither moves nor waits, and needs no one
            workers += [one.worker] if one.item.was_removed else []
            continue
        workers.append(one.worker)
        kinds.setdefault(one.kind, Counter()).update(one.counts)
        needs.update(one.needs)
        holds |= one.holds
        if one.worker.broken:
            needs[BROKEN] += 1
        if one.worker.leader is not None and one.worker.stale:
            needs["rollouts that cannot be read"] += 1
        if one.worker.gone and (one.counts["moving"] or one.counts["waiting"]):
            needs["rollouts without a worker"] += 1
    for worker in journals.unseen:
        workers.append(worker)
        kinds.setdefault(kind_word(worker.partition), Counter()).update({"rollouts": 1})
        needs[BROKEN if worker.broken else "rollouts that cannot be read"] += 1
    if holds:
        needs["holds"] = len(holds)
    shows_all = journals.is_now and journals.is_unlimited
    return StatusReport(
        kinds={kind: dict(each) for kind, each in kinds.items()},
        needs=dict(needs),
        workers=tuple(workers) if journals.is_now else (),
        standbys=standbys(journals.leases, journals.now) if shows_all else (),
        at=format_instant(journals.now),
        unknown=journals.unknown(),
    )


def rollout_list(journals: Journals, name: str = "", kind: str = "") -> RolloutList:
    """What is going out, of every kind or of one."""
    found = [journals.find(name)] if name else list(journals.all(kind))
    unseen = [] if name else journals.unseen
    return RolloutList(
        items=tuple(each.item for each in found),
        unseen=tuple(each for each in unseen if kind in ("", kind_word(each.partition))),
        unknown=tuple(each for each in journals.unknown() if kind in ("", kind_word(each))),
    )


def rollout_details(journals: Journals, name: str) -> RolloutDetails:
    """One partition in full: groups, targets, and what happened last."""
    one = journals.find(name)
    entries = _last_shown(journals.store, one)
    return replace(_details(journals, one), history=tuple(map(_history, entries)))


def _last_shown(store: Store, one: Decision) -> list[JournalEntry]:
    """The last entries that are seen; a journal is read from its end, for it may be long."""
    found: list[JournalEntry] = []
    end, size = store.head(one.partition).seq, TAIL
    while end > 0 and len(found) < HISTORY:
        begin = max(0, end - size)
        try:
            every = list(store.read(one.partition, after=begin, limit=end - begin))
        except StaleError:
            break  # what is further back was compacted meanwhile
        part = [each for each in every if each.seq <= end]
        if not part:
            break  # or was compacted before
        found = [*filter(one.shows, part), *found]
        end, size = begin, 2 * size
    return found[-HISTORY:]


def why(
    journals: Journals, name: str, target: str | None = None, dated_max: int | None = None
) -> RolloutDetails | TargetDetails:
    """A partition of any kind with every target, or one target with every gate of each option.

    Without a target, the name is that of a partition or of a target in one. `dated_max`: a target
    of a partition with more than so many has no dates here, which take longest; None: it has them.
    """
    others: tuple[str, ...] = ()
    if target is None:
        one, target, others = journals.find_target(name)
    else:
        one = journals.find(name)
    if target is None:
        return _details(journals, one)
    hint = f"`tidegate why {one.partition}` lists all"
    found = view_target(one.view, target, one.rules.target_noun, hint)
    dated = dated_max is None or len(one.view.targets) <= dated_max
    expected = expected_in(journals, one).get(found.target.name) if dated else None
    return replace(
        found,
        target=_dated(found.target, expected),
        stopped_by=journals.stopped_by(one),
        also_in=others,
        worker=one.worker,
    )


def _details(journals: Journals, one: Decision) -> RolloutDetails:
    found, dates = view_details(one.view), expected_in(journals, one)
    return replace(
        found,
        targets=tuple(_dated(each, dates.get(each.name)) for each in found.targets),
        stopped_by=journals.stopped_by(one),
        worker=one.worker,
    )


def _dated(row: TargetDoc, dates: TargetDates | None) -> TargetDoc:
    """A target with its dates.

    No gate of it is shut for longer than until it is expected to start: a gate estimates by limits,
    such as the deadline of another target, and what `when` expects is nearer to what happens.
    """
    if dates is None or dates.starts_at is None:
        return replace(row, expected=dates)
    starts = parse_instant(dates.starts_at)
    late = row.estimate and row.until is not None and parse_instant(row.until) > starts
    return replace(
        row,
        expected=dates,
        until=None if late else row.until,
        estimate=row.estimate and not late,
        options=tuple(
            replace(each, verdicts=tuple(_bounded(one, starts) for one in each.verdicts))
            for each in row.options
        ),
    )


def _bounded(part: VerdictPart, starts: Instant) -> VerdictPart:
    late = part.estimate and parse_instant(part.until) > starts
    return replace(part, until="", estimate=False) if late else part


def view_details(view: PartitionView) -> RolloutDetails:
    """A partition in full, as its rows have it."""
    parts = TargetParts()
    return RolloutDetails(
        id=view.partition,
        summary=view.summary,
        headline=view.headline,
        revision=view.revision,
        recheck_after=recheck_of(view),
        paused=view.paused,
        groups=tuple(group_part(each) for each in view.groups),
        targets=tuple(map(parts.one, view.targets)),
        at=format_instant(view.now),
        origin=view.origin,
        requests=tuple(map(request_doc, view.requests)),
        claims=tuple(
            PlannedClaim(name=each.name, place=each.place, target=each.target)
            for each in view.claims
        ),
        unplaced=tuple(map(parts.one, view.unplaced)),
    )


def view_target(view: PartitionView, target: str, noun: str, hint: str) -> TargetDetails:
    """One target with every gate of each option; NotFoundError names the nearest."""
    name = bare(target)
    row = target_of(view, name)
    if row is None:
        names = [each.name for each in (*view.targets, *view.unplaced)]
        raise NotFoundError(noun, name, nearest(name, names) or f"{hint} {len(names)}")
    return TargetDetails(
        rollout=view.partition,
        at=format_instant(view.now),
        target=TargetParts().one(row),
        origin=view.origin,
    )


def _history(entry: JournalEntry) -> HistoryEntry:
    return HistoryEntry(
        seq=entry.seq,
        at=format_instant(entry.at),
        by=entry.actor,
        what=entry.kind,
        target=entry.target,
        line=_line(entry),
    )


def _line(entry: JournalEntry) -> str:
    try:
        return entry.fact().line()
    except UnknownFactError as error:
        return str(error)
