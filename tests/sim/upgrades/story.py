"""A story simulated from its seed: weeks of trouble, then quiet in which every target arrives."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from tests.sim.loop.lives import DeadError
from tests.sim.upgrades.ending import check_end, is_at_rest
from tests.sim.upgrades.fleets import START
from tests.sim.upgrades.scene import LEASE_TERM, QUIET_EVERY_S, Scene
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.virtual_loop import VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Store

# Long enough for the slowest chain of sectors with a day a week to start on.
QUIET_MAX_DAYS = 150
LINES_SHOWN = 60

StoreMaker = Callable[[], Store]


class Told(msgspec.Struct, frozen=True):
    """What a story resulted in."""

    seed: int
    days: float
    seen: Counter[str]
    # The ends of all chains: two tellings of one seed are the same story if these are.
    ends: str


def live_through(
    seed: int, days: float = 21, make_store: StoreMaker = MemoryStore, *, calm: bool = False
) -> Told:
    """The whole story of a seed; whatever is broken is reported with its seed."""
    store = make_store()
    scenes: list[Scene] = []

    async def main(loop: VirtualLoop) -> Told:
        loop.set_exception_handler(_quiet)
        scene = Scene(seed, loop, store, days, calm)
        scenes.append(scene)
        try:
            return await _tell(scene)
        finally:  # what is left over after a failure ends before the loop does
            for life in scene.living():
                life.die()
            await asyncio.sleep(86400)

    try:
        return run_virtually(main, START)
    except AssertionError as error:
        lines = "\n".join(scenes[0].log[-LINES_SHOWN:]) if scenes else ""
        again = f"python -m tests.sim --upgrades 1 --seed {seed} --days {days:g}"
        raise AssertionError(f"{error}\n\nseed {seed}: {again}\n{lines}") from error
    finally:
        store.close()


def _quiet(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A dead worker reports nothing; anything else is a bug."""
    if not isinstance(context.get("exception"), DeadError):
        loop.default_exception_handler(context)


async def _tell(scene: Scene) -> Told:
    scene.restart()
    for moment, what in scene.happenings():
        await _until(scene, moment)
        what()
    await _until(scene, scene.trouble_s)
    await _calm_down(scene)
    await _rest(scene)
    for life in scene.living():
        life.worker.stop()
    await asyncio.wait([life.task for life in scene.lives])
    _check(scene)
    check_end(scene)
    return _told(scene)


async def _until(scene: Scene, moment: float) -> None:
    while (left := moment - scene.loop.time()) > 0:
        await asyncio.sleep(min(left, 86400))
        _check(scene)


def _check(scene: Scene) -> None:
    """Nothing was broken so far, and no worker ended by an unforeseen error."""
    for life in scene.lives:
        if (error := life.broken()) is not None:
            raise AssertionError(f"{life.name} broke: {error!r}") from error
    assert not scene.witness.broken, "\n".join(scene.witness.broken[:5])


async def _calm_down(scene: Scene) -> None:
    """The faults are over, and people lift and delete what is in the way."""
    scene.tell("all is well from now on")
    for weather in scene.weather.values():
        weather.clear()
    scene.people.settle()
    scene.settled_at = scene.now()
    for life in scene.living():
        if not scene.calm:
            life.die()
    if not scene.calm:
        scene.start_worker(mortal=False, every_s=QUIET_EVERY_S)
        # A dead worker leads until its lease is over.
        scene.watched_from = Instant(scene.now() + 2 * LEASE_TERM)


async def _rest(scene: Scene) -> None:
    """Until nothing is left to happen."""
    for _ in range(2 * QUIET_MAX_DAYS):
        await _until(scene, scene.loop.time() + 13 * 3600)
        scene.people.tidy()
        if is_at_rest(scene):
            return
    raise AssertionError("it does not come to rest")


def _told(scene: Scene) -> Told:
    witness = scene.witness
    seen = Counter(witness.seen)
    seen |= {"steps": witness.steps, "rounds": witness.rounds, "deaths": witness.deaths}
    seen |= {"errors": witness.errors, "lives": len(scene.lives), "calm": int(scene.calm)}
    for weather in scene.weather.values():
        seen.update({f"fault: {name}": count for name, count in weather.met.items()})
    seen.update({f"fault: {one.value}": count for one, count in scene.faults.met.items()})
    ends = [scene.store.head(name).hash.hex() for name in sorted(witness.partitions)]
    return Told(scene.seed, (scene.now() - START) / SECOND / 86400, seen, " ".join(ends))
