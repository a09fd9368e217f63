"""What the shards of a pipeline's publishers run: a port of pipelines, on integrations.

Which shards depend on a publisher is found by a trial, as for environments: its `ref` becomes
another one, nothing of which is written, and the shards that would get another image are its own.
Where none does, clusters say nothing of the publisher.
"""

import asyncio
from collections.abc import Iterator, Mapping

from tidegate.edit.edit import edit
from tidegate.edit.edits import Replace
from tidegate.edit.place import YamlPlace
from tidegate.git.port import Repository
from tidegate.kinds.promotions.app.ports import RunningShards
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.sources import PipelineReading, TargetPlace
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.model.errors import UserError
from tidegate.model.time import Instant

# A version for the trial: no commit is called so, and YAML reads it as text.
_TRIAL = "f" * 40


class PublisherShards:
    """Compares what the bundle promises to the shards of publishers with what clusters run."""

    name = "inventory"

    def __init__(self, repository: Repository, running: RunningShards) -> None:
        self._repository, self._running = repository, running

    async def read(self, reading: PipelineReading, now: Instant) -> tuple[DeploymentSeen, ...]:
        """Publishers all of whose shards run the version that they are to have.

        A shard that runs something else is on its way, or held: that is no failure.
        """
        trials = await asyncio.to_thread(lambda: dict(self._trials(reading)))
        found = await self._running(reading.base, trials)
        versions = {each.name: each.version for each in reading.publishers}
        return tuple(
            DeploymentSeen(target=name, version=version, at=now, good=True)
            for name, each in found.items()
            if each.shards and not each.differing and not each.unread
            if (version := versions[name]) is not None
        )

    def _trials(self, reading: PipelineReading) -> Iterator[tuple[str, Mapping[str, bytes]]]:
        root = root_in(self._repository.prefix)
        files = Files(self._repository, reading.base, root)
        for each in reading.publishers:
            made = None if each.version is None else _rewritten(files, each.place)
            if made is not None:
                yield each.name, {f"{root}{each.place.file}": made}


def _rewritten(files: Files, place: TargetPlace) -> bytes | None:
    """The file of a target with another version in it; None: it cannot be written."""
    original = files.read(place.file)
    if original is None:
        return None
    path = f"{place.path}.ref" if place.path else "ref"
    try:
        return edit(original, [Replace(YamlPlace(path, document=place.document), _TRIAL)]).data
    except UserError:
        return None
