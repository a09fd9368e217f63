"""How shards ran their image, read from pods: in memory, over HTTP, and of a real control plane."""

import asyncio

import pytest

from tests.contract.clusters import EVERY, Stage, running_stage_of, until
from tests.estates import estate, integration, managed, namespace
from tests.real.kubelet import METRICS_PORT
from tidegate.kinds.integrations.app.execution import ShardExecutions
from tidegate.kinds.integrations.app.executor import ObjectExecutor, apply
from tidegate.kinds.integrations.app.shards import Units
from tidegate.kinds.integrations.app.survey import read_clusters
from tidegate.kinds.integrations.core.objects.changes import changes_of
from tidegate.kinds.integrations.core.sharding.model import Override
from tidegate.kinds.integrations.core.waves.execution import ShardExecution
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.kinds.integrations.core.workloads.workloads import PORT
from tidegate.kinds.integrations.fleet.runs import PodRuns
from tidegate.kubernetes.port import Cluster
from tidegate.model.errors import OutsideError

NEEDED = 3


@pytest.fixture(params=EVERY)
def stage(request: pytest.FixtureRequest) -> Stage:
    """Clusters in which pods run."""
    return running_stage_of(request.param, request)


@pytest.fixture
def port(request: pytest.FixtureRequest, stage: Stage) -> int:
    """Where pods answer; those of the real control plane are processes of ours."""
    return METRICS_PORT if "real" in request.node.name else PORT


def declared(where: str, image: str) -> Estate:
    """An integration in two shards."""
    return estate(integration("dns", managed(image, namespace("c1", where), shards=2)))


def units_of(some: Estate) -> Units:
    """All its units."""
    return [(place, unit) for place in some.every_place for unit in place.units]


async def deploy(us: Cluster, wanted: Estate, where: str) -> None:
    """Apply an estate."""
    clusters = {"c1": us}
    found = await read_clusters(clusters, {"c1": {where}})
    changes = changes_of(wanted, {n: each.seen for n, each in found.items()}, ChangeRequest())
    objects = {key: each for one in found.values() for key, each in one.objects.items()}
    await apply(changes, ObjectExecutor(clusters=clusters, objects=objects, consent=False))


def test_a_version_is_executed_once_all_shards_ran_it_cleanly(stage: Stage, port: int) -> None:
    """Nothing counts of the image before; a failing run is named, and takes away what counted."""

    async def story(us: Cluster, _: Cluster, where: str) -> None:
        executions = ShardExecutions(PodRuns(port))

        async def look(some: Estate) -> list[ShardExecution]:
            found = await executions.read(units_of(some), lambda _: us, NEEDED)
            return [each for each in found if each is not None]

        async def clean(some: Estate) -> bool:
            return [each.clean for each in await look(some)] == [NEEDED, NEEDED]

        good, bad = declared(where, "good"), declared(where, "failing")
        assert [(e.shard, e.clean) for e in await look(good)] == [("dns/0", 0), ("dns/1", 0)]
        await deploy(us, good, where)
        await until(lambda: clean(good))
        # The version that comes next has run nowhere, however well the one before it runs.
        assert all(each.clean == 0 for each in await look(bad))
        await deploy(us, bad, where)

        async def failing() -> bool:
            return all(each.failing for each in await look(bad))

        await until(failing)
        # Back again: what it showed before the change does not count.
        assert all(each.clean == 0 for each in await look(good))

    stage.play(story, runs=True)


def test_a_shard_that_gives_no_answer_is_not_known(stage: Stage, port: int) -> None:
    """Neither clean nor failing: its pods do not answer, or its cluster does not."""

    async def story(us: Cluster, _: Cluster, where: str) -> None:
        wanted = declared(where, "good")
        await deploy(us, wanted, where)
        silent = ShardExecutions(PodRuns(port + 1))

        async def mute() -> bool:
            found = await silent.read(units_of(wanted), lambda _: us, NEEDED)
            assert all(each is not None and each.clean == 0 for each in found)
            return all(each is not None and "say nothing" in each.unread for each in found)

        await until(mute)

        def closed(_: str) -> Cluster:
            raise OutsideError("no way there")

        found = await silent.read(units_of(wanted), closed, NEEDED)
        assert all(each is not None and each.unread for each in found)

    stage.play(story, runs=True)


def test_a_shard_that_is_to_run_nothing_shows_nothing() -> None:
    """It neither keeps a version back nor speaks for it."""
    off = Override(shard="one", disabled=True)
    wanted = estate(integration("tf", managed(accounts=True, overrides=[off])), accounts=("one",))

    def never(_: str) -> Cluster:
        raise OutsideError("not asked")

    found = asyncio.run(ShardExecutions(PodRuns()).read(units_of(wanted), never, NEEDED))
    assert found == [None]
