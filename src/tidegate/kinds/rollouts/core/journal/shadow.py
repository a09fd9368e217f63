"""Shadow mode: what would have been decided, against what the existing system really did.

Every target that the other system started is one decision to compare. It is equal if, when it
was started, all our gates were open for it; different if one was shut, and that gate says why. A
target we would have started and the other system did not is listed at the end.
"""

from collections.abc import Iterable

from tidegate.journal.chain import JournalEntry
from tidegate.journal.shadow import ShadowDecision, Shadowed
from tidegate.kinds.rollouts.core.journal.facts import Decided, TargetsObserved
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant

_STARTED = frozenset((Status.Progressing, Status.Succeeded, Status.Failed, Status.TimeOut))


def shadow(entries: Iterable[JournalEntry]) -> Shadowed:
    """Compare a partition's observations with what was decided before each of them."""
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
    known = state.reports.get(report.name)
    return report.status in _STARTED and (known is None or known.revision != report.revision)


def _shut(state: RolloutState, name: str) -> tuple[str, ...]:
    """The gates that were shut for a target when we last decided."""
    stand = state.stands.get(name)
    if stand is None:
        return ("not known to us",)
    return tuple(
        f"{gate} {reason}" for gate, outcome, reason, _ in stand.verdicts if outcome != "pass"
    )
