"""The log line of an action's outcome."""

from typing import Any

from tidegate.journal.facts import Acted, TaskOutcome
from tidegate.model.time import Instant
from tidegate.telemetry.log import Record

_LEVELS = {TaskOutcome.DONE: "info", TaskOutcome.DROPPED: "info", TaskOutcome.FAILED: "warning"}


def acted_record(rollout: str, at: Instant, fact: Acted) -> Record:
    """The outcome of one action."""
    keys: dict[str, Any] = {"rollout": rollout, "target": fact.target, "what": "acted", "at": at}
    keys |= {"outcome": fact.outcome.value, "key": fact.key}
    return _LEVELS[fact.outcome], fact.line(), keys
