"""Promotions end to end on a real Gitea: batches, halves, people, and waves through Git."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.bundles import MemoryTree, read_uncached
from tests.engine.test_git_waves import FILE, RULES
from tests.engine.test_pipeline_requests import said
from tests.forge.world import JANE
from tests.git_repos import GIT_SETTINGS, clone, git
from tests.real.gitea import GiteaProject
from tests.requested import NAMES, Artifact, PipelineWorker, bundle_files, file_of, held_by
from tests.staged import Declared
from tidegate.forge.port import CheckStatus, MergeRequest, StatusState
from tidegate.git.client.repository import open_repository
from tidegate.git.port import Repository
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.estates import estate_in
from tidegate.kinds.integrations.app.waves.wave_holds import held_back
from tidegate.kinds.integrations.app.waves.wave_requests import ForgeWaveRequests
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Site
from tidegate.kinds.promotions.core.requests.data_block import read_block

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("gitea")]

BAD = "cats"
PlayGitea = Callable[[Callable[[GiteaProject], Awaitable[None]]], None]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the user who runs the tests do not count."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_SETTINGS)


def cloned(project: GiteaProject, folder: Path) -> Path:
    """A clone that pushes over HTTP."""
    made = clone(project.repository, folder)
    git(made, "remote", "set-url", "origin", project.remote)
    return made


async def judged(project: GiteaProject, worker: PipelineWorker, state: StatusState) -> None:
    """The checks of every open request that has the bad one fail; the others say `state`."""
    for request in await project.forge.find():
        held = {each.channels for each in read_block(request.description).holds}
        bad = (f"{BAD}-stage",) in held
        word = StatusState.FAILURE if bad else state
        await worker.forge.status(request.head, CheckStatus(name="ci", state=word, text=""))


async def merged(project: GiteaProject) -> list[MergeRequest]:
    """Jane merges what passed."""
    found = []
    for request in await project.forge.find():
        if await project.forge.checks(request.head) is StatusState.SUCCESS:
            await project.merge(request.number, JANE)
            found.append(request)
    return found


def test_a_batch_is_halved_merged_by_a_person_and_the_culprit_stays(
    play_gitea: PlayGitea, tmp_path: Path
) -> None:
    """One request for five, closed with one comment; Jane merges the good ones, and closes one."""
    (tmp_path / "artifact").mkdir()
    artifact = Artifact(tmp_path / "artifact")
    old, new, newer, *_ = artifact.versions

    async def story(project: GiteaProject) -> None:
        project.invite(JANE)
        project.commit("main", {path: str(text) for path, text in bundle_files(old).items()})
        worker = PipelineWorker(cloned(project, tmp_path / "clone"), project.forge, artifact)
        worker.labels = ("bot/approved",)
        worker.versions = dict.fromkeys(NAMES, new)
        await worker.settle()
        (first,) = await project.forge.find()
        assert set(first.labels) == {"tidegate-promotion", "bot/approved"}
        assert not (await worker.read()).open[0].conflict
        numbers = []
        # More than the four that halving takes: while a real forge looks for conflicts with what
        # was merged, it says that there is one, and a request is made anew.
        for _ in range(12):
            await judged(project, worker, StatusState.SUCCESS)
            numbers += [each.number for each in await merged(project)]
            plan = await worker.settle()
            if said(plan) == {"CulpritFound"}:
                break
        assert said(plan) == {"CulpritFound"}
        (culprit,) = await project.forge.find()
        assert await held_by(project.forge) == {f"{BAD}-stage": [culprit.number]}
        (why,) = await project.comments(first.number)
        assert "offered by halves" in why
        for name in NAMES:
            expected = old if name == BAD else new
            assert expected in git(project.repository, "show", f"main:{file_of(name)}")
        ended = [await project.forge.get(number) for number in numbers]
        assert {each.ended_by for each in ended if each is not None} == {JANE.login}
        # A newer version closes the culprit's, with the reason; Jane closes what is offered then.
        worker.versions = {"ants": newer, BAD: newer}
        await worker.settle()
        (why,) = await project.comments(culprit.number)
        assert "not wanted any more" in why
        (offered,) = await project.forge.find()
        await project.decline(offered.number)
        assert said(await worker.settle()) == {"RequestDeclined"}
        assert await project.forge.find() == ()

    play_gitea(story)


class WaveScene:
    """An integration whose images move through Git, on Gitea."""

    def __init__(self, project: GiteaProject, folder: Path) -> None:
        self.project = project
        self.declared = Declared("ns", rules=RULES)
        project.commit("main", self.declared.files())
        self.repository: Repository = open_repository(cloned(project, folder))
        self.waves = ForgeWaveRequests(
            self.repository, project.forge, self.tree, read_uncached, fresh_s=0.0
        )

    def tree(self, commit: str) -> Tree:
        """The bundle at a commit."""
        files = self.repository.read(commit, list(self.repository.files(commit)))
        return MemoryTree({path: text.decode() for path, text in files})

    def main(self) -> Tree:
        """The bundle as it is."""
        self.repository.fetch()
        return self.tree(self.repository.tip("main"))

    def place(self) -> ManagedPlace:
        """The only place of the integration."""
        found = estate_in(read_uncached(self.main()), Site()).place(self.declared.partition)
        assert found is not None
        return found

    def promote(self, image: str, old: str) -> None:
        """A promotion of the default image, which holds every shard back."""
        tree = self.main()
        text = dict(tree.read([FILE]))[FILE].decode()
        changed = text.replace(f"spec: {{imageRef: {old}", f"spec: {{imageRef: {image}")
        held = held_back(tree, read_uncached, Site(), {FILE: changed.encode()})
        self.project.commit("main", {path: data.decode() for path, data in held.items()})


def test_waves_go_through_merge_requests_of_a_real_forge(
    play_gitea: PlayGitea, tmp_path: Path
) -> None:
    """Shard by shard: one request at a time, refused by a person once, and no override left."""

    async def story(project: GiteaProject) -> None:
        project.invite(JANE)
        scene = WaveScene(project, tmp_path / "clone")
        before = git(project.repository, "show", f"main:{FILE}")
        scene.promote("good-2", "good-1")
        place = scene.place()
        names = [each.name for each in place.units]
        assert {place.wanted(each) for each in place.units} == {"good-1"}
        await scene.waves.offer(place, {names[0]: "good-2"})
        await scene.waves.offer(place, {names[1]: "good-2"})
        (request,) = await project.forge.find()
        assert request.labels == ("tidegate-waves",)
        await project.merge(request.number, JANE)
        place = scene.place()
        moved = {each.name for each in place.units if place.wanted(each) == "good-2"}
        assert moved == set(names[:2])
        rest = dict.fromkeys(names[2:], "good-2")
        await scene.waves.offer(place, rest)
        (request,) = await project.forge.find()
        await project.decline(request.number)
        refused = await scene.waves.newest(place)
        assert refused is not None
        assert (refused.declined, set(refused.units)) == (True, set(rest))
        # A newer default begins anew, from where each shard is.
        scene.promote("good-3", "good-2")
        place = scene.place()
        await scene.waves.offer(place, dict.fromkeys(names, "good-3"))
        (request,) = await project.forge.find()
        await project.merge(request.number, JANE)
        after = git(project.repository, "show", f"main:{FILE}")
        assert after == before.replace("good-1", "good-3")

    play_gitea(story)
