"""Log lines of rollouts."""

from collections.abc import Iterator

from tidegate.engine.round import RoundResult
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.telemetry.decisions import decision_records
from tidegate.model.time import format_age
from tidegate.telemetry.kind import KindTelemetry, deed
from tidegate.telemetry.log import Record


class RolloutTelemetry(KindTelemetry):
    """Lines for rounds in which something changed."""

    def line(self, result: RoundResult) -> str:
        """What is done now, and when to look again."""
        decided = result.fact
        if not result.is_new or not isinstance(decided, Decided):
            return ""
        if not (decided.changed or decided.tasks):
            return ""
        left = ""
        if result.recheck_at is not None:
            left = f", look again in {format_age(result.recheck_at - decided.now)}"
        doing = deed(decided.mode, (task.target for task in decided.tasks))
        return f"{result.partition}: {decided.summary.value}: {doing}{left}"

    def records(self, result: RoundResult) -> Iterator[Record]:
        """What became true of the rollout, then target by target."""
        decided = result.fact
        if isinstance(decided, Decided) and (decided.changed or decided.events):
            yield from decision_records(result.partition, decided, result.world, result.plan)
