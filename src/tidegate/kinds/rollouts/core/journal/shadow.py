"""Shadow mode: what would have been decided, against what the existing system really did.

Every target that the other system started is one decision to compare. It is equal if, when it
was started, all our gates were open for it; different if one was shut, and that gate says why. A
target we would have started and the other system did not is listed at the end.

What ran when we first looked was started at a time of which nothing is known: it is no decision.
Neither is what another decision of ours gave (a resharding), nor what another manager does with
targets that are not adopted yet.
"""

from collections.abc import Iterable

from tidegate.journal.chain import JournalEntry
from tidegate.journal.shadow import ShadowDecision, Shadowed
from tidegate.kinds.rollouts.core.journal.facts import Decided, TargetsObserved
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant

_STARTED = frozenset((Status.Progressing, Status.Succeeded, Status.Failed, Status.TimeOut))


def shadow(entries: Iterable[JournalEntry]) -> Shadowed | None:
    """Compare a partition's observations with what was decided before each of them.

    None: another manager has all its targets.
    """
    state = RolloutState()
    compared: list[ShadowDecision] = []
    would: dict[str, Instant] = {}
    began: Instant | None = None
    ended: Instant | None = None
    for entry in entries:
        fact = entry.fact()
        began = entry.at if began is None else began
        ended = entry.at
        if isinstance(fact, TargetsObserved):
            for report in fact.reports:
                if _is_start(state, report):
                    would.pop(report.name, None)
                    compared.append(_compared(state, report.name, entry.at))
        elif isinstance(fact, Decided):
            would = {task.target: would.get(task.target, entry.at) for task in fact.tasks}
        state = fold(state, entry.at, fact, entry.actor)
    if not compared and not would and _is_all_theirs(state):
        return None
    return Shadowed(
        decisions=tuple(compared),
        ours_only=tuple(ShadowDecision(target=name, ours_at=at) for name, at in would.items()),
        began_at=began,
        ended_at=ended,
    )


def _compared(state: RolloutState, name: str, at: Instant) -> ShadowDecision:
    """A start of the other system: equal if all our gates were open."""
    shut = _shut(state, name)
    ours_at = None if shut else at
    return ShadowDecision(target=name, ours_at=ours_at, theirs_at=at, why=", ".join(shut))


def _is_start(state: RolloutState, report: Target) -> bool:
    """Whether a report says that the target was given the declared revision."""
    if state.declared is None or report.revision != state.declared.revision:
        return False
    if report.name in state.declared.unpinned_by or not _was_decided(state, report.name):
        return False
    known = state.reports.get(report.name)
    return report.status in _STARTED and (known is None or known.revision != report.revision)


def _was_decided(state: RolloutState, name: str) -> bool:
    """Whether we had decided about a target; of one that was busy, another decision gave it."""
    stand = state.stands.get(name)
    busy = RolloutReason.BusyElsewhere.name
    return stand is not None and all(reason != busy for _, _, reason, _ in stand.verdicts)


def _is_all_theirs(state: RolloutState) -> bool:
    """Whether every target stays as it is until it is taken over from another manager."""
    declared = state.declared
    members = {name for group in declared.groups for name in group.clusters} if declared else set()
    return declared is not None and bool(members) and members <= declared.unpinned_by.keys()


def _shut(state: RolloutState, name: str) -> tuple[str, ...]:
    """The gates that were shut for a target when we last decided."""
    verdicts = state.stands[name].verdicts
    return tuple(f"{gate} {reason}" for gate, outcome, reason, _ in verdicts if outcome != "pass")
