"""A worker that dies before or after any write to git or the forge only delays its pipeline."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.stage import Crash, Tripwire
from tests.engine.test_pipeline_requests import Scene
from tests.requested import NAMES, PipelineWorker, held_by
from tests.sim import sized
from tidegate.forge.port import RequestState
from tidegate.git.client.repository import open_repository
from tidegate.kinds.promotions.core.requests.data_block import read_block
from tidegate.kinds.promotions.core.requests.model import CloseCause

pytestmark = pytest.mark.usefixtures("no_git_settings")

# Calls that change something outside: between two of them, dying is the same anywhere.
WRITES = frozenset(("commit", "push", "open", "update", "comment", "label", "decline"))
BAD = "dogs"
STEP = sized(13, 11, 1)


class BrittleWrites:
    """A forge or a repository with a point to die at before and after every write."""

    def __init__(self, inner: Any, wire: Tripwire) -> None:
        self._inner, self._wire = inner, wire

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in WRITES:
            return found
        return self._later(found) if inspect.iscoroutinefunction(found) else self._now(found)

    def _now(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wired(*given: Any, **named: Any) -> Any:
            self._wire()
            done = call(*given, **named)
            self._wire()
            return done

        return wired

    def _later(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def wired(*given: Any, **named: Any) -> Any:
            self._wire()
            done = await call(*given, **named)
            self._wire()
            return done

        return wired


class Mortal:
    """A worker that is followed by another when it dies."""

    def __init__(self, scene: Scene, wire: Tripwire, *, forgets: bool) -> None:
        self._scene, self._wire, self._forgets = scene, wire, forgets
        self.worker = self._born(scene.worker)
        self.deaths = 0

    def _born(self, before: PipelineWorker) -> PipelineWorker:
        repository = open_repository(self._scene.folder / "clone")
        born = PipelineWorker(
            BrittleWrites(repository, self._wire), BrittleWrites(self._scene.forge, self._wire),
            self._scene.artifact,
        )  # fmt: skip
        born.versions = before.versions
        if not self._forgets:
            born.known, born.closed = before.known, before.closed
        return born

    async def rounds(self) -> None:
        """Rounds until nothing is left to do; no promotion is ever in two requests."""
        for _ in range(12):
            try:
                plan = await self.worker.round()
            except Crash:
                self.deaths += 1
                self.worker = self._born(self.worker)
                continue
            finally:
                twice = {k: v for k, v in (await held_by(self._scene.forge)).items() if v[1:]}
                assert not twice, twice
            if not plan.due():
                return
        raise AssertionError("the rounds did not settle")


async def halved(scene: Scene, wire: Tripwire, *, forgets: bool) -> Mortal:
    """A batch fails for one promotion, and is halved until it is alone."""
    scene.worker.versions = dict.fromkeys(NAMES[1:], scene.second)
    mortal = Mortal(scene, wire, forgets=forgets)
    for _ in range(6):
        await mortal.rounds()
        await scene.check(bad=(BAD,))
        await scene.merge_good()
    await mortal.rounds()
    return mortal


async def check_end(scene: Scene) -> None:
    """All others are merged, the culprit is alone in one open request, and nothing was lost."""
    for name in NAMES[1:]:
        assert scene.version_of(name) == (scene.first if name == BAD else scene.second), name
    (left,) = await scene.forge.find()
    (one,) = read_block(left.description).holds
    assert one.channels == (f"{BAD}-stage",)
    for each in await scene.forge.find(state=RequestState.CLOSED):
        assert read_block(each.description).closed in (CloseCause.FAILED, CloseCause.OUTDATED)


def test_dying_at_any_write_only_delays(tmp_path: Path) -> None:
    """Half of the deaths leave a worker behind that knows nothing of the one before."""

    async def story(scene: Scene, wire: Tripwire, forgets: bool) -> Mortal:
        mortal = await halved(scene, wire, forgets=forgets)
        await check_end(scene)
        return mortal

    whole = Tripwire()
    asyncio.run(story(scene_in(tmp_path / "whole"), whole, False))
    assert whole.passed > 30
    for number, at in enumerate(range(1, whole.passed + 1, STEP)):
        scene = scene_in(tmp_path / str(at))
        mortal = asyncio.run(story(scene, Tripwire(at), bool(number % 2)))
        assert mortal.deaths == 1, at


def scene_in(folder: Path) -> Scene:
    """A scene in a folder of its own."""
    folder.mkdir()
    return Scene(folder)
