"""Workers that share partitions in virtual time: they come, go and die, and lead by lease."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from tidegate.engine.leading.leadership import Leadership
from tidegate.journal.lease import KeptLease
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.simulation.virtual_loop import VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore

START = Instant(1_750_000_000 * SECOND)
TERM = Duration(15 * SECOND)
FOLLOW_S = 1.0
# A lease that ends unseen is free at most for a look of a worker, the wait for a share, and the end
# of a wish by a worker that died.
UNHELD_MAX_S = TERM / SECOND + 10
# From the last change until all have as many.
SETTLED_S = 60.0


@dataclass
class Sharer:
    """One worker without rounds: it only leads."""

    name: str
    leadership: Leadership
    partitions: tuple[str, ...]
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    wakes: dict[str, asyncio.Event] = field(default_factory=dict)

    async def start(self) -> None:
        """As a worker does: a look, then a task that keeps each partition in step."""
        await self.leadership.look(self.partitions)
        self.wakes = {each: asyncio.Event() for each in self.partitions}
        woken: set[str] = set(self.partitions)
        news = asyncio.Event()
        news.set()

        def wake(partition: str) -> None:
            woken.add(partition)
            news.set()

        async def lead() -> None:
            # One task for all: 10,000 partitions on 20 workers would be 200,000.
            while True:
                await news.wait()
                news.clear()
                some = sorted(woken)
                woken.clear()
                for each in some:
                    lease = self.leadership.held(each)
                    if lease is not None and self.leadership.gives(each):
                        await self.leadership.release(lease)
                    elif lease is None:
                        await self.leadership.take(each)

        runs = self.leadership.run(lambda: self.partitions, wake, lambda _error: None, FOLLOW_S)
        self.tasks = [asyncio.create_task(lead()), asyncio.create_task(runs)]

    def die(self) -> None:
        """Without a word."""
        for task in self.tasks:
            task.cancel()

    async def stop(self) -> None:
        """Give everything back."""
        self.die()
        for each in self.partitions:
            lease = self.leadership.held(each)
            if lease is not None:
                await self.leadership.release(lease)

    def holds(self, now: Instant) -> list[str]:
        """What it believes to lead."""
        held = self.leadership._held.values()
        return [lease.partition for lease in held if lease.until > now]


@dataclass
class SharingStory:
    """What happened."""

    unheld_max_s: float = 0.0
    moves: int = 0
    # The most and the fewest partitions of a worker, at the end of each quiet time.
    spreads: list[tuple[int, int]] = field(default_factory=list)


def tell_sharing(seed: int, partitions: int, workers: int, changes: int) -> SharingStory:
    """Workers come, stop and die, with quiet in between; AssertionError if two lead one."""
    names = tuple(f"simulated/r{number:05}" for number in range(partitions))
    rng, story, store = random.Random(seed), SharingStory(), MemoryStore()

    async def main(loop: VirtualLoop) -> None:
        living: list[Sharer] = []
        free_since: dict[str, Instant] = {}
        holders: dict[str, str] = {}
        count = 0

        async def begin() -> None:
            nonlocal count
            count += 1
            name = f"host-{count}/1"
            led = Leadership(store, loop, name, TERM, ("*",), Duration(30 * SECOND), True)
            living.append(Sharer(name, led, names))
            await living[-1].start()

        def check() -> None:
            now = loop.now()
            believed = Counter(each for one in living for each in one.holds(now))
            twice = [name for name, by in believed.items() if by > 1]
            assert not twice, f"seed {seed}: {twice[:3]} are led by two"
            _watch(store.leases(), names, now, free_since, holders, story)

        async def quiet(seconds: float) -> None:
            until = loop.time() + seconds
            while loop.time() < until:
                await asyncio.sleep(FOLLOW_S)
                check()

        for _ in range(max(1, workers // 2)):
            await begin()
        await quiet(SETTLED_S)
        for _ in range(changes):
            what = rng.choice(("begin", "begin", "stop", "die", "die"))
            if (what == "begin" and len(living) < workers) or len(living) < 2:
                await begin()
            else:
                gone = living.pop(rng.randrange(len(living)))
                await (gone.stop() if what == "stop" else _died(gone))
            if rng.random() < 0.5:
                await quiet(rng.uniform(0.0, 8.0))
                continue
            await quiet(SETTLED_S)
            loads = [len(one.holds(loop.now())) for one in living]
            story.spreads.append((max(loads), min(loads)))
        for one in living:
            await one.stop()

    run_virtually(main, START)
    return story


async def _died(one: Sharer) -> None:
    one.die()


def _watch(
    leases: dict[str, KeptLease],
    names: tuple[str, ...],
    now: Instant,
    free_since: dict[str, Instant],
    holders: dict[str, str],
    story: SharingStory,
) -> None:
    for name in names:
        record = leases.get(name)
        if record is None or not record.runs(now):
            # A lease that ran out was not kept for a whole term before.
            ended = record.lease.until if record is not None and record.lease.holder else now
            since = free_since.setdefault(name, Instant(min(ended, now)))
            story.unheld_max_s = max(story.unheld_max_s, (now - since) / SECOND)
            continue
        free_since.pop(name, None)
        if holders.get(name) != record.lease.holder:
            story.moves += name in holders
            holders[name] = record.lease.holder
