"""What pipelines read outside: the existing state store, commits, and a bundle as a whole."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.git_repos import ADA, BOB, clone, commit, git, remote
from tests.pipeline_stage import DAY, START, Clock
from tests.pipelined import (
    NEW,
    PROD,
    SAAS,
    STAGE,
    STAGE_EU,
    URL,
    bundle_files,
    clone_of,
    heads,
    reading_in,
    saas_text,
)
from tidegate.cli.merge_requests.publisher_shards import PublisherRuns, PublisherShards
from tidegate.git.client.repository import open_repository
from tidegate.kinds.integrations.core.waves.execution import ShardExecution
from tidegate.kinds.promotions.app.pipelines.observation import PipelineSurvey
from tidegate.kinds.promotions.app.pipelines.ports import PipelinePorts
from tidegate.kinds.promotions.app.ports import TrialFiles
from tidegate.kinds.promotions.channel_kind import PipelineKind
from tidegate.kinds.promotions.client.commit_ranges import CommitRanges
from tidegate.kinds.promotions.client.state_folder import StateFolder
from tidegate.kinds.promotions.core.channels.journal.facts import DeploymentsSeen, PipelineRead
from tidegate.kinds.promotions.core.channels.model import ShardRuns
from tidegate.kinds.promotions.core.channels.pipeline import EvidenceRule
from tidegate.kinds.promotions.core.channels.sources import PipelineReading
from tidegate.kinds.promotions.core.verification import EnvironmentRuns
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Instant, parse_instant

CHECK_IN = "2026-11-01 08:00:00.250000+00:00"


@pytest.fixture
def reading(tmp_path: Path) -> PipelineReading:
    """The pipeline of the example bundle."""
    return reading_in(tmp_path, bundle_files())


def keep(root: Path, reading: PipelineReading, name: str, **changed: object) -> Path:
    """An entry of the state store for the version of a publisher."""
    (one,) = (each for each in reading.publishers if each.name == name)
    entry = {
        "success": True,
        "target_config_hash": "abc",
        "saas_file": "saas-payments",
        "check_in": CHECK_IN,
        "has_succeeded_once": True,
        **changed,
    }
    path = root / "promotions_v2" / "payments-stage" / one.place.uid() / (one.version or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entry))
    return path


def read(folder: Path, reading: PipelineReading) -> dict[str, tuple[str, bool, Instant]]:
    """What the store shows of each publisher."""
    found = asyncio.run(StateFolder(folder).read(reading, START))
    return {each.target: (each.version, each.good, each.at) for each in found}


@pytest.mark.parametrize("below", ["", "state/openshift-saas-deploy"])
def test_entries_of_the_existing_deployer_are_deployments(
    tmp_path: Path, reading: PipelineReading, below: str
) -> None:
    """At the root of a copy of the bucket, or where its keys begin; since `check_in`."""
    store = tmp_path / "store"
    keep(store / below, reading, STAGE)
    keep(store / below, reading, STAGE_EU, success=False)
    at = Instant(parse_instant("2026-11-01T08:00:00Z") + SECOND // 4)
    assert read(store, reading) == {STAGE: (NEW, True, at), STAGE_EU: (NEW, False, at)}


def test_an_entry_that_does_not_say_since_when_counts_from_when_it_was_seen(
    tmp_path: Path, reading: PipelineReading
) -> None:
    """There is never more soak than there was."""
    for text in (None, "soon"):
        keep(tmp_path, reading, STAGE, check_in=text)
        assert read(tmp_path, reading) == {STAGE: (NEW, True, START)}
    keep(tmp_path, reading, STAGE, check_in="2999-01-01T00:00:00+00:00")
    assert read(tmp_path, reading) == {STAGE: (NEW, True, START)}


@pytest.mark.parametrize("field", ["saas_file", "target_config_hash"])
def test_an_entry_without_its_file_or_hash_is_missing(
    tmp_path: Path, reading: PipelineReading, field: str
) -> None:
    """As the existing manager takes it."""
    keep(tmp_path, reading, STAGE, **{field: None})
    assert read(tmp_path, reading) == {}


def test_a_store_that_cannot_be_read_is_said_and_is_no_evidence(
    tmp_path: Path, reading: PipelineReading
) -> None:
    """Neither a folder that is not there, nor an entry that is broken."""
    with pytest.raises(OutsideError, match="is no folder"):
        read(tmp_path / "none", reading)
    with pytest.raises(OutsideError, match="has no promotions_v2"):
        read(tmp_path / "clone" / "data", reading)
    keep(tmp_path, reading, STAGE).write_text("{")
    with pytest.raises(OutsideError, match=NEW):
        read(tmp_path, reading)


@pytest.mark.parametrize(
    "seen, good",
    [
        ({"shards": 2}, True),
        ({"shards": 2, "differing": ("a: old",)}, False),
        ({"shards": 2, "unread": ("a: no answer",)}, False),
        ({"shards": 0}, False),
        ({"shards": None}, False),
    ],
)
def test_a_publisher_runs_its_version_where_all_its_shards_do(
    tmp_path: Path, seen: dict[str, Any], good: bool
) -> None:
    """Its shards are those that another ref would move; where none is, nothing is known."""
    reading = reading_in(tmp_path, bundle_files())
    repository = open_repository(tmp_path / "clone")
    reading = replace(reading, base=repository.tip())
    tried: dict[str, Mapping[str, bytes]] = {}
    promises: dict[str, Mapping[str, bytes]] = {}

    async def running(
        commit: str, trials: TrialFiles, promised: TrialFiles | None = None
    ) -> dict[str, EnvironmentRuns]:
        assert commit == reading.base
        tried.update(trials)
        promises.update(promised or {})
        return {name: EnvironmentRuns(environment=name, **seen) for name in trials}

    found = asyncio.run(PublisherShards(repository, running).read(reading, START))
    assert tried.keys() == {STAGE, STAGE_EU}
    changed = tried[STAGE][SAAS].decode()
    assert changed == saas_text().replace("ref: main", f"ref: {'f' * 40}", 1)
    # What counts is the version that was read, wherever the branch is by now.
    version = promises[STAGE][SAAS].decode()
    assert version == saas_text().replace("ref: main", f"ref: {NEW}", 1)
    assert [each.target for each in found] == ([STAGE, STAGE_EU] if good else [])
    assert all(each.version == NEW and each.good for each in found)


@pytest.mark.parametrize(
    "shards, expected",
    [
        ([], {"shards": 0}),
        ([("a", 3, "", ""), ("b", 2, "", "")], {"shards": 2, "clean": 2, "least": "b"}),
        (
            [("a", 3, "", ""), ("b", 0, "it crashes", "")],
            {"shards": 2, "least": "b", "failing": ("b: it crashes",)},
        ),
        (
            [("a", 0, "", "no answer"), ("b", 1, "", "")],
            {"shards": 2, "least": "a", "unread": ("a: no answer",)},
        ),
    ],
)
def test_a_publisher_ran_its_version_as_often_as_the_shard_that_ran_it_least(
    tmp_path: Path, shards: list[tuple[str, int, str, str]], expected: dict[str, Any]
) -> None:
    """Those that fail and those that give no answer are named."""
    runs = EvidenceRule(runs=3)
    reading = reading_in(tmp_path, bundle_files())
    repository = open_repository(tmp_path / "clone")
    pipeline = replace(reading.pipeline, evidence=runs)
    reading = replace(reading, base=repository.tip(), pipeline=pipeline)

    class Shards:
        async def executed(
            self, commit: str, trials: TrialFiles, promised: TrialFiles, needed: int
        ) -> dict[str, list[ShardExecution]]:
            assert (commit, needed) == (reading.base, 3)
            assert trials.keys() == promised.keys() == {STAGE, STAGE_EU}
            some = [
                ShardExecution(shard=name, clean=clean, failing=failing, unread=unread)
                for name, clean, failing, unread in shards
            ]
            return {STAGE: some}

        async def close(self) -> None:
            """Nothing is open."""

    found = asyncio.run(PublisherRuns(repository, Shards()).read(reading))
    assert found == {STAGE: ShardRuns(version=NEW, **expected)}


def test_commits_between_versions_are_counted_and_named(tmp_path: Path) -> None:
    """With their authors; a repository that does not answer says nothing, and is not asked on."""
    bare = remote(tmp_path, {"a": "0"}, at="2026-11-01T00:00:00Z")
    work = clone(bare, tmp_path / "work")
    first = commit(work, {"a": "1"}, "one", ADA, at="2026-11-02T00:00:00Z")
    commit(work, {"a": "2"}, "two", BOB, at="2026-11-03T00:00:00Z")
    last = commit(work, {"a": "3"}, "three", ADA, at="2026-11-04T00:00:00Z")
    git(work, "push", "-q", "origin", "main")
    asked: list[str] = []
    clock = [0.0]

    def opened(url: str):  # type: ignore[no-untyped-def]
        asked.append(url)
        if url != URL:
            raise OutsideError("no answer")
        return open_repository(work)

    ranges = CommitRanges(opened, lambda: clock[0])
    found = ranges.between(URL, first, last)
    assert found is not None
    assert [each.author for each in found.commits] == ["Ada", "Bob"]
    assert (found.number, found.oldest_at) == (2, parse_instant("2026-11-03T00:00:00Z"))
    assert ranges.between(URL, first, last) is found
    assert [ranges.between("x", first, last) for _ in range(3)] == [None] * 3
    clock[0] = 301.0
    ranges.between("x", first, last)
    assert asked == [URL, "x", "x"]


def test_one_reading_of_a_bundle_becomes_facts_once(tmp_path: Path) -> None:
    """A second one that shows the same is no news; a merge of another ref is."""
    work = clone_of(tmp_path, bundle_files())
    store = tmp_path / "store"
    warned: list[str] = []
    ports = PipelinePorts(
        bundle=open_repository(work), read_head=heads(), deployments=(StateFolder(store),)
    )
    clock = Clock()
    kind = PipelineKind(PipelineSurvey(ports, warned.append), None, clock)
    (partition,) = asyncio.run(kind.partitions())
    state = kind.rules.empty()

    def facts() -> list[object]:
        kind.observe_soon(partition)
        seen = asyncio.run(kind.observe(partition))
        assert seen is not None
        found = kind.news(state, seen, clock.now())
        for at, fact in found:
            kind.rules.fold(state, at, fact, "tidegate")
        return [fact for _, fact in found]

    (read_,) = facts()
    assert isinstance(read_, PipelineRead)
    assert warned == [f"{partition}: state store: {store} is no folder"]
    assert facts() == []
    assert state.known.reading is not None
    keep(store, state.known.reading, STAGE)
    (seen,) = facts()
    assert isinstance(seen, DeploymentsSeen)
    assert facts() == []
    clock.at = Instant(clock.at + DAY)
    commit(work, {SAAS: saas_text(ref=NEW)})
    git(work, "push", "-q", "origin", "HEAD:main")
    (moved,) = facts()
    assert isinstance(moved, PipelineRead)
    assert [(each.name, each.ref) for each in moved.subscribers] == [(PROD, NEW)]
