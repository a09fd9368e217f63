"""One reading of a pipeline: the bundle, branches, what was deployed and executed, requests.

A source that does not answer leaves what is known as it is, and is reported; SLOs without an answer
are unknown. The files of one commit are read once for all pipelines.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import msgspec
from msgspec.structs import replace

from tidegate.kinds.promotions.app.pipelines.ports import PipelinePorts
from tidegate.kinds.promotions.core.channels.explain.suspects import good_before
from tidegate.kinds.promotions.core.channels.history import DeploymentSeen
from tidegate.kinds.promotions.core.channels.journal.facts import RequestsSeen
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown
from tidegate.kinds.promotions.core.channels.model import ShardRuns, SloState
from tidegate.kinds.promotions.core.channels.pipeline import KIND, Pipeline
from tidegate.kinds.promotions.core.channels.sources import (
    CommitRange,
    PipelineReading,
    range_key,
)
from tidegate.kinds.promotions.files.channels import read_channels
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.kinds.promotions.files.pipelines import pipelines
from tidegate.kinds.promotions.files.promoted_targets import PromotedTargets
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant

# Where a source that does not answer is reported.
Warn = Callable[[str], None]


class PipelineQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of a pipeline beside its bundle, because of what is known."""

    # Versions whose commits are wanted, beside those of subscribers: the old one and the new one.
    pairs: tuple[tuple[str, str], ...] = ()
    # Merge requests that were open when last seen.
    requests: tuple[int, ...] = ()


class PipelineObservation(msgspec.Struct, frozen=True, kw_only=True):
    """What one reading found."""

    at: Instant
    reading: PipelineReading
    # By source.
    deployments: Mapping[str, tuple[DeploymentSeen, ...]] = {}
    # None: not read.
    runs: Mapping[str, ShardRuns] | None = None
    slos: Mapping[str, SloState] | None = None
    requests: RequestsSeen | None = None


class _Bundle(msgspec.Struct, frozen=True):
    """The pipelines of one commit, and the targets that they may move."""

    commit: str
    files: Files
    pipelines: tuple[Pipeline, ...]
    # None: no pipeline is declared, and so no saas file is read.
    targets: PromotedTargets | None


class PipelineReader(Protocol):
    """Reads pipelines."""

    async def partitions(self) -> list[str]:
        """One for each pipeline."""
        ...

    async def observe(
        self, partition: str, asked: PipelineQuestions, now: Instant
    ) -> PipelineObservation | None:
        """One reading; None: there is no such pipeline."""
        ...


class PipelineSurvey(PipelineReader):
    """Reads pipelines of a bundle as it is now."""

    def __init__(self, ports: PipelinePorts, warn: Warn) -> None:
        self._ports, self._warn = ports, warn
        self._bundle: _Bundle | None = None

    async def partitions(self) -> list[str]:
        """One for each pipeline that the bundle declares."""
        found = await asyncio.to_thread(self._read_bundle)
        return [each.partition for each in found.pipelines]

    async def observe(
        self, partition: str, asked: PipelineQuestions, now: Instant
    ) -> PipelineObservation | None:
        """One reading; None: the bundle does not declare the pipeline any more."""
        name = partition.removeprefix(f"{KIND}/")
        reading = await asyncio.to_thread(self._read, name, asked.pairs)
        if reading is None:
            return None
        return PipelineObservation(
            at=now,
            reading=reading,
            deployments=await self._deployments(reading, now),
            runs=await self._runs(reading),
            slos=await self._slos(reading),
            requests=await self._requests(reading, asked.requests),
        )

    def _read_bundle(self) -> _Bundle:
        repository = self._ports.bundle
        repository.fetch()
        commit = repository.tip()
        if self._bundle is None or self._bundle.commit != commit:
            files = Files(repository, commit, root_in(repository.prefix))
            declared = pipelines(files)
            targets = PromotedTargets(files) if declared else None
            self._bundle = _Bundle(commit, files, declared, targets)
        return self._bundle

    def _read(self, name: str, pairs: Iterable[tuple[str, str]]) -> PipelineReading | None:
        found = self._read_bundle()
        pipeline = next((each for each in found.pipelines if each.name == name), None)
        if pipeline is None or found.targets is None:
            return None
        reading = read_channels(found.files, pipeline, found.targets, self._ports.read_head)
        commits = dict(self._commits(reading, pairs))
        return replace(reading, base=found.commit, commits=commits)

    def _commits(
        self, reading: PipelineReading, pairs: Iterable[tuple[str, str]]
    ) -> Iterator[tuple[str, CommitRange]]:
        """The commits between what subscribers have and what their publishers are to have."""
        if self._ports.commits is None:
            return
        for url, old, new in dict.fromkeys(_ranges(reading, pairs)):
            found = self._ports.commits.between(url, old, new)
            if found is not None:
                yield range_key(old, new), found

    async def _deployments(
        self, reading: PipelineReading, now: Instant
    ) -> dict[str, tuple[DeploymentSeen, ...]]:
        found: dict[str, tuple[DeploymentSeen, ...]] = {}
        for source in self._ports.deployments:
            try:
                found[source.name] = await source.read(reading, now)
            except OutsideError as error:
                self._warn(f"{reading.pipeline.partition}: {source.name}: {error}")
        return found

    async def _runs(self, reading: PipelineReading) -> Mapping[str, ShardRuns] | None:
        if self._ports.runs is None or not reading.pipeline.evidence.runs:
            return None
        try:
            return await self._ports.runs.read(reading)
        except OutsideError as error:
            # Old runs are no evidence for what runs now.
            return {
                each.name: ShardRuns(version=each.version or "", shards=1, unread=(str(error),))
                for each in reading.publishers
            }

    async def _slos(self, reading: PipelineReading) -> Mapping[str, SloState] | None:
        if self._ports.slos is None or not reading.slos:
            return None
        return await self._ports.slos.read(reading.slos)

    async def _requests(
        self, reading: PipelineReading, known: tuple[int, ...]
    ) -> RequestsSeen | None:
        if self._ports.requests is None:
            return None
        try:
            return await self._ports.requests.read(reading, known)
        except OutsideError as error:
            self._warn(f"{reading.pipeline.partition}: {error}")
            return None


def _ranges(
    reading: PipelineReading, pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    urls = {each.place.url for each in reading.subscribers}
    versions = {
        name: each.version
        for each in reading.publishers
        for name in each.channels
        if each.version is not None
    }
    for one in reading.subscribers:
        for new in {versions[name] for name in one.channels if name in versions}:
            if new != one.ref:
                yield one.place.url, one.ref, new
    if len(urls) == 1:
        (url,) = urls
        yield from ((url, old, new) for old, new in pairs)


def questions_of(known: PipelineKnown) -> PipelineQuestions:
    """What is to be read next: suspects since the last good version, and open requests."""
    pairs = ((good_before(known, each), each.version) for each in known.quarantined.values())
    return PipelineQuestions(
        pairs=tuple(sorted((good, bad) for good, bad in pairs if good)),
        requests=tuple(each.number for each in known.requests.requests),
    )
