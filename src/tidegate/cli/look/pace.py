"""How long a change usually takes: by an option, by the journal, or by default."""

import click

from tidegate.journal.facts import Acted, TaskOutcome
from tidegate.kinds.rollouts.core.journal.facts import TargetsObserved
from tidegate.kinds.rollouts.simulated.forecast import usual_time
from tidegate.model.target import Status
from tidegate.model.time import SECOND, Duration, Instant, parse_duration
from tidegate.store.port import Store

ASSUMED = Duration(10 * 60 * SECOND)


def usual_pace(store: Store, partition: str, given: str | None) -> tuple[Duration, str]:
    """The time a change takes in a rollout, and how that is known."""
    if given:
        try:
            return parse_duration(given), "as given"
        except ValueError as error:
            raise click.UsageError(f'--apply-time "{given}": {error}; like 20m') from None
    durations = _durations(store, partition)
    word = f"the median of {len(durations)} here" if durations else "assumed"
    return usual_time(durations, ASSUMED), word


def _durations(store: Store, partition: str) -> list[Duration]:
    """How long changes took, from what was done to what succeeded."""
    began: dict[str, Instant] = {}
    found: list[Duration] = []
    for entry in store.read(partition):
        fact = entry.fact()
        if isinstance(fact, Acted) and fact.outcome is TaskOutcome.DONE:
            began[fact.target] = entry.at
        elif isinstance(fact, TargetsObserved):
            for report in fact.reports:
                if report.status is not Status.Succeeded or report.name not in began:
                    continue
                start = began.pop(report.name)
                found.append(Duration(max(0, (report.since or start) - start)))
    return found
