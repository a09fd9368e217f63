"""A pipeline's merge requests over HTTP, on forges of every kind, with a forge that fails."""

import asyncio
from pathlib import Path

import pytest

from tests.engine.test_pipeline_requests import said
from tests.engine.test_proposing_over_http import cloned
from tests.forge.faults import Fault
from tests.forge.hosted import RemotelyHosted, remotely_hosted
from tests.forge.world import JANE
from tests.git_repos import git
from tests.requested import NAMES, Artifact, PipelineWorker, bundle_files, file_of, held_by
from tests.sim import sized
from tidegate.forge.port import CheckStatus, StatusState
from tidegate.kinds.promotions.core.requests.data_block import read_block
from tidegate.model.errors import OutsideError

pytestmark = pytest.mark.usefixtures("no_git_settings")

BAD = "cats"
KINDS = ("gitlab", "github", "gitea")


@pytest.fixture
def artifact(tmp_path: Path) -> Artifact:
    """What is promoted."""
    (tmp_path / "artifact").mkdir()
    return Artifact(tmp_path / "artifact")


async def worker_on(project: RemotelyHosted, artifact: Artifact, folder: Path) -> PipelineWorker:
    """A worker with a clone of a bundle on a forge, over HTTP."""
    old, new, *_ = artifact.versions
    project.commit("main", {path: str(text) for path, text in bundle_files(old).items()})
    worker = PipelineWorker(await cloned(project, folder), project.forge, artifact)
    worker.versions = dict.fromkeys(NAMES, new)
    return worker


async def check_and_merge(project: RemotelyHosted) -> None:
    """Checks run; a person merges what passed."""
    for request in await project.forge.find():
        holds = read_block(request.description).holds
        bad = any(each.channels == (f"{BAD}-stage",) for each in holds)
        state = StatusState.FAILURE if bad else StatusState.SUCCESS
        await project.forge.status(request.head, CheckStatus(name="ci", state=state, text=""))
        found = await project.forge.get(request.number)
        if found is not None and not bad and not found.conflicts:
            await project.merge(request.number)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_halved_on_every_forge(kind: str, artifact: Artifact, tmp_path: Path) -> None:
    """The culprit is left alone and named; all others reach main; what is closed says why."""

    async def story() -> None:
        async with remotely_hosted(kind, tmp_path / "forge") as project:
            worker = await worker_on(project, artifact, tmp_path / "clone")
            for _ in range(5):
                plan = await worker.settle()
                await check_and_merge(project)
            assert said(plan) == {"CulpritFound"}
            assert await held_by(project.forge) == {f"{BAD}-stage": [max(worker.known)]}
            for name in NAMES:
                version = artifact.versions[0 if name == BAD else 1]
                assert version in git(project.repository, "show", f"main:{file_of(name)}")
            requests = project.server.project.requests.values()
            closed = [each for each in requests if each.state == "closed"]
            assert closed
            for each in closed:
                assert any("offered by halves" in one.body for one in each.comments)

    asyncio.run(story())


@pytest.mark.parametrize("kind", KINDS[: sized(1, 3, 3)])
def test_a_forge_that_fails_only_delays(kind: str, artifact: Artifact, tmp_path: Path) -> None:
    """Answers are lost and refused at every kind of write; each promotion is offered once."""

    async def story() -> None:
        async with remotely_hosted(kind, tmp_path / "forge") as project:
            worker = await worker_on(project, artifact, tmp_path / "clone")
            for what in ("cut", "500", "403"):
                for method in ("POST", "PUT", "PATCH"):
                    project.server.faults.append(Fault(what, method=method, times=3))
                for turn in range(12):
                    try:
                        await worker.settle()
                    except OutsideError:
                        assert turn < 11
                        continue
                    break
                project.server.faults.clear()
                assert all(len(each) == 1 for each in (await held_by(project.forge)).values())
                # Another version each time: the request before is closed, with faults on the way.
                wanted = worker.versions["ants"]
                versions = artifact.versions
                newer = versions[(versions.index(wanted) + 1) % len(versions)]
                worker.versions = dict.fromkeys(NAMES, newer)
            requests = project.server.project.requests.values()
            assert [each.state for each in requests].count("open") == 1
            assert {each.author.login for each in requests} == {"tide-bot"}
            assert JANE.login not in {each.ended_by.login for each in requests if each.ended_by}

    asyncio.run(story())
