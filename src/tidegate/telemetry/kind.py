"""What a kind adds to logs and metrics; every kind has the shared lines and metrics anyway."""

from collections.abc import Iterable, Iterator

from tidegate.engine.round import RoundResult
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Mode
from tidegate.telemetry.log import Record


class KindTelemetry:
    """Lines of rounds, and metrics of the kind's own; by default there are none."""

    def line(self, result: RoundResult) -> str:
        """A round on one line, for `run`; empty: nothing is new."""
        record = result.record
        if record is None or not result.is_new or not record.is_news:
            return ""
        counts = result.count()
        doing = deed(result.mode, (task.name for task in record.tasks))
        waits = sum(counts.waits.values())
        return f"{result.partition}: {counts.summary}: {doing}; {waits} wait"

    def records(self, result: RoundResult) -> Iterator[Record]:  # noqa: ARG002
        """The log lines of a round: one for every target whose decision changed."""
        return iter(())

    def round_ended(self, result: RoundResult) -> None:
        """A round was completed."""

    def written(self, partition: str, fact: Fact) -> None:
        """A fact was written to the journal."""

    def failed(self, partition: str, error: Exception) -> None:
        """A round failed, or something beside it."""

    def on_lease_lost(self, partition: str) -> None:
        """Another worker leads a partition now."""

    def text(self) -> bytes:
        """Metrics of the kind's own, for a scrape."""
        return b""


def deed(mode: Mode, names: Iterable[str]) -> str:
    """What a round does, or would do if it might act, with the targets of these names."""
    targets = ", ".join(names)
    if not targets:
        return "nothing to do"
    return f"{'acts' if mode is Mode.ACT else 'would act'} on {targets}"
