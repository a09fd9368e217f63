"""What the shards of a pipeline's publishers run, and how well: ports of pipelines.

Which shards depend on a publisher is found by a trial, as for environments: its `ref` becomes
another one, nothing of which is written, and the shards that would get another image are its own.
Where none does, clusters say nothing of the publisher.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tidegate.edit.edit import edit
from tidegate.edit.edits import Replace
from tidegate.edit.place import YamlPlace
from tidegate.git.port import Repository
from tidegate.kinds.integrations.core.waves.execution import ShardExecution
from tidegate.kinds.promotions.app.ports import RunningShards, TrialFiles
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.model import ShardRuns
from tidegate.kinds.promotions.core.channels.sources import PipelineReading, TargetPlace
from tidegate.kinds.promotions.core.verification import DIFFERING_MAX
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.model.errors import UserError
from tidegate.model.time import Instant

# A version for the trial: no commit is called so, and YAML reads it as text.
_TRIAL = "f" * 40


class PublisherShards:
    """Compares what a version promises to the shards of publishers with what clusters run."""

    name = "inventory"

    def __init__(self, repository: Repository, running: RunningShards) -> None:
        self._repository, self._running = repository, running

    async def read(self, reading: PipelineReading, now: Instant) -> tuple[DeploymentSeen, ...]:
        """Publishers all of whose shards run the version that they are to have.

        A shard that runs something else is on its way, or held: that is no failure.
        """
        trials, promised = await asyncio.to_thread(publisher_files, self._repository, reading)
        found = await self._running(reading.base, trials, promised)
        versions = {each.name: each.version for each in reading.publishers}
        return tuple(
            DeploymentSeen(target=name, version=version, at=now, good=True)
            for name, each in found.items()
            if each.shards and not each.differing and not each.unread
            if (version := versions[name]) is not None
        )


class ExecutedShards(Protocol):
    """How shards ran what they are promised; the kind that deploys them knows."""

    async def executed(
        self, commit: str, trials: TrialFiles, promised: TrialFiles, needed: int
    ) -> Mapping[str, Sequence[ShardExecution]]:
        """Of the shards that each trial would move, as the promised files have them."""
        ...

    async def close(self) -> None:
        """Close what runs are read from."""
        ...


class PublisherRuns:
    """Counts the clean runs of the shards that depend on publishers, of the version of each."""

    def __init__(self, repository: Repository, shards: ExecutedShards) -> None:
        self._repository, self._shards = repository, shards

    async def read(self, reading: PipelineReading) -> Mapping[str, ShardRuns]:
        """By publisher; one whose version is not known, or cannot be tried, is left out."""
        trials, promised = await asyncio.to_thread(publisher_files, self._repository, reading)
        needed = reading.pipeline.evidence.runs
        found = await self._shards.executed(reading.base, trials, promised, needed)
        versions = {each.name: each.version or "" for each in reading.publishers}
        return {name: _shard_runs(versions[name], some) for name, some in found.items()}

    async def close(self) -> None:
        """Close what runs are read from."""
        await self._shards.close()


def _shard_runs(version: str, shards: Sequence[ShardExecution]) -> ShardRuns:
    least = min(shards, key=lambda each: each.clean, default=None)
    return ShardRuns(
        version=version,
        shards=len(shards),
        clean=0 if least is None else least.clean,
        least="" if least is None else least.shard,
        failing=_some(f"{each.shard}: {each.failing}" for each in shards if each.failing),
        unread=_some(f"{each.shard}: {each.unread}" for each in shards if each.unread),
    )


def _some(texts: Iterable[str]) -> tuple[str, ...]:
    """The first of some; a broken cluster has hundreds."""
    found = tuple(texts)
    more = len(found) - DIFFERING_MAX
    return (*found[:DIFFERING_MAX], f"{more} more") if more > 0 else found


def publisher_files(
    repository: Repository, reading: PipelineReading
) -> tuple[dict[str, Mapping[str, bytes]], dict[str, Mapping[str, bytes]]]:
    """The files of the trial of each publisher, and those that promise its version.

    A publisher that follows a branch promises what the branch was at when it was read: the branch
    may have moved since, and then its shards are to run another version than the one in question.
    """
    root = root_in(repository.prefix)
    files = Files(repository, reading.base, root)
    trials: dict[str, Mapping[str, bytes]] = {}
    promised: dict[str, Mapping[str, bytes]] = {}
    for each in reading.publishers:
        if each.version is None:
            continue
        path = f"{root}{each.place.file}"
        other, own = (_rewritten(files, each.place, ref) for ref in (_TRIAL, each.version))
        if other is not None and own is not None:
            trials[each.name], promised[each.name] = {path: other}, {path: own}
    return trials, promised


def _rewritten(files: Files, place: TargetPlace, ref: str) -> bytes | None:
    """The file of a target with another version in it; None: it cannot be written."""
    original = files.read(place.file)
    if original is None:
        return None
    path = f"{place.path}.ref" if place.path else "ref"
    try:
        return edit(original, [Replace(YamlPlace(path, document=place.document), ref)]).data
    except UserError:
        return None
