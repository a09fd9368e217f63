"""The state of one rollout: a fold over its facts, from which its world is built.

Nothing here is stored as truth: drop it, fold again, and it is the same. Soak, attempts and
approvals all follow from facts.

A task that was decided and has no outcome yet counts as in flight: whatever happened to the
worker that decided it, it is not started a second time.
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from tidegate.gates.approval import Response
from tidegate.gates.brakes import Brakes, concerning
from tidegate.gates.pin import Pin
from tidegate.gates.scope import Scope
from tidegate.journal.answers import answered
from tidegate.journal.fact import Fact
from tidegate.journal.facts import (
    NAMES_REVISION,
    WITHDRAWS_RETRY,
    Acted,
    Asked,
    Bound,
    Folded,
    Mode,
    TaskOutcome,
    Told,
    Verb,
)
from tidegate.kinds.rollouts.core.journal.facts import (
    Decided,
    RolloutDeclared,
    RolloutTask,
    TargetsObserved,
    TargetStanding,
)
from tidegate.kinds.rollouts.core.strategy import Approvals, Retry, Rollout, wider
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld, build_world
from tidegate.model.json_text import decode_json
from tidegate.model.plan import ChangeKind
from tidegate.model.problem import Problems
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant

# The owner of pins that are part of the declaration.
DECLARED = "the bundle"


class PendingTask(msgspec.Struct, frozen=True):
    """A task without an outcome: when it was decided, and how trying it went."""

    task: RolloutTask
    at: Instant
    tries: int = 0
    tried_at: Instant | None = None
    detail: str = ""


class RolloutState(msgspec.Struct):
    """What is known of one rollout. Mutable: a fold over many facts makes one, not many."""

    declared: RolloutDeclared | None = None
    reports: dict[str, Target] = {}
    complete: bool = True
    rollout: Rollout = Rollout()
    # Decided and without an outcome, by target.
    pending: dict[str, PendingTask] = {}
    # Reports up to this moment are void: a retry was taken up.
    void: dict[str, Instant] = {}
    stands: dict[str, TargetStanding] = {}
    summary: Summary = Summary.WAITING
    recheck_at: Instant | None = None
    decided_at: Instant | None = None
    # When the revision under way was first given to a target; None: not yet.
    began_at: Instant | None = None
    # The brakes of the decision recorded last.
    brakes: Brakes | None = None
    # The notices that were sent, by key, and when.
    told: dict[str, Instant] = {}
    # What people said at approval gates, by gate.
    responses: dict[str, tuple[Response, ...]] = {}
    # Targets that failed with the revision under way, and when; they may be returned since.
    failed: dict[str, Instant] = {}


def fold(state: RolloutState, at: Instant, fact: Fact, actor: str) -> RolloutState:
    """Take one fact into account; facts that are not about rollouts change nothing."""
    if isinstance(fact, Folded):
        return decode_json(fact.state, RolloutState)
    if isinstance(fact, Asked):
        _asked(state, at, actor, fact)
        return state
    step = _STEPS.get(type(fact))
    if step is not None:
        step(state, at, fact)
    return state


def _declared(state: RolloutState, _: Instant, fact: RolloutDeclared) -> None:
    state.declared = fact
    if state.rollout.aborted_early not in (msgspec.UNSET, fact.revision):
        state.rollout = replace(state.rollout, aborted_early=msgspec.UNSET)


def _observed(state: RolloutState, _: Instant, fact: TargetsObserved) -> None:
    state.complete = fact.complete
    for name in fact.gone:
        state.reports.pop(name, None)
    for report in fact.reports:
        if is_void(state, report):
            continue
        state.void.pop(report.name, None)
        state.reports[report.name] = report
        pending = state.pending.get(report.name)
        if pending is not None and _speaks_of(report, pending.task):
            del state.pending[report.name]


def _speaks_of(report: Target, task: RolloutTask) -> bool:
    """Whether a target itself reports the outcome of a task, even if the answer was lost."""
    if report.status in (Status.ToApply, Status.NewCluster):
        return False
    return report.revision is not None and report.revision == task.change.revision


def is_void(state: RolloutState, report: Target) -> bool:
    """Whether a report is from before a retry was taken up, and so no longer counts."""
    since = state.void.get(report.name)
    return since is not None and (report.since is None or report.since <= since)


def _asked(state: RolloutState, at: Instant, actor: str, fact: Asked) -> None:
    if fact.gates:
        state.responses = answered(state.responses, at, actor, fact)
    if fact.groups or not fact.gates:
        step = _ASKED_EARLY if _is_early(state, fact) else _ASKED
        state.rollout = step[fact.verb](state.rollout, fact)


def _is_early(state: RolloutState, fact: Asked) -> bool:
    """Whether it is the end, or the new start, of a declared revision that has not begun."""
    rollout, declared = state.rollout, state.declared
    if declared is None or rollout.revision in (None, declared.revision):
        return False
    if fact.verb is Verb.ABORT:
        return fact.v >= NAMES_REVISION and fact.version == declared.revision
    return fact.verb in _ASKED_EARLY and rollout.aborted_early == declared.revision


def _bound(state: RolloutState, _: Instant, fact: Bound) -> None:
    state.brakes = fact.brakes


def _told(state: RolloutState, at: Instant, fact: Told) -> None:
    for key in fact.retired:
        state.told.pop(key, None)
    for key in fact.keys:
        state.told[key] = at


def _decided(state: RolloutState, at: Instant, fact: Decided) -> None:
    if fact.rollout.revision != state.rollout.revision or fact.rollout.uid != state.rollout.uid:
        state.began_at = None
        state.failed = {}
    if fact.tasks and fact.mode is Mode.ACT and state.began_at is None:
        state.began_at = at
    state.rollout = fact.rollout
    state.summary, state.recheck_at, state.decided_at = fact.summary, fact.recheck_at, at
    for stand in fact.changed:
        state.stands[stand.target] = stand
        if stand.has_failed:
            state.failed.setdefault(stand.target, at)
        elif not fact.rollout.aborted:
            state.failed.pop(stand.target, None)
    for name in fact.forgotten:
        state.failed.pop(name, None)
        # By the target's own clock, where it said when: ours may be ahead of it.
        known = state.reports.pop(name, None)
        state.void[name] = at if known is None or known.since is None else known.since
    if fact.mode is Mode.ACT:
        for task in fact.tasks:
            state.pending[task.target] = PendingTask(task, at)


def _acted(state: RolloutState, at: Instant, fact: Acted) -> None:
    """A task that failed stays pending, under the same key; anything else ends it."""
    known = state.pending.get(fact.target)
    if known is None or known.task.key != fact.key:
        return
    if fact.outcome is TaskOutcome.FAILED:
        again = PendingTask(known.task, known.at, known.tries + 1, at, fact.detail)
        state.pending[fact.target] = again
        return
    del state.pending[fact.target]
    if fact.outcome is TaskOutcome.DONE:
        _done(state, at, known.task)


def _done(state: RolloutState, at: Instant, task: RolloutTask) -> None:
    """It was applied: until the target reports itself, it is in flight on that revision."""
    if task.change.kind is ChangeKind.REMOVE:
        state.reports.pop(task.target, None)
        state.stands.pop(task.target, None)
        return
    known = state.reports.get(task.target)
    # Not before what it said last, whatever our clock says: else that would pass for newer.
    since = at if known is None or known.since is None else max(at, known.since)
    state.reports[task.target] = Target(
        task.target, Status.Progressing, since, task.change.revision
    )


_STEPS: dict[type, Callable[[RolloutState, Instant, Fact], None]] = {
    RolloutDeclared: _declared,  # type: ignore[dict-item]
    TargetsObserved: _observed,  # type: ignore[dict-item]
    Bound: _bound,  # type: ignore[dict-item]
    Told: _told,  # type: ignore[dict-item]
    Decided: _decided,  # type: ignore[dict-item]
    Acted: _acted,  # type: ignore[dict-item]
}


def _approve(rollout: Rollout, fact: Asked) -> Rollout:
    given = rollout.approvals
    # An approval for another version starts the list anew: the old ones do not count for it.
    same = given.for_version == fact.version
    known = given if same else Approvals(for_version=fact.version)
    named = frozenset(fact.groups) - {"ungrouped"}
    ungrouped = known.ungrouped or "ungrouped" in fact.groups
    return replace(rollout, approvals=Approvals(known.groups | named, ungrouped, fact.version))


def _revoke(rollout: Rollout, fact: Asked) -> Rollout:
    given = rollout.approvals
    ungrouped = given.ungrouped and "ungrouped" not in fact.groups
    left = given.groups - frozenset(fact.groups)
    return replace(rollout, approvals=Approvals(left, ungrouped, given.for_version))


def _retry(rollout: Rollout, fact: Asked) -> Rollout:
    """Of all groups, or of some beside what was asked before."""
    what = Retry.FAILED if fact.verb is Verb.RETRY_FAILED else Retry.EVERYTHING
    if not fact.groups:
        return replace(rollout, retry=what)
    known = rollout.retried_groups
    mine = {name: wider(what, known.get(name, Retry.NOTHING)) for name in sorted(fact.groups)}
    return replace(rollout, retry_groups={**known, **mine})


def _abort(rollout: Rollout, fact: Asked) -> Rollout:
    """The last request wins: a retry that has not begun is withdrawn, and all is as before it."""
    if fact.v < WITHDRAWS_RETRY:  # old journals fold to what was decided then
        return replace(rollout, aborted=True)
    aborted = rollout.aborted or not rollout.completed
    return replace(rollout, aborted=aborted, retry=Retry.NOTHING, retry_groups={})


_ASKED: dict[Verb, Callable[[Rollout, Asked], Rollout]] = {
    Verb.APPROVE: _approve,
    Verb.REJECT: _revoke,  # a group has no quorum: a no takes the yes away
    Verb.REVOKE: _revoke,
    Verb.PAUSE: lambda rollout, _: replace(rollout, paused=True),
    Verb.RESUME: lambda rollout, _: replace(rollout, paused=False),
    Verb.ABORT: _abort,
    Verb.RETRY: _retry,
    Verb.RETRY_FAILED: _retry,
}


# The revision under way is not what is meant, so nothing of it changes.
_ASKED_EARLY: dict[Verb, Callable[[Rollout, Asked], Rollout]] = {
    Verb.ABORT: lambda rollout, fact: replace(
        rollout, aborted_early=msgspec.UNSET if fact.version is None else fact.version
    ),
    Verb.RETRY: lambda rollout, _: replace(rollout, aborted_early=msgspec.UNSET),
    Verb.RETRY_FAILED: lambda rollout, _: replace(rollout, aborted_early=msgspec.UNSET),
}


def world_of(state: RolloutState, brakes: Brakes | None) -> RolloutWorld | None:
    """The world as the facts have it, under brakes; None while nothing is declared."""
    declared = state.declared
    if declared is None:
        return None
    reports = dict(state.reports)
    rollout = state.rollout
    if rollout.last_good is None and declared.last_good is not None:
        rollout = replace(rollout, last_good=declared.last_good)
    for one in state.pending.values():
        task = one.task
        if task.change.kind is ChangeKind.REMOVE:
            reports.pop(task.target, None)  # it is being removed: that is not decided again
        else:
            # It was not sent yet, so its deadline has not begun: it is in flight, undated.
            reports[task.target] = Target(
                task.target, Status.Progressing, None, task.change.revision
            )
    return build_world(
        declared.strategy,
        declared.groups,
        reports.values(),
        problems=Problems(),
        labels=declared.labels,
        revision=declared.revision,
        rollout=rollout,
        complete=state.complete,
        brakes=_concerning(_with_pins(brakes, declared, state.brakes), declared, reports),
        busy=declared.busy,
    )


def _with_pins(
    brakes: Brakes | None, declared: RolloutDeclared, recorded: Brakes | None
) -> Brakes | None:
    """The brakes, and the pins that are declared with the rollout itself.

    A target may be pinned by the journal, too: then both say so. Of brakes as they were recorded,
    all that bound the rollout are there already.
    """
    if not declared.pinned:
        return brakes
    known = brakes or Brakes()
    mine = _declared_pins(declared)
    there = {
        pin.name
        for pin in known.pins
        if brakes is recorded or _is_declared(pin, mine.get(pin.name))
    }
    more = (pin for name, pin in mine.items() if name not in there)
    return replace(known, pins=(*known.pins, *more))


def _declared_pins(declared: RolloutDeclared) -> dict[str, Pin]:
    """The pins that are declared with a rollout, by target."""
    owner = declared.pinned_by or DECLARED
    return {
        name: Pin(
            name=name,
            scope=Scope(targets=frozenset((name,))),
            owner=owner,
            why=where,
            lift=declared.unpinned_by.get(name) or f"change {declared.pinned_by or where}",
        )
        for name, where in sorted(declared.pinned.items())
    }


def _is_declared(pin: Pin, mine: Pin | None) -> bool:
    """Whether a pin is the declared one of its target, as it is or as it was written before."""
    if mine is None:
        return False
    return pin.lift == mine.lift or (pin.owner, pin.why) == (mine.owner, mine.why)


def _concerning(
    brakes: Brakes | None, declared: RolloutDeclared, reports: dict[str, Target]
) -> Brakes | None:
    """The brakes that concern this rollout: others must not fill its journal."""
    if brakes is None:
        return None
    return concerning(brakes, target_names(declared, reports), declared.labels)


def target_names(declared: RolloutDeclared, reports: dict[str, Target]) -> list[str]:
    """Every target that is in a group or was reported, by name."""
    names = {name for group in declared.groups for name in group.clusters} | reports.keys()
    return sorted(names)
