"""The story of a seed, lived through: first trouble, then quiet in which everything arrives."""

import asyncio
from collections import Counter
from collections.abc import Callable

import msgspec

from tests.sim.story.life import hush
from tests.sim.story.scene import Scene
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.virtual_loop import VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Store

LINES_SHOWN = 60
# Claims are looked at this often at least.
CHECK_S = 86_400.0
# What is left of a failed story ends within so long, before its loop does.
END_S = 86_400.0

StoreMaker = Callable[[], Store]


class Told(msgspec.Struct, frozen=True):
    """What a story led to."""

    seed: int
    # What happened and how often: steps, rounds, deaths, `fault: NAME`, and the kind's own.
    seen: Counter[str]
    # The ends of all chains: two tellings of one seed are the same story if these are.
    ends: str
    virtual_s: float


def live_through(
    make: Callable[[VirtualLoop, Store], Scene],
    start: Instant,
    again: str,
    make_store: StoreMaker = MemoryStore,
) -> Told:
    """The whole story of a seed; a failure has the command that repeats it, and the last lines."""
    store = make_store()
    scenes: list[Scene] = []

    async def main(loop: VirtualLoop) -> Told:
        loop.set_exception_handler(hush)
        scene = make(loop, store)
        scenes.append(scene)
        try:
            return await _tell(scene)
        finally:
            for life in scene.living():
                life.die()
            await asyncio.sleep(END_S)

    try:
        return run_virtually(main, start)
    except AssertionError as error:
        lines = "\n".join(scenes[0].log[-LINES_SHOWN:]) if scenes else ""
        raise AssertionError(f"{error}\n\nseed: {again}\n{lines}") from error
    finally:
        store.close()


async def _tell(scene: Scene) -> Told:
    scene.restart()
    for moment, what in scene.happenings():
        await _until(scene, moment)
        what()
    await _until(scene, scene.trouble_s)
    scene.tell("all is well from now on")
    scene.calm_down()
    await _rest(scene)
    for life in scene.living():
        life.worker.stop()
    await asyncio.wait([life.task for life in scene.lives])
    _check(scene)
    scene.check_end()
    return _told(scene)


async def _until(scene: Scene, moment: float) -> None:
    while (left := moment - scene.loop.time()) > 0:
        await asyncio.sleep(min(left, CHECK_S))
        _check(scene)


def _check(scene: Scene) -> None:
    """Every claim was true so far, and no worker ended of something unforeseen."""
    for life in scene.lives:
        if (error := life.broken()) is not None:
            raise AssertionError(f"{life.name} broke: {error!r}") from error
    assert not scene.witness.broken, "\n".join(scene.witness.broken[:5])


async def _rest(scene: Scene) -> None:
    """Until nothing is left to happen."""
    for _ in range(scene.polls_max):
        await _until(scene, scene.loop.time() + scene.poll_s)
        if scene.is_at_rest():
            return
    raise AssertionError("it does not come to rest")


def _told(scene: Scene) -> Told:
    virtual_s = (scene.now() - scene.start) / SECOND
    seen = scene.witness.counted()
    seen.update({f"fault: {name}": count for name, count in scene.troubles().items()})
    seen.update({"lives": len(scene.lives), "seconds": round(virtual_s)})
    ends = (scene.store.head(name).hash.hex() for name in scene.partitions)
    return Told(scene.seed, seen, " ".join(ends), virtual_s)
