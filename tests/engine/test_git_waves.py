"""Images that move through Git: overrides in merge requests, wave by wave, and none at the end."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.bundles import MemoryTree, read_uncached
from tests.git_repos import clone, commit, git, push_change, remote, tip
from tests.kept import START, Kept
from tests.picture_key import LINKS, PUBLIC
from tests.staged import INTEGRATION, TIERS, Declared, rules
from tidegate.forge.client.local import LocalForge
from tidegate.forge.port import RequestState
from tidegate.git.client.repository import open_repository
from tidegate.git.tree_port import Tree
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.integrations.app.estates import BundleEstates
from tidegate.kinds.integrations.app.waves.wave_holds import held_back
from tidegate.kinds.integrations.app.waves.wave_requests import ForgeWaveRequests
from tidegate.kinds.integrations.core.workloads.estate import Site
from tidegate.kinds.integrations.fleet.fleet import IntegrationsFleet
from tidegate.kinds.integrations.fleet.git_waves import GitWaves
from tidegate.kinds.integrations.fleet.runs import PodRuns
from tidegate.kinds.integrations.fleet.snapshot import Find
from tidegate.machine.clock import Clock
from tidegate.simulation.virtual_loop import VirtualLoop, run_virtually

pytestmark = pytest.mark.usefixtures("no_git_settings")

RULES = rules(soak="2m", deadline="2h") + "  via: git\n"
FILE = f"integrations/{INTEGRATION}.yml"
# Time alone changes something when a soak of two minutes ends, and at each look.
QUIET_MINUTES = 5
SETTLED_MINUTES_MAX = 60


class GitDeclared(Declared):
    """The same bundle in a repository with a forge: a person and the rollout both change it."""

    def __init__(self, folder: Path) -> None:
        super().__init__("ns", rules=RULES)
        self._folder, self._clones = folder, 0
        self.bare = remote(folder, dict(self.files()))
        self.forge = LocalForge(self.bare)
        self.repository = open_repository(clone(self.bare, folder / "clone"))
        self._trees: dict[str, Tree] = {}
        self.estates = BundleEstates(self._newest, read_uncached, fresh_s=0)

    def _newest(self) -> Tree:
        """The bundle as main has it."""
        return self.tree(tip(self.bare, "main"))

    def tree(self, commit: str) -> Tree:
        """The bundle at a commit."""
        if commit not in self._trees:
            paths = git(self.bare, "ls-tree", "-r", "--name-only", commit).splitlines()
            self.repository.fetch()
            files = self.repository.read(commit, paths)
            self._trees[commit] = MemoryTree({path: text.decode() for path, text in files})
        return self._trees[commit]

    def main(self) -> str:
        """The file of the integration as it is."""
        return git(self.bare, "show", f"main:{FILE}") + "\n"

    def merged(self, files: dict[str, str]) -> None:
        """A person's change of the bundle."""
        self._clones += 1
        given: dict[str, str | bytes] = dict(files)
        push_change(self.bare, self._folder / f"person-{self._clones}", given)

    def promote(self, image: str, old: str) -> None:
        """A promotion of the default image, which holds every shard back."""
        tree = self._newest()
        text = self.main().replace(f"spec: {{imageRef: {old}", f"spec: {{imageRef: {image}")
        assert text != self.main()
        held = held_back(tree, read_uncached, Site(), {FILE: text.encode()})
        self.merged({path: content.decode() for path, content in held.items()})

    def fleet(self, find: Find, clock: Clock, *, port: int, look_s: float) -> IntegrationsFleet:
        """The estate as a fleet whose images move through Git."""
        requests = ForgeWaveRequests(self.repository, self.forge, self.tree, read_uncached)
        return IntegrationsFleet(
            self.estates,
            find,
            PodRuns(port),
            clock,
            fresh_s=0.05,
            look_s=look_s,
            waves=GitWaves(requests, LINKS),
        )


