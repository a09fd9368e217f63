"""What `run` prints of every round, and when `--once` has nothing left to wait for.

`--once` ends when each partition rests, is led by a worker that runs, or cannot be carried out.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import click

from tidegate.cli.worker.leaders import OtherLeaders
from tidegate.cli.worker.patterns import check_found
from tidegate.engine.kind import PartitionRefusedError
from tidegate.engine.round import RoundResult
from tidegate.engine.started import Started
from tidegate.engine.vitals import Led
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted, TaskOutcome
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.time import SECOND, Duration, Instant, format_age, format_second
from tidegate.store.port import BrokenChainError, Store
from tidegate.wiring import clock

# Shorter waits of --once are not told.
WAIT_TOLD_S = 10
# Of what was not done in one round so many are told with the reason; the others are counted.
NOT_DONE_TOLD_MAX = 3


class RunWatch:
    """Hears of every round of one worker."""

    def __init__(
        self, kinds: Sequence[Started], store: Store, worker: WorkerSettings, *, once: bool
    ) -> None:
        self._kinds, self._act, self._once = kinds, worker.act, once
        # Partitions that cannot be carried out as they are declared.
        self.refused: set[str] = set()
        # Partitions of which the last actions failed.
        self.failed: set[str] = set()
        # What a timeout of --once found unfinished, and errors that ended the run.
        self.late: list[str] = []
        self.errors: list[Exception] = []
        self._quiet: set[str] = set()
        self._started: dict[str, Started] = {}
        self._leaders: set[str] = set()
        self._waits: dict[str, Instant] = {}
        self._not_done: dict[str, list[Acted]] = {}
        self._others = OtherLeaders(store, clock(), worker.holder, partial(click.echo, err=True))

    def follow(
        self, worker: Worker, longest: Duration | None
    ) -> Iterator[Coroutine[Any, Any, None]]:
        """What runs beside a worker; `longest`: after so long --once gives up, None: never."""
        self._worker = worker
        yield self._tell_found()
        if self._once:
            yield self._others.run(self._end_if_idle)
        if longest is not None:
            yield self._end_in_time(longest)

    def report(self, partition: str, outcome: RoundResult | Led | Exception) -> None:
        """Print what came of a round, and end if it was the last that was waited for."""
        if isinstance(outcome, Led):
            self._hear_leader(partition, outcome)
        elif isinstance(outcome, Exception):
            self._hear_error(partition, outcome)
        else:
            self._hear_round(partition, outcome)

    def written(self, partition: str, fact: Fact) -> None:
        """A fact was written to the journal; called from any thread."""
        if isinstance(fact, Acted) and fact.outcome is not TaskOutcome.DONE:
            self._not_done.setdefault(partition, []).append(fact)

    def _hear_leader(self, partition: str, led: Led) -> None:
        if not led.leader:
            self._others.forget(partition)
        elif self._once:
            self._others.meet(partition)
        elif led.leader not in self._leaders:
            self._leaders.add(led.leader)
            what = f"worker {led.leader} leads it; this one stands by"
            click.echo(f"{partition}: {what}", err=True)
        self._end_if_idle()

    def _hear_error(self, partition: str, error: Exception) -> None:
        if not partition and self._once and not self._worker.discovered.is_set():
            self.errors.append(OutsideError(f"{error}; --once does not wait for it"))
            self._worker.stop()
            return
        click.echo(_error_line(partition, error), err=True)
        if isinstance(error, (PartitionRefusedError, BrokenChainError)):
            self.refused.add(partition)
            self._end_if_idle()

    def _hear_round(self, partition: str, done: RoundResult) -> None:
        self.refused.discard(partition)
        one = self._started.setdefault(partition, _kind_of(self._kinds, self._worker, partition))
        if line := one.telemetry.line(done):
            click.echo(line, err=True)
        for line in _not_done_lines(self._not_done.pop(partition, [])):
            click.echo(f"{partition}: {line}", err=True)
        if done.outcomes:
            (self.failed.add if done.failed else self.failed.discard)(partition)
        rests = one.kind.rests(done)
        (self._quiet.add if rests else self._quiet.discard)(partition)
        if self._once and not rests and (line := _wait_line(done, self._waits.get(partition))):
            self._waits[partition] = done.recheck_at or Instant(0)
            click.echo(f"{partition}: {line}", err=True)
        self._end_if_idle()

    def _unfinished(self) -> frozenset[str]:
        return self._worker.vitals().running - (self._quiet | self._others.led | self.refused)

    def _end_if_idle(self) -> None:
        if self._once and not self._unfinished():
            self._worker.stop()

    async def _end_in_time(self, longest: Duration) -> None:
        await asyncio.sleep(longest / SECOND)
        self.late.extend(sorted(self._unfinished()))
        if self.late:
            self._worker.stop()

    async def _tell_found(self) -> None:
        await self._worker.discovered.wait()
        running = self._worker.vitals().running
        try:
            for line in check_found(self._act, running):
                click.echo(f"Warning: {line}", err=True)
        except UserError as error:
            self.errors.append(error)
            self._worker.stop()
            return
        if not running:
            click.echo("no rollout was found" + ("; nothing to do" if self._once else ""), err=True)
        self._end_if_idle()


def _error_line(partition: str, error: Exception) -> str:
    """An error with its partition, unless it names that itself."""
    text = str(error)
    named = not partition or text.startswith(f"{partition}: ")
    return text if named else f"{partition}: {text}"


def _not_done_lines(acts: Sequence[Acted]) -> Iterator[str]:
    """What was not done in a round, and why."""
    for fact in acts[:NOT_DONE_TOLD_MAX]:
        yield f"{fact.target}: not done: {fact.detail}"
    if (more := len(acts) - NOT_DONE_TOLD_MAX) > 0:
        yield f"{more} more not done; `tidegate journal show` has each"


def _wait_line(done: RoundResult, told: Instant | None) -> str:
    """What --once waits for, if it is for long; empty: it is not, or it was told."""
    until = done.recheck_at
    if until is None or until == told or (left := until - clock().now()) < WAIT_TOLD_S * SECOND:
        return ""
    counts = done.count()
    reasons: Counter[str] = Counter()
    for (_, reason), targets in counts.waits.items():
        reasons[reason] += targets
    # Where no gate is shut, what targets do is what there is to wait for.
    said, what = ("by reason", reasons) if reasons else ("targets", counts.states)
    why = ", ".join(f"{word} {targets}" for word, targets in sorted(what.items()))
    return f"waits at most {format_age(left)}, until {format_second(until)}, {said}: {why}"


def _kind_of(kinds: Iterable[Started], worker: Worker, partition: str) -> Started:
    """The kind of a partition that the worker runs."""
    kind = worker.kind_of(partition)
    return next(each for each in kinds if each.kind is kind)
