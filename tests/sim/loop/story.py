"""A story simulated from its seed: first trouble, then quiet in which everything arrives."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from tests.sim.loop.ending import check_partition
from tests.sim.loop.lives import DeadError
from tests.sim.loop.scene import START, Scene
from tidegate.journal.facts import Verb
from tidegate.model.time import SECOND
from tidegate.simulation.virtual_loop import VirtualLoop, run_virtually
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Store

# The longest pauses there are: a task is tried again after 5 minutes, a broken partition after 2.
QUIET_MAX_S = 7200
POLL_S = 10.0
LINES_SHOWN = 60

StoreMaker = Callable[[], Store]


class Told(msgspec.Struct, frozen=True):
    """What a story resulted in."""

    seed: int
    steps: int
    rounds: int
    deaths: int
    errors: int
    carried: int
    faults: dict[str, int]
    # The ends of all chains: two tellings of one seed are the same story if these are.
    ends: str
    virtual_s: float


def live_through(seed: int, make_store: StoreMaker = MemoryStore) -> Told:
    """The whole story of a seed; whatever is broken is reported with its seed."""
    store = make_store()
    scenes: list[Scene] = []

    async def main(loop: VirtualLoop) -> Told:
        loop.set_exception_handler(_quiet)
        scene = Scene(seed, loop, store)
        scenes.append(scene)
        try:
            return await _tell(scene)
        finally:  # what is left over after a failure ends before the loop does
            for life in scene.living():
                life.die()
            await asyncio.sleep(QUIET_MAX_S)

    try:
        return run_virtually(main, START)
    except AssertionError as error:
        lines = "\n".join(scenes[0].log[-LINES_SHOWN:]) if scenes else ""
        again = f"python -m tests.sim --loops 1 --seed {seed}"
        raise AssertionError(f"{error}\n\nseed {seed}: {again}\n{lines}") from error
    finally:
        store.close()


def counted(told: Told) -> Counter[str]:
    """What a story adds to a run of many."""
    return Counter(
        {
            "steps": told.steps,
            "rounds": told.rounds,
            "faults": sum(told.faults.values()),
            "crashes": told.deaths,
            "carried out": told.carried,
            "seconds": round(told.virtual_s),
            **{f"fault: {name}": count for name, count in told.faults.items()},
        }
    )


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
    for partition in scene.groups:
        check_partition(scene, partition)
    return _told(scene)


async def _until(scene: Scene, moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - scene.loop.time()))
    _check(scene)


def _check(scene: Scene) -> None:
    """Nothing was broken so far, and no worker ended by an unforeseen error."""
    for life in scene.lives:
        if (error := life.broken()) is not None:
            raise AssertionError(f"{life.name} broke: {error!r}") from error
    assert not scene.witness.broken, "\n".join(scene.witness.broken[:5])


async def _calm_down(scene: Scene) -> None:
    """The faults are over: the clocks are set right, and people say what is missing."""
    for life in scene.living():
        life.die()
    scene.workers = 1
    scene.start_worker(holder="", mortal=False)
    scene.lift("all")
    for partition, groups in scene.groups.items():
        scene.witness.partitions[partition].last_round = None  # of those who are no more
        names = tuple(name or "ungrouped" for name in groups)
        scene.ask(partition, Verb.RESUME)
        scene.ask(partition, Verb.APPROVE, groups=names)


async def _rest(scene: Scene) -> None:
    """Until nothing is left to happen, and the journal stands still."""
    before: dict[str, int] = {}
    while scene.loop.time() < scene.trouble_s + QUIET_MAX_S:
        await asyncio.sleep(POLL_S)
        _check(scene)
        heads = scene.store.heads()
        if heads == before and all(map(_rests, [scene] * len(scene.groups), scene.groups)):
            return
        before = heads
    waiting = [name for name in scene.groups if not _rests(scene, name)]
    raise AssertionError(f"{waiting or 'the journal'} does not come to rest")


def _rests(scene: Scene, partition: str) -> bool:
    here = scene.witness.partitions[partition]
    scene.witness.catch_up(partition)
    ends = scene.fleet.fleets[partition].next_end()
    idle = here.last_round is not None and here.last_round.recheck_at is None
    return idle and ends is None and not here.state.pending


def _told(scene: Scene) -> Told:
    witness = scene.witness
    ends = [scene.store.head(name).hash.hex() for name in scene.groups]
    met = Counter({fault.value: count for fault, count in scene.faults.met.items()})
    return Told(
        scene.seed,
        witness.steps,
        witness.rounds,
        witness.deaths,
        witness.errors,
        len(witness.carried),
        dict(met),
        " ".join(ends),
        (scene.loop.now() - START) / SECOND,
    )
