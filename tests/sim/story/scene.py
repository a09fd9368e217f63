"""A scene is one story made from a seed: its workers, what goes wrong, and what happens when.

A kind's scene draws its world and its people in `__init__`, and says what they do.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from tests.sim.story.life import CURRENT, Life, MortalStore
from tests.sim.story.witness import Witness
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits
from tidegate.engine.kind import Kind
from tidegate.engine.worker import Worker
from tidegate.engine.worker_settings import WorkerSettings
from tidegate.model.time import SECOND, Duration, Instant, format_instant
from tidegate.simulation.faults import Faults, FaultyStore
from tidegate.simulation.virtual_loop import VirtualLoop
from tidegate.store.port import Store

# What happens at how many seconds into the story.
Happening = tuple[float, Callable[[], None]]


class Scene(ABC):
    """Everything of one story, and what may happen in it."""

    # When stories begin.
    start: ClassVar[Instant]
    # For how long a worker is not scheduled, if it freezes.
    freezes_s: ClassVar[Sequence[float]]
    # A worker that dies does so within so many calls.
    calls_max: ClassVar[int]
    # How often a worker comes back under the name of a dead one.
    same_name: ClassVar[float] = 0.0
    # When all is quiet: how often it is looked whether all is at rest, and how often at most.
    poll_s: ClassVar[float]
    polls_max: ClassVar[int]

    # Set by the kind, all drawn from the seed.
    witness: Witness
    faults: Faults
    # The partitions of the story.
    partitions: Sequence[str]
    # For how long there is trouble.
    trouble_s: float
    # How many workers there are.
    workers: int
    # How far the clocks of workers are off at most.
    off_max: int
    # Whether nothing goes wrong at all.
    calm: bool = False

    def __init__(self, seed: int, loop: VirtualLoop, store: Store, rng: random.Random) -> None:
        self.seed, self.loop, self.store, self.rng = seed, loop, store, rng
        self.lives: list[Life] = []
        self.log: list[str] = []
        loop.pace = self.pace

    # What a kind brings

    @abstractmethod
    def kind(self, life: Life) -> Kind[Any, Any, Any, Any]:
        """The kind, as one life of a worker sees the outside."""

    @abstractmethod
    def settings(self, holder: str) -> WorkerSettings:
        """Of a worker."""

    @abstractmethod
    def happenings(self) -> Iterable[Happening]:
        """What happens when, in order."""

    @abstractmethod
    def calm_down(self) -> None:
        """The trouble is over: faults end, and people lift what is in the way."""

    @abstractmethod
    def is_at_rest(self) -> bool:
        """Whether nothing is left to happen."""

    @abstractmethod
    def check_end(self) -> None:
        """Everything that must be true when nothing more happens."""

    def limits(self, mortal: bool) -> Limits:
        """How much a worker does at once."""
        return Limits()

    def troubles(self) -> dict[str, int]:
        """The faults that were met, by name."""
        return {fault.value: count for fault, count in self.faults.met.items()}

    def pace(self) -> float:
        """How much later a call to a thread is made: a frozen life's, when it thaws."""
        life = CURRENT.get()
        return life.frozen_s() if life is not None else 0.0

    # What every story has

    def now(self) -> Instant:
        """What a correct clock shows."""
        return self.loop.now()

    def tell(self, what: str) -> None:
        """A line of the story."""
        self.log.append(f"{format_instant(self.now())}  {what}")

    def start_worker(self, *, holder: str = "", mortal: bool = True) -> Life:
        """Start a worker; a mortal one may die at some call."""
        rng, mortal = self.rng, mortal and not self.calm
        name = holder or f"w{len(self.lives)}"
        off = Duration(rng.randint(-self.off_max, self.off_max)) if mortal else Duration(0)
        dies_after = rng.randrange(1, self.calls_max) if mortal and rng.random() < 0.5 else None

        def make(life: Life) -> Worker:
            return Worker(
                MortalStore(life, FaultyStore(self.store, self.faults, self.loop.block)),
                (self.kind(life),),
                life.clock,
                Executor(self.limits(mortal), Breaker()),
                self.settings(life.name),
                self.witness.reported,
            )

        life = Life(self.loop, self.witness, name, make, off=off, dies_after=dies_after)
        self.tell(f"{name} starts, {off / SECOND:+.1f}s off, dies after {dies_after}")
        self.lives.append(life)
        return life

    def living(self) -> list[Life]:
        """Workers that still work."""
        return [life for life in self.lives if not life.is_over]

    def restart(self) -> None:
        """Missing workers are started, now and then under the name of a dead one."""
        for _ in range(self.workers - len(self.living())):
            taken = {life.name for life in self.living()}
            old = [life.name for life in self.lives if life.dead and life.name not in taken]
            again = self.same_name and old and self.rng.random() < self.same_name
            self.start_worker(holder=old[-1] if again else "")

    def kill(self) -> None:
        """A worker dies at once, between two calls."""
        if living := self.living():
            life = self.rng.choice(living)
            self.tell(f"{life.name} is killed")
            life.die()

    def stop(self) -> None:
        """A worker is asked to stop."""
        if living := self.living():
            life = self.rng.choice(living)
            self.tell(f"{life.name} is stopped")
            life.worker.stop()

    def freeze(self) -> None:
        """A worker is not scheduled for a while, and does not notice."""
        if living := self.living():
            life, seconds = self.rng.choice(living), self.rng.choice(self.freezes_s)
            self.tell(f"{life.name} freezes for {seconds:g}s")
            life.freeze(seconds)

    def jump(self) -> None:
        """The clock of a worker jumps, within what clocks are off."""
        if self.off_max and (living := self.living()):
            life = self.rng.choice(living)
            off = self.rng.randint(-self.off_max, self.off_max)
            self.tell(f"{life.name}: clock jumps by {(off - life.clock.off) / SECOND:+.1f}s")
            life.clock.jump(Duration(off - life.clock.off))

    def accidents(self) -> list[Callable[[], None]]:
        """What may happen to workers; what is listed twice happens more often."""
        return [self.kill, self.kill, self.stop, self.freeze, self.freeze, self.jump]


def in_order(found: Iterable[Happening]) -> list[Happening]:
    """Happenings by their time; those of one moment as they are listed."""
    return sorted(found, key=lambda each: each[0])
