"""From a worker's reports to log lines and metrics: all that `serve` reports passes here."""

import asyncio
import contextlib
from collections.abc import Callable

from tidegate.engine.notify import NoticeQueue
from tidegate.engine.round import RoundResult
from tidegate.engine.vitals import Led, Vitals
from tidegate.engine.watchdog import LoopHeld
from tidegate.explain.notice import Notice
from tidegate.gates.scope import kind_word
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.time import SECOND
from tidegate.telemetry.acted import acted_record
from tidegate.telemetry.kind import KindTelemetry
from tidegate.telemetry.log import Log, Record
from tidegate.telemetry.metrics import Gauges, Metrics

# How often the event loop is asked whether it still turns, and how late it may be.
BEAT_S = 1.0
BEAT_LATE_S = 15.0
# How long the journal may be silent before we are not ready.
JOURNAL_SILENT_S = 10.0

_ERRORS = (
    (StaleError, "stale"),
    (OutsideError, "outside"),
    (TimeoutError, "timeout"),
    (OSError, "system"),
)
# What is refused for its caller: without a login that works, or without the right.
_LOGIN = (401, 403)
# For errors without a message.
_WORDLESS = {"timeout": "it took too long, and is looked at again; --round-time says how long"}


class Observer:
    """Logs and counts what a worker reports.

    `telemetry` is that of the kind of a partition.
    """

    def __init__(
        self,
        log: Log,
        clock: Clock,
        version: str,
        vitals: Callable[[], Vitals],
        telemetry: Callable[[str], KindTelemetry],
        more: Callable[[], bytes] = lambda: b"",
    ) -> None:
        self._log = log
        self._clock = clock
        self._vitals = vitals
        self._loop = asyncio.get_running_loop()
        self._beat_at = self._loop.time()
        self._late_s = 0.0
        self.stopping = False
        self.notices: NoticeQueue | None = None
        self._telemetry = telemetry
        self._acts: dict[str, list[Record]] = {}
        self.metrics = Metrics(version, self._gauges, more)

    def report(self, partition: str, outcome: RoundResult | Led | Exception) -> None:
        """Something happened to a partition."""
        acts = self._acts.pop(partition, [])
        if isinstance(outcome, RoundResult):
            self._round(partition, outcome)
        elif isinstance(outcome, Led):
            self._led(partition, outcome)
        elif isinstance(outcome, Exception):
            self._error(partition, outcome)
        if acts:
            self._log.later(lambda: acts)

    def written(self, partition: str, fact: Fact) -> None:
        """A fact was written to the journal; called from any thread.

        The outcome of an action is logged after its decision, so it waits for the round to end.
        """
        if isinstance(fact, Acted):
            self.metrics.add("tidegate_actions_total", kind_word(partition), fact.outcome.value)
            record = acted_record(partition, self._clock.now(), fact)
            self._acts.setdefault(partition, []).append(record)
        self._telemetry(partition).written(partition, fact)

    def on_notice(self, notice: Notice, outcome: str, why: str) -> None:
        """A notice was sent, dropped, or could not be sent."""
        event = notice.happening.value
        self.metrics.add("tidegate_notices_total", event, outcome)
        level, detail = ("info", "") if outcome == "sent" else ("warning", f": {why}")
        keys = {"notice": event, "outcome": outcome, "key": notice.keys[0]}
        msg = f"notice of {event} {outcome}{detail}"
        self._log.say(level, msg, rollout=notice.rollout, what="notice", **keys)

    async def beat(self) -> None:
        """Notice when the event loop is late: something in it takes too long."""
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(BEAT_S)
                now = self._loop.time()
                self._late_s = max(0.0, now - self._beat_at - BEAT_S)
                self._beat_at = now

    def held(self, found: LoopHeld) -> None:
        """Something holds the event loop, or did; called from another thread."""
        holder = found.holder or "not known"
        if found.over:
            self.metrics.add("tidegate_loop_held_total", kind_word(found.holder) or "none", holder)
        verb = "held" if found.over else "holds"
        msg = f"{holder} {verb} the event loop: nothing else went on for {found.held_s:.0f} s"
        self._log.say("error", msg, rollout=found.holder, what="held", over=found.over)

    def refused(self, method: str, path: str, status: int, detail: str) -> None:
        """A request to the API was refused."""
        self.metrics.add("tidegate_api_refused_total", method, str(status))
        level = "warning" if status in _LOGIN else "debug"
        msg = f"{method} {path}: {status}: {detail}"
        self._log.say(level, msg, what="refused", status=status)

    def ill(self) -> list[str]:
        """Why the process is better restarted; nothing if it is well."""
        late_s = self._loop.time() - self._beat_at - BEAT_S
        late = f"the event loop is {late_s:.0f} s late"
        return [late] if max(late_s, self._late_s) > BEAT_LATE_S else []

    def missing(self) -> list[str]:
        """What keeps it from doing its work; nothing if it is ready."""
        vitals = self._vitals()
        found = ["stopping"] if self.stopping else []
        if vitals.journal_at is None:
            found.append("the journal was not read yet")
        elif self._loop.time() - vitals.journal_at > JOURNAL_SILENT_S:
            silent_s = self._loop.time() - vitals.journal_at
            found.append(f"the journal has not answered for {silent_s:.0f} s")
        if not vitals.discovered:
            found.append("partitions were not discovered yet")
        return found

    def _round(self, partition: str, done: RoundResult) -> None:
        at_s = self._clock.now() / SECOND
        is_new = done.is_new and done.plan is not None
        self.metrics.round_ended(partition, done.count if is_new else None, done.took_s, at_s)
        if is_new:
            telemetry = self._telemetry(partition)
            telemetry.round_ended(done)
            self._log.later(lambda: telemetry.records(done))

    def _led(self, partition: str, led: Led) -> None:
        about = {"rollout": partition, "what": "leader", "leads": led.leads}
        if led.leader:
            msg = f"{led.leader} leads it; we stand by"
            self._log.say("info", msg, **about, leader=led.leader)
            return
        if not led.leads:
            self.metrics.forget(partition)
            self._telemetry(partition).on_lease_lost(partition)
        msg = "we lead it" if led.leads else "we no longer lead it"
        self._log.say("info", msg, **about)

    def _error(self, partition: str, error: Exception) -> None:
        if partition:
            self._telemetry(partition).failed(partition, error)
        word = next((word for kind, word in _ERRORS if isinstance(error, kind)), "bug")
        self.metrics.add("tidegate_errors_total", kind_word(partition) or "none", word)
        about = {"rollout": partition} if partition else {}
        text = str(error) or _WORDLESS.get(word, type(error).__name__)
        # That another process wrote meanwhile is no failure: the round is run again.
        level = "info" if word == "stale" else "warning"
        self._log.say(level, text, **about, what="error", error=word)

    def _gauges(self) -> Gauges:
        vitals = self._vitals()
        return Gauges(
            led=vitals.led,
            running=vitals.running,
            waiting=vitals.waiting,
            under_way=vitals.under_way,
            behind=vitals.behind,
            loop_lag_s=self._late_s,
            lines_dropped=self._log.dropped,
            notices_waiting=self.notices.waiting if self.notices is not None else 0,
        )
