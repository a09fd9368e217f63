"""What goes out, how far it is, what waits and why: questions about partitions of every kind."""

from collections import Counter

from msgspec.structs import replace

from tidegate.app.documents import (
    HistoryEntry,
    PlannedClaim,
    RolloutDetails,
    RolloutItem,
    RolloutList,
    StatusReport,
    TargetDetails,
    TargetParts,
    group_part,
    recheck_of,
)
from tidegate.app.journals import Decision, Journals, target_of
from tidegate.app.when import expected_in
from tidegate.app.workers import PartitionWorker
from tidegate.explain.view import PartitionView, TargetRow
from tidegate.gates.scope import kind_word
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import UnknownFactError
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import bare
from tidegate.model.time import format_instant
from tidegate.model.verdict import Verdict

# How many entries of its journal `show` ends with.
HISTORY = 10
_MOVING = ("Updating", "Soaking")
FAILED = ("Failed", "No answer")
DONE = ("Done", "Ignored", "Joined later", "Pinned")
# A target that waits at one of these is held: a brake covers it.
_BRAKES = frozenset((Gate.HOLD, Gate.FREEZE, Gate.BLOCK, Gate.PIN))
# What `pause` and `abort` shut is stopped, and not held.
_STOPS = frozenset((Gate.RUNNING,))


def status(journals: Journals) -> StatusReport:
    """Per kind how many targets move, wait and failed; what needs a person; and who leads."""
    kinds: dict[str, Counter[str]] = {}
    needs: Counter[str] = Counter(approvals=0, failures=0)
    holds: set[str] = set()
    workers: list[PartitionWorker] = []
    for one in journals.all():
        view = one.view
        workers.append(one.worker)
        kinds.setdefault(one.kind, Counter()).update(_counts(view, one.worker))
        needs["approvals"] += len(view.needs.approvals)
        needs["failures"] += len(view.needs.failures)
        holds |= _holds(view)
        if view.needs.mistakes:
            needs["mistakes in labels"] += len(view.needs.mistakes)
        if one.worker.leader is not None and one.worker.stale:
            needs["rollouts that cannot be read"] += 1
    for worker in journals.unseen:
        workers.append(worker)
        kinds.setdefault(kind_word(worker.partition), Counter()).update({"rollouts": 1})
        needs["rollouts that cannot be read"] += 1
    if holds:
        needs["holds"] = len(holds)
    return StatusReport(
        kinds={kind: dict(each) for kind, each in kinds.items()},
        needs=dict(needs),
        workers=tuple(workers) if journals.is_now else (),
        at=format_instant(journals.now),
        unknown=journals.unknown(),
    )


def _counts(view: PartitionView, worker: PartitionWorker) -> Counter[str]:
    words = ("moving", "waiting", "done", "failed", "held", "stopped")
    counts: Counter[str] = Counter({"rollouts": 1, **dict.fromkeys(words, 0)})
    for each in view.targets:
        if each.state in FAILED:
            counts["failed"] += 1
        # What may start, and is started by no worker, does not move.
        elif each.state in _MOVING or (each.starts and worker.moves):
            counts["moving"] += 1
        elif each.state in DONE:
            counts["done"] += 1
        else:
            counts["waiting"] += 1
            counts["held"] += is_held(each)
            counts["stopped"] += is_stopped(each)
    return counts


def is_held(row: TargetRow) -> bool:
    """Whether a brake covers a target that waits."""
    return _is_shut(_first(row), _BRAKES)


def is_stopped(row: TargetRow) -> bool:
    """Whether a target waits because a person paused or ended its rollout."""
    return _is_shut(_first(row), _STOPS)


def look_of(row: TargetRow, *, moves: bool) -> str:
    """What a target is drawn as; `moves`: a worker starts what may start."""
    if row.state in FAILED:
        return "failed"
    if row.state == "Soaking":
        return "soaking"
    if row.state in _MOVING or (row.starts and moves):
        return "moving"
    if row.state in DONE:
        return "done" if row.state == "Done" else "ignored"
    return "held" if is_held(row) else "stopped" if is_stopped(row) else "waiting"


def _first(row: TargetRow) -> tuple[Verdict, ...]:
    return row.options[0].verdicts if row.options else ()


def _holds(view: PartitionView) -> set[str]:
    """The holds that keep something waiting, by name: only a person removes them."""
    said = {
        id(option.verdicts): option.verdicts
        for each in view.targets
        if each.waits
        for option in each.options[:1]
    }
    return {
        str(verdict.facts[0])
        for verdicts in said.values()
        for verdict in verdicts
        if verdict.gate is Gate.HOLD and verdict.outcome is not Outcome.PASS
    }


def _is_shut(verdicts: tuple[Verdict, ...], gates: frozenset[Gate]) -> bool:
    """Whether one of these gates is shut."""
    return any(each.gate in gates and each.outcome is not Outcome.PASS for each in verdicts)


def rollout_list(journals: Journals, name: str = "", kind: str = "") -> RolloutList:
    """What is going out, of every kind or of one."""
    found = [journals.find(name)] if name else list(journals.all(kind))
    unseen = [] if name else journals.unseen
    return RolloutList(
        items=tuple(rollout_item(each) for each in found),
        unseen=tuple(each for each in unseen if kind in ("", kind_word(each.partition))),
        unknown=tuple(each for each in journals.unknown() if kind in ("", kind_word(each))),
    )


def rollout_item(one: Decision) -> RolloutItem:
    """One partition, in a list."""
    view = one.view
    return RolloutItem(
        id=one.partition,
        kind=one.kind,
        summary=view.summary,
        breached=view.breached,
        recheck_after=recheck_of(view),
        revision=view.revision,
        counts=dict(view.states()),
        groups=tuple(group_part(each) for each in view.groups),
        more=view.more,
        worker=one.worker,
    )


def rollout_details(journals: Journals, name: str) -> RolloutDetails:
    """One partition in full: groups, targets, and what happened last."""
    one = journals.find(name)
    entries = [each for each in journals.store.read(one.partition) if one.shows(each)][-HISTORY:]
    return replace(_details(journals, one), history=tuple(map(_history, entries)))


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
        target=replace(found.target, expected=expected),
        stopped_by=journals.stopped_by(one),
        also_in=others,
        worker=one.worker,
    )


def _details(journals: Journals, one: Decision) -> RolloutDetails:
    found, dates = view_details(one.view), expected_in(journals, one)
    return replace(
        found,
        targets=tuple(replace(each, expected=dates.get(each.name)) for each in found.targets),
        stopped_by=journals.stopped_by(one),
        worker=one.worker,
    )


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
