"""The life of a simulated pod: when it starts, is ready, crashes, runs and ends, by the time alone.

Nothing is counted on the way. What a pod is at a moment follows from when it was made and how its
container behaves, so that it is the same in virtual time, sped up, and however often it is asked.

Worked: made at 10:00:00, ready after 20 s, runs of 40 s every 5 m. It runs from 10:00:10, is ready
at 10:00:20; run 1 ends at 10:01:00, run 2 begins at 10:06:00. A crash loop starts at 10:00:10, ends
at 10:00:20, waits 10 s, then 20, 40, 80, 160 and 300.
"""

from enum import Enum
from typing import Any

import msgspec

from tidegate.kubernetes.simulated.api import Key
from tidegate.kubernetes.simulated.behaviour_doc import ContainerBehaviour, ContainerStart
from tidegate.model.time import SECOND, Duration, Instant

# As a real node waits between two starts of a container that keeps ending.
_BACKOFF, _BACKOFF_MAX = 10 * SECOND, 300 * SECOND
# So often the wait is doubled until it is as long as it gets.
_DOUBLED = 5
# Where nothing says how long a loop sleeps.
SLEEP_DEFAULT = Duration(600 * SECOND)
GRACE_DEFAULT_S = 30


class PodPhase(Enum):
    """Where in its life a pod is."""

    CREATING = "creating"
    NO_IMAGE = "no image"
    STARTED = "started"
    READY = "ready"
    BACKING_OFF = "backing off"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class PodRun(msgspec.Struct, frozen=True):
    """One run of what a pod is for; the first is number 1."""

    number: int
    begins_at: Instant
    ends_at: Instant
    exit_code: int


class Moment(msgspec.Struct, frozen=True):
    """What a pod is, and until when."""

    phase: PodPhase
    # None: until something changes it.
    until: Instant | None = None
    # When its container was last started; None: it never was.
    started_at: Instant | None = None
    restarts: int = 0
    # When and how it ended last; None: it has not.
    ended_at: Instant | None = None
    exit_code: int = 0


class Life(msgspec.Struct, frozen=True):
    """One pod; what is scaled to the speed of the simulation already is."""

    key: Key
    uid: str
    # Its owner; None: it was applied by itself.
    owner: Key | None
    # Which template it is made of.
    revision: str
    born_at: Instant
    manner: ContainerBehaviour
    # Between two runs.
    sleep: Duration
    grace: Duration
    # How much faster than real time everything goes.
    speed: int
    # Its run is its end; and the number it begins with.
    once: bool = False
    first_run: int = 1
    # When it is gone; None: it is not stopping.
    gone_at: Instant | None = None

    def at(self, now: Instant) -> Moment:
        """What it is at a moment."""
        start, starts_at = self.manner.start, self._starts_at
        if now < starts_at:
            return Moment(PodPhase.CREATING, starts_at)
        if start is ContainerStart.NO_IMAGE:
            return Moment(PodPhase.NO_IMAGE)
        if self.once:
            return self._once(now)
        if start is ContainerStart.CRASH_LOOP:
            return self._crashing(now)
        if start is ContainerStart.NEVER_READY:
            return Moment(PodPhase.STARTED, started_at=starts_at)
        if now < self.ready_at:
            return Moment(PodPhase.STARTED, self.ready_at, starts_at)
        return Moment(PodPhase.READY, started_at=starts_at)

    def is_ready(self, now: Instant) -> bool:
        """Whether it counts."""
        return self.gone_at is None and self.at(now).phase is PodPhase.READY

    @property
    def ready_at(self) -> Instant:
        """When it is ready, if it ever is; its first run begins then."""
        return Instant(self.born_at + self.manner.ready_after // self.speed)

    @property
    def runs(self) -> bool:
        """Whether it ever does what it is for."""
        if self.once:
            return self.manner.start is not ContainerStart.NO_IMAGE
        return self.manner.start is ContainerStart.READY

    def run(self, index: int) -> PodRun:
        """Its run number `first_run + index`."""
        number, takes = self.first_run + index, self.manner.takes // self.speed
        begins = self._starts_at if self.once else self.ready_at
        begins = Instant(begins + index * (takes + self.sleep))
        fails = self.manner.fails(number) or self.manner.start is ContainerStart.CRASH_LOOP
        code = self.manner.exit_code if fails else 0
        return PodRun(number, begins, Instant(begins + takes), code)

    def begun(self, now: Instant) -> int:
        """How many runs have begun."""
        first = self.run(0).begins_at
        if not self.runs or now < first:
            return 0
        if self.once:
            return 1
        # A loop that neither works nor sleeps would have run without end.
        period = max(1, self.run(1).begins_at - first)
        return int((now - first) // period) + 1

    def ended(self, now: Instant) -> int:
        """How many runs have ended."""
        count = self.begun(now)
        return count - (count > 0 and self.run(count - 1).ends_at > now)

    def crash(self, index: int) -> PodRun:
        """One of the starts of a crash loop, from the start to the crash."""
        lasts = max(1, self.ready_at - self._starts_at)
        begins = Instant(self._starts_at + index * lasts + self._backoffs(index))
        return PodRun(index + 1, begins, Instant(begins + lasts), self.manner.exit_code)

    def crashes_begun(self, now: Instant) -> int:
        """How often a crash loop was started."""
        if self.manner.start is not ContainerStart.CRASH_LOOP or now < self._starts_at:
            return 0
        for index in range(_DOUBLED + 1):
            if now < self.crash(index + 1).begins_at:
                return index + 1
        base, after = self.crash(_DOUBLED + 1), self.crash(_DOUBLED + 2)
        return _DOUBLED + 2 + int((now - base.begins_at) // (after.begins_at - base.begins_at))

    @property
    def _starts_at(self) -> Instant:
        return Instant(self.born_at + self.manner.ready_after // self.speed // 2)

    def _backoffs(self, count: int) -> int:
        """How long so many waits are together."""
        doubled = _BACKOFF * ((1 << min(count, _DOUBLED)) - 1)
        return (doubled + _BACKOFF_MAX * max(0, count - _DOUBLED)) // self.speed

    def _crashing(self, now: Instant) -> Moment:
        count = self.crashes_begun(now)
        crash = self.crash(count - 1)
        if now < crash.ends_at:
            before = self.crash(count - 2).ends_at if count > 1 else None
            return Moment(
                PodPhase.STARTED, crash.ends_at, crash.begins_at, count - 1, before, crash.exit_code
            )
        again = self.crash(count).begins_at
        return Moment(
            PodPhase.BACKING_OFF, again, crash.begins_at, count - 1, crash.ends_at, crash.exit_code
        )

    def _once(self, now: Instant) -> Moment:
        run = self.run(0)
        if now < run.ends_at:
            return Moment(PodPhase.STARTED, run.ends_at, run.begins_at)
        phase = PodPhase.FAILED if run.exit_code else PodPhase.SUCCEEDED
        return Moment(phase, None, run.begins_at, 0, run.ends_at, run.exit_code)


def grace_of(spec: dict[str, Any], manner: ContainerBehaviour, speed: int) -> Duration:
    """How long a pod takes to stop: as it likes, and no longer than it may."""
    seconds = spec.get("terminationGracePeriodSeconds")
    most = (GRACE_DEFAULT_S if seconds is None else int(seconds)) * SECOND
    return Duration(min(most, manner.stops_after) // speed)