class GitKept(Kept):
    """A worker over a bundle in Git, and a person who merges what it offers."""

    git: GitDeclared

    def __init__(self, loop: VirtualLoop, folder: Path) -> None:
        super().__init__(loop, RULES)
        self.git = GitDeclared(folder)
        # What each merge request changed when it was merged: shards that lost or got an override.
        self.waves: list[set[str]] = []

    def tags(self) -> dict[str, str]:
        """What every shard is to run."""
        return {name: self.tag(f"terraform-resources-{name}") for name in TIERS}

    def moved(self, image: str) -> set[str]:
        """The shards that have an image."""
        return {name for name, tag in self.tags().items() if tag == image}

    async def merge(self) -> bool:
        """A person merges what is open; False: nothing is."""
        found = await self.git.forge.find()
        for each in found:
            before = set(_held(self.git.main()))
            await self.git.forge.merge(each.number)
            self.waves.append(before ^ set(_held(self.git.main())))
        return bool(found)

    async def live(self, seconds: float, merges: bool = True) -> None:
        """Time passes, and a person merges now and then."""
        for _ in range(int(seconds // 60)):
            await self.wait(60)
            if merges:
                await self.merge()

    async def settle(self, again: Callable[[], Awaitable[None]] | None = None) -> None:
        """The same until nothing has been recorded for a while; `again` after each minute."""
        quiet = 0
        for _ in range(SETTLED_MINUTES_MAX):
            before = self.store.heads()
            await self.live(60)
            if again is not None:
                await again()
            quiet = quiet + 1 if self.store.heads() == before else 0
            if quiet == QUIET_MINUTES:
                return
        raise AssertionError(f"{SETTLED_MINUTES_MAX} minutes, and there is still something new")


def _held(text: str) -> list[str]:
    """The shards with an override."""
    lines = text.splitlines()
    return [name for name in TIERS if any(f"/aws/{name}.yml" in line for line in lines)]


def play(tmp_path: Path, story: Callable[[GitKept], Awaitable[None]]) -> None:
    async def main(loop: VirtualLoop) -> None:
        kept = GitKept(loop, tmp_path)
        try:
            kept.begin()
            await kept.wait(120)
            assert set(kept.tags().values()) == {"good-1"}
            await story(kept)
        finally:
            await kept.end()

    run_virtually(main, START)


def test_waves_go_through_merge_requests_and_leave_no_override(tmp_path: Path) -> None:
    """Canary, then stage, then the rest two by two; each merge request is one wave."""

    async def story(kept: GitKept) -> None:
        first = kept.git.main()
        await asyncio.to_thread(kept.git.promote, "good-2", "good-1")
        await kept.live(300, merges=False)
        # It was promoted, and no shard moved: one merge request waits for a person.
        assert kept.moved("good-2") == set()
        (request,) = await kept.git.forge.find()
        assert request.labels == ("tidegate-waves",)
        assert "ter-int-dev" in request.description
        assert f"]({PUBLIC}/picture/" in request.description
        await kept.merge()
        await kept.live(60, merges=False)
        assert kept.moved("good-2") == {"ter-int-dev"}
        await kept.settle()
        assert kept.moved("good-2") == set(TIERS)
        assert kept.waves[:2] == [{"ter-int-dev"}, {"stage-1", "stage-2"}]
        assert set().union(*kept.waves[2:]) == {"prod-1", "prod-2", "prod-3"}
        assert all(len(wave) <= 2 for wave in kept.waves)
        # Nothing is left of it but the new default.
        assert kept.git.main() == first.replace("good-1", "good-2")
        assert not await kept.git.forge.find()
        assert kept.decided(kept.git.partition).view.summary == "Succeeded"

    play(tmp_path, story)


def test_an_image_that_fails_is_taken_back_through_git(tmp_path: Path) -> None:
    """The canary gets its override again; no other shard ever had the image."""

    async def story(kept: GitKept) -> None:
        await asyncio.to_thread(kept.git.promote, "stuck-2", "good-1")
        seen: set[str] = set()
        for _ in range(240):
            await kept.live(60)
            seen |= kept.moved("stuck-2")
            if len(kept.waves) == 2 and kept.moved("good-1") == set(TIERS):
                break
        assert seen == {"ter-int-dev"}
        assert kept.waves == [{"ter-int-dev"}, {"ter-int-dev"}]
        assert _held(kept.git.main()) == list(TIERS)
        assert "spec: {imageRef: stuck-2" in kept.git.main()
        # A fix goes the whole way from there.
        await asyncio.to_thread(kept.git.promote, "good-3", "stuck-2")
        await kept.settle()
        assert kept.moved("good-3") == set(TIERS)
        assert _held(kept.git.main()) == []

    play(tmp_path, story)


def test_an_override_of_a_person_stays_and_a_dead_worker_delays(tmp_path: Path) -> None:
    """The pinned shard keeps its image; the next worker finds what is open and goes on."""

    async def story(kept: GitKept) -> None:
        pin = "    shardSpecOverrides:\n    - {shard: {$ref: /aws/stage-1.yml}, imageRef: good-1}\n"
        await asyncio.to_thread(kept.git.merged, {FILE: kept.git.main() + pin})
        await kept.wait(60)
        await asyncio.to_thread(kept.git.promote, "good-2", "good-1")
        for _ in range(6):
            await kept.live(300, merges=False)
            await kept.kill()
            kept.begin()
            await kept.wait(120)
            assert len(await kept.git.forge.find()) <= 1
            await kept.merge()
        await kept.settle()
        assert kept.moved("good-2") == set(TIERS) - {"stage-1"}
        assert _held(kept.git.main()) == ["stage-1"]
        assert "imageRef: good-1}" in kept.git.main()
        ended = await kept.git.forge.find(state=None)
        assert {each.state for each in ended} == {RequestState.MERGED}

    play(tmp_path, story)


def test_what_a_person_closed_is_not_offered_again(tmp_path: Path) -> None:
    """It counts as a failure, so that the rollout ends; a newer image begins anew."""

    async def story(kept: GitKept) -> None:
        await asyncio.to_thread(kept.git.promote, "good-2", "good-1")
        await kept.live(120, merges=False)
        (request,) = await kept.git.forge.find()
        await kept.git.forge.decline(request.number)
        await kept.settle()
        assert [each.number for each in await kept.git.forge.find(state=None)] == [request.number]
        assert kept.moved("good-1") == set(TIERS)
        assert kept.decided(kept.git.partition).view.summary == "Aborted"
        await asyncio.to_thread(kept.git.promote, "good-3", "good-2")
        await kept.settle()
        assert kept.moved("good-3") == set(TIERS)
        assert _held(kept.git.main()) == []

    play(tmp_path, story)


def test_what_is_open_for_an_earlier_default_is_closed_with_the_reason(tmp_path: Path) -> None:
    """Even while the rollout is paused: merged by a queue, it would move shards out of turn."""

    async def story(kept: GitKept) -> None:
        await asyncio.to_thread(kept.git.promote, "good-2", "good-1")
        await kept.live(120, merges=False)
        (first,) = await kept.git.forge.find()
        pause = JournalNote(kept.clock.now(), "user:ada", Asked(verb=Verb.PAUSE))
        kept.store.append(kept.git.partition, [pause])
        await asyncio.to_thread(kept.git.promote, "good-3", "good-2")
        await kept.live(240, merges=False)
        assert await kept.git.forge.find() == ()
        (why,) = await kept.git.forge.comments(first.number)
        assert "it is for `good-2`, and the default image is `good-3` now" in why
        assert kept.moved("good-1") == set(TIERS)
        resume = JournalNote(kept.clock.now(), "user:ada", Asked(verb=Verb.RESUME))
        kept.store.append(kept.git.partition, [resume])
        await kept.settle()
        assert kept.moved("good-3") == set(TIERS)
        assert kept.waves[0] == {"ter-int-dev"}

    play(tmp_path, story)


def test_work_of_a_person_on_an_earlier_default_is_left(tmp_path: Path) -> None:
    """It is told, and neither closed nor overwritten."""

    async def story(kept: GitKept) -> None:
        await asyncio.to_thread(kept.git.promote, "good-2", "good-1")
        await kept.live(120, merges=False)
        (first,) = await kept.git.forge.find()
        person = clone(kept.git.bare, tmp_path / "theirs")
        git(person, "checkout", "-q", first.source)
        commit(person, {"note.txt": "mine"}, "wait for me")
        git(person, "push", "-q", "origin", first.source)
        pause = JournalNote(kept.clock.now(), "user:ada", Asked(verb=Verb.PAUSE))
        kept.store.append(kept.git.partition, [pause])
        await asyncio.to_thread(kept.git.promote, "good-3", "good-2")
        await kept.live(240, merges=False)
        assert [each.number for each in await kept.git.forge.find()] == [first.number]
        assert await kept.git.forge.comments(first.number) == ()

    play(tmp_path, story)


def test_waves_move_what_another_manager_applies(tmp_path: Path) -> None:
    """Tidegate writes to Git alone; the workloads are another manager's from first to last."""

    async def main(loop: VirtualLoop) -> None:
        kept = GitKept(loop, tmp_path)
        try:
            await kept.run_by("another")
            kept.begin(act=(kept.git.partition,))
            await kept.wait(180)
            await asyncio.to_thread(kept.git.promote, "good-2", "good-1")
            await kept.settle(lambda: kept.run_by("another"))
            assert kept.moved("good-2") == set(TIERS)
            assert kept.waves[0] == {"ter-int-dev"}
            assert _held(kept.git.main()) == []
            assert kept.ours() == set()
        finally:
            await kept.end()

    run_virtually(main, START)
