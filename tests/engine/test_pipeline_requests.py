"""Merge requests of a pipeline on real git: batched, halved, closed, left to people, and once."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.forge.bare import commit as commit_behind
from tests.git_repos import BOB, clone, git, push_change, remote
from tests.requested import (
    NAMES,
    SHARED,
    Artifact,
    PipelineWorker,
    bundle_files,
    file_of,
    held_by,
)
from tidegate.forge.client.local import LocalForge
from tidegate.forge.port import CheckStatus, Proposal, RequestState, StatusState
from tidegate.kinds.promotions.core.compat.description import LABEL as EXISTING
from tidegate.kinds.promotions.core.compat.description import render_description
from tidegate.kinds.promotions.core.requests.model import RequestPlan
from tidegate.kinds.promotions.core.requests.reasons import RequestReason

pytestmark = pytest.mark.usefixtures("no_git_settings")


class Scene:
    """A bundle with a local forge, a worker, and people."""

    def __init__(self, folder: Path) -> None:
        (folder / "artifact").mkdir()
        self.folder = folder
        self.artifact = Artifact(folder / "artifact")
        self.first, self.second, self.third, *_ = self.artifact.versions
        self.bare = remote(folder, bundle_files(self.first))
        self.forge = LocalForge(self.bare)
        self.worker = PipelineWorker(clone(self.bare, folder / "clone"), self.forge, self.artifact)
        self.worker.versions = dict.fromkeys(NAMES, self.second)

    async def check(self, bad: tuple[str, ...] = ()) -> None:
        """Every open request is checked; one with a bad subscriber fails."""
        for request in await self.forge.find():
            changed = git(self.bare, "diff", f"main...{request.source}")
            added = [line for line in changed.splitlines() if line.startswith("+")]
            assert added
            held = (await held_by(self.forge)).items()
            fails = any(f"{n}-stage" == c and request.number in o for n in bad for c, o in held)
            state = StatusState.FAILURE if fails else StatusState.SUCCESS
            status = CheckStatus(name="ci", state=state, text="")
            await self.forge.status(request.head, status)

    async def merge_good(self) -> None:
        """A person merges what passed; what conflicts stays."""
        for request in await self.forge.find():
            found = await self.forge.get(request.number)
            passed = await self.forge.checks(request.head) is StatusState.SUCCESS
            if found is not None and passed and not found.conflicts:
                await self.forge.merge(request.number)

    def version_of(self, name: str) -> str:
        """What main has for a subscriber."""
        lines = git(self.bare, "show", f"main:{file_of(name)}").splitlines()
        at = next(i for i, line in enumerate(lines) if f"/ns/{name}.yml" in line)
        return lines[at + 1].split('"')[1]


def play(tmp_path: Path, story: Callable[[Scene], Awaitable[None]]) -> None:
    asyncio.run(_played(Scene(tmp_path), story))


async def _played(scene: Scene, story: Callable[[Scene], Awaitable[None]]) -> None:
    await story(scene)


def said(plan: RequestPlan) -> set[str]:
    return {each.reason.value for each in plan.said.values()}


def test_all_that_is_wanted_is_one_request(tmp_path: Path) -> None:
    """It changes the versions alone, says what goes out, and is merged as it is."""

    async def story(scene: Scene) -> None:
        plan = await scene.worker.settle()
        assert said(plan) == {"RequestUnchecked"}
        (request,) = await scene.forge.find()
        assert "step 0" in request.description
        assert f"compare/{scene.first}...{scene.second}" in request.description
        diff = git(scene.bare, "diff", "-U0", f"main...{request.source}")
        changed = [line[:1] for line in diff.splitlines() if line[:4] in ("+   ", "-   ")]
        assert changed == ["-", "+"] * len(NAMES)
        assert diff.count("# moved by promotions") == 2 * len(NAMES)
        await scene.check()
        await scene.merge_good()
        assert {scene.version_of(name) for name in NAMES} == {scene.second}
        assert (await scene.worker.settle()).acts == ()

    play(tmp_path, story)


def test_a_failed_batch_is_halved_until_its_culprit_is_alone(tmp_path: Path) -> None:
    """Three steps of checks; the others are merged, and the culprit is named and left."""

    async def story(scene: Scene) -> None:
        steps = 0
        for _ in range(10):
            plan = await scene.worker.settle()
            if said(plan) == {"CulpritFound"}:
                break
            await scene.check(bad=("dogs",))
            await scene.merge_good()
            steps += 1
        # What was merged may have made another request conflict: it is made anew, and checked.
        assert steps <= 5
        assert list(plan.said) == [("dogs-stage",)]
        have = {name: scene.version_of(name) for name in NAMES}
        assert have.pop("dogs") == scene.first
        assert set(have.values()) == {scene.second}
        (left,) = await scene.forge.find()
        closed = await scene.forge.find(state=RequestState.CLOSED)
        for each in closed:
            comments = await scene.forge.comments(each.number)
            assert any("offered by halves" in comment for comment in comments)
        scene.worker.versions["dogs"] = scene.third
        await scene.worker.settle()
        (newer,) = await scene.forge.find()
        assert newer.number != left.number
        assert "not wanted any more" in "".join(await scene.forge.comments(left.number))

    play(tmp_path, story)


def test_a_batch_that_grew_is_halved_down_to_what_it_began_with(tmp_path: Path) -> None:
    """The half is what its branch was named by: that a larger batch failed there is no refusal."""

    async def story(scene: Scene) -> None:
        scene.worker.versions = {"ants": scene.second}
        await scene.worker.settle()
        scene.worker.versions = {"ants": scene.second, "bees": scene.second}
        await scene.worker.settle()
        (grown,) = await scene.forge.find()
        await scene.check(bad=("bees",))
        await scene.worker.settle()
        held = await held_by(scene.forge)
        assert set(held) == {"ants-stage", "bees-stage"}
        assert grown.number not in (held["ants-stage"] + held["bees-stage"])
        await scene.check(bad=("bees",))
        await scene.merge_good()
        assert scene.version_of("ants") == scene.second
        assert said(await scene.worker.settle()) == {"CulpritFound"}

    play(tmp_path, story)


def test_work_of_a_person_is_left_and_said(tmp_path: Path) -> None:
    """Even when it is outdated: nothing else is offered for its channels."""

    async def story(scene: Scene) -> None:
        await scene.worker.settle()
        (request,) = await scene.forge.find()
        theirs = push_change(
            scene.bare, tmp_path / "bob", {"fix.yml": "a: 1\n"}, branch=request.source
        )
        scene.worker.versions = dict.fromkeys(NAMES, scene.third)
        plan = await scene.worker.settle()
        assert said(plan) == {"RequestHandEdited"}
        assert all(BOB[0] in str(each.facts) for each in plan.said.values())
        assert git(scene.bare, "rev-parse", request.source) == theirs
        assert [each.number for each in await scene.forge.find(state=None)] == [request.number]

    play(tmp_path, story)


def test_what_a_person_pushed_while_it_was_planned_is_not_closed(tmp_path: Path) -> None:
    """The act looks again right before it closes."""

    async def story(scene: Scene) -> None:
        await scene.worker.settle()
        (request,) = await scene.forge.find()
        scene.worker.versions = dict.fromkeys(NAMES, scene.third)
        plan, offers = await scene.worker.plan()
        (act,) = plan.due()
        assert act.verdict.reason is RequestReason.RequestOutdated
        push_change(scene.bare, tmp_path / "bob", {"fix.yml": "a: 1\n"}, branch=request.source)
        await scene.worker._act(offers, act)
        assert "work of others" in scene.worker.refused[0]
        assert [each.number for each in await scene.forge.find()] == [request.number]

    play(tmp_path, story)


def test_what_a_person_closed_is_not_offered_again(tmp_path: Path) -> None:
    """Not by a worker that remembers nothing, either; a newer version is."""

    async def story(scene: Scene) -> None:
        await scene.worker.settle()
        (request,) = await scene.forge.find()
        await scene.forge.decline(request.number)
        for forgetful in (False, True):
            if forgetful:
                scene.worker.known, scene.worker.closed = set(), {}
            plan = await scene.worker.settle()
            assert said(plan) == {"RequestDeclined"}
            assert await scene.forge.find() == ()
        scene.worker.versions = dict.fromkeys(NAMES, scene.third)
        assert said(await scene.worker.settle()) == {"RequestUnchecked"}

    play(tmp_path, story)


def test_what_conflicts_is_made_anew_on_its_target(tmp_path: Path) -> None:
    """A person changed a line beside; the request has it, and keeps its number."""

    async def story(scene: Scene) -> None:
        await scene.worker.settle()
        (request,) = await scene.forge.find()
        text = git(scene.bare, "show", f"main:{SHARED}") + "\n"
        theirs = text.replace("# moved by promotions", "# moved by Tidegate")
        push_change(scene.bare, tmp_path / "bob", {SHARED: theirs})
        found = await scene.forge.get(request.number)
        assert found is not None
        assert found.conflicts
        await scene.worker.settle()
        (again,) = await scene.forge.find()
        assert (again.number, again.description) == (request.number, request.description)
        await scene.check()
        await scene.merge_good()
        assert {scene.version_of(name) for name in NAMES} == {scene.second}
        assert "# moved by Tidegate" in git(scene.bare, "show", f"main:{SHARED}")

    play(tmp_path, story)


def test_a_version_that_a_person_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """The file is not what was meant: the act is refused, and nothing is pushed."""

    async def story(scene: Scene) -> None:
        plan, offers = await scene.worker.plan()
        text = git(scene.bare, "show", f"main:{SHARED}") + "\n"
        push_change(scene.bare, tmp_path / "bob", {SHARED: text.replace(scene.first, scene.third)})
        await scene.worker._act(offers, plan.due()[0])
        assert "was seen with" in scene.worker.refused[0]
        assert await scene.forge.find(state=None) == ()

    play(tmp_path, story)


def test_declared_labels_are_kept_on_every_request(tmp_path: Path) -> None:
    """One that was opened before they were declared gets them; those of people stay."""

    async def story(scene: Scene) -> None:
        await scene.worker.settle()
        (request,) = await scene.forge.find()
        await scene.forge.label(request.number, add=("theirs",))
        scene.worker.labels = ("bot/approved: high",)
        await scene.worker.settle()
        (again,) = await scene.forge.find()
        assert again.number == request.number
        assert set(again.labels) == {"tidegate-promotion", "theirs", "bot/approved: high"}

    play(tmp_path, story)


@pytest.mark.parametrize("adopt", [False, True])
def test_requests_of_the_existing_manager_are_left_or_taken_over(
    adopt: bool, tmp_path: Path
) -> None:
    """Left, its channels wait and the others go on; taken over, all of them are ours."""

    async def story(scene: Scene) -> None:
        branch = "sapm-123456"
        commit_behind(scene.bare, branch, {"x.yml": "a: 1\n"}, onto="main")
        channels = ("ants-stage", "bees-stage")
        theirs = await scene.forge.open(
            Proposal(
                title="[SAPM] auto-promotion ID 1 - batch size: 2",
                description=render_description("m", channels, ("h1", "h2"), batchable=True),
                source=branch,
                target="main",
                labels=(EXISTING,),
            )
        )
        scene.worker.adopt = adopt
        plan = await scene.worker.settle()
        held = await held_by(scene.forge)
        found = await scene.forge.get(theirs.number)
        assert found is not None
        if adopt:
            assert set(held) == {f"{name}-stage" for name in NAMES}
            assert found.state is RequestState.CLOSED
            assert "taken over" in "".join(await scene.forge.comments(theirs.number))
        else:
            assert set(held) == {f"{name}-stage" for name in NAMES[2:]}
            assert found.state is RequestState.OPEN
            assert said(plan) == {"RequestLeftToManager", "RequestUnchecked"}

    play(tmp_path, story)
