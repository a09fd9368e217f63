"""How long a change usually takes: as given, as the journal shows, or as assumed."""

from collections.abc import Iterable

from tidegate.journal.chain import JournalEntry
from tidegate.journal.facts import Acted, TaskOutcome
from tidegate.kinds.rollouts.core.journal.facts import TargetsObserved
from tidegate.kinds.rollouts.simulated.forecast import usual_time
from tidegate.model.target import Status
from tidegate.model.time import SECOND, Duration, Instant

ASSUMED = Duration(10 * 60 * SECOND)
# The facts by which a change begins and ends.
_TELLING = frozenset(("acted", "observed"))


def usual_pace(
    entries: Iterable[JournalEntry],
    given: Duration | None = None,
    deadline: Duration | None = None,
) -> tuple[Duration, str]:
    """The time a change takes in a rollout, and how that is known.

    What is only assumed is within the deadline: an assumption must not make a rollout fail.
    """
    if given is not None:
        return given, "as given"
    durations = _durations(entries)
    if not durations and deadline is not None and deadline <= ASSUMED:
        return Duration(deadline // 2), "assumed: half of its deadline"
    word = f"the median of {len(durations)} here" if durations else "assumed"
    return _rounded(usual_time(durations, ASSUMED)), word


def _rounded(duration: Duration) -> Duration:
    """In whole seconds, from one on: a median is no more exact than that."""
    return Duration(round(duration / SECOND) * SECOND) if duration >= SECOND else duration


def _durations(entries: Iterable[JournalEntry]) -> list[Duration]:
    """How long changes took, from what was done to what succeeded."""
    began: dict[str, Instant] = {}
    found: list[Duration] = []
    for entry in entries:
        # Decisions, which are long and many, say nothing about it.
        fact = entry.fact() if entry.kind in _TELLING else None
        if isinstance(fact, Acted) and fact.outcome is TaskOutcome.DONE:
            began[fact.target] = entry.at
        elif isinstance(fact, TargetsObserved):
            for report in fact.reports:
                if report.status is not Status.Succeeded or report.name not in began:
                    continue
                start = began.pop(report.name)
                found.append(Duration(max(0, (report.since or start) - start)))
    return found
