"""Every forge keeps the port's promises: what is offered is found again, once, and as it was."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.forge.bare import git, tip
from tests.forge.hosted import Hosted, hosted, remotely_hosted
from tests.forge.world import JANE
from tests.patience import LOOK_S, PATIENCE_S
from tidegate.forge.port import (
    CheckStatus,
    MergeRequest,
    Proposal,
    RequestState,
    StatusState,
)
from tidegate.model.errors import OutsideError

KINDS = ("local", "gitlab", "github", "gitea")
Story = Callable[[Hosted], Awaitable[None]]
Play = Callable[[Story], None]


@pytest.fixture(params=KINDS)
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Play:
    """Play a story on a fresh project of a forge."""

    def played(story: Story) -> None:
        async def whole() -> None:
            async with hosted(request.param, tmp_path) as project:
                await story(project)

        asyncio.run(whole())

    return played


def proposal(source: str = "promote-1", title: str = "promote x to y", **more: object) -> Proposal:
    """Something to offer."""
    given = {"description": "Old → new.\n\n- `a.yml`", "target": "main", **more}
    return Proposal(source=source, title=title, **given)  # type: ignore[arg-type]


def offered(project: Hosted, branch: str, text: str = "a: 2\n") -> str:
    """A branch with one commit on main, pushed; its commit."""
    return project.commit(branch, {"a.yml": text})


def test_what_is_opened_is_found_as_it_was_offered(play: Play) -> None:
    """By its branch, by its title, by both, and by nothing else."""

    async def story(project: Hosted) -> None:
        forge, sha = project.forge, offered(project, "promote-1")
        offered(project, "other")
        made = await forge.open(proposal(labels=("bot/automerge", "a b")))
        other = await forge.open(proposal("other", "another thing"))
        assert made.number != other.number
        assert (made.title, made.source, made.target) == ("promote x to y", "promote-1", "main")
        assert made.description == "Old → new.\n\n- `a.yml`"
        assert made.state is RequestState.OPEN
        assert set(made.labels) == {"bot/automerge", "a b"}
        assert made.url.endswith(str(made.number))
        assert made.head in ("", sha)
        for source, title in (
            ("promote-1", ""),
            ("", "promote x to y"),
            ("promote-1", "promote x to y"),
        ):
            (found,) = await forge.find(source=source, title=title)
            assert (found.number, found.title, found.head) == (made.number, made.title, sha)
            assert set(found.labels) == set(made.labels)
        assert await forge.find(source="promote") == ()
        assert await forge.find(title="promote x") == ()
        assert await forge.find(source="other", title="promote x to y") == ()

    play(story)


def test_what_became_of_it_is_reported(play: Play) -> None:
    """Open, merged, closed; a closed one is no open one, and the newest comes first."""

    async def story(project: Hosted) -> None:
        forge = project.forge
        numbers = []
        for i in range(3):
            branch = "promote-1" if i != 1 else "promote-2"
            offered(project, branch, f"a: {10 + i}\n")
            numbers.append((await forge.open(proposal(branch))).number)
            if i == 0:
                await project.decline(numbers[0])
        head = tip(project.repository, "promote-2")
        await project.merge(numbers[1])
        found = await forge.find(title="promote x to y", state=None)
        assert [each.number for each in found] == sorted(numbers, reverse=True)
        assert [each.state for each in found] == [
            RequestState.OPEN,
            RequestState.MERGED,
            RequestState.CLOSED,
        ]
        (merged,) = await forge.find(source="promote-2", state=RequestState.MERGED)
        assert (merged.head, merged.merged_as) == (head, tip(project.repository, "main"))
        (closed,) = await forge.find(source="promote-1", state=RequestState.CLOSED)
        assert closed.number == numbers[0]
        (opened,) = await forge.find(source="promote-1")
        assert opened.number == numbers[2]
        assert opened.merged_as == ""
        for number in numbers:
            one = await forge.get(number)
            assert one is not None
            (listed,) = [each for each in found if each.number == number]
            assert one.state is listed.state
            assert one.url == listed.url
        assert await forge.get(max(numbers) + 1) is None

    play(story)


# The account that is named, where a request is merged and where it is closed.
ENDED_BY = {
    "local": ("", ""),
    "gitlab": (JANE.login, JANE.login),
    "github": (JANE.login, ""),
    "gitea": (JANE.login, ""),
}


@pytest.mark.parametrize("kind", sorted(ENDED_BY))
def test_the_account_that_ended_a_request_is_reported(kind: str, tmp_path: Path) -> None:
    """As far as the forge says: GitHub and Gitea do not tell who closed one, and one has none."""

    async def story() -> None:
        async with hosted(kind, tmp_path) as project:
            numbers = []
            for branch in ("promote-1", "promote-2"):
                offered(project, branch, f"a: {branch}\n")
                made = await project.forge.open(proposal(branch))
                assert made.ended_by == ""
                numbers.append(made.number)
            await project.merge(numbers[0])
            await project.decline(numbers[1])
            found = [await project.forge.get(number) for number in numbers]
            assert tuple(each.ended_by if each else None for each in found) == ENDED_BY[kind]

    asyncio.run(story())


def test_a_merge_is_a_real_one_and_its_request_is_known_by_its_commits(play: Play) -> None:
    """The target has the change; the merge and what it brought lead to the request."""

    async def story(project: Hosted) -> None:
        sha = offered(project, "promote-1")
        base = tip(project.repository, "main")
        made = await project.forge.open(proposal())
        assert await project.forge.of_commit(sha) is None
        project.commit("main", {"b.yml": "b: 2\n"})
        await project.merge(made.number)
        assert git(project.repository, "show", "main:a.yml") == "a: 2"
        assert git(project.repository, "show", "main:b.yml") == "b: 2"
        for known in (sha, tip(project.repository, "main")):
            found = await project.forge.of_commit(known)
            assert found is not None
            assert (found.number, found.state) == (made.number, RequestState.MERGED)
            assert found.merged_as == tip(project.repository, "main")
        assert await project.forge.of_commit(base) is None
        assert await project.forge.of_commit("0" * 39 + "1") is None

    play(story)


def test_an_update_changes_the_words_and_keeps_labels_of_others(play: Play) -> None:
    """A label a person added by hand stays; ours come besides."""

    async def story(project: Hosted) -> None:
        forge = project.forge
        offered(project, "promote-1")
        made = await forge.open(proposal(labels=("ours",)))
        await forge.label(made.number, add=("theirs",))
        changed = await forge.update(
            made.number, proposal(title="promote x to z", description="", labels=("new", "ours"))
        )
        assert (changed.number, changed.title) == (made.number, "promote x to z")
        (found,) = await forge.find(source="promote-1")
        assert (found.title, found.description) == ("promote x to z", "")
        assert set(found.labels) == {"ours", "theirs", "new"}

    play(story)


def test_labels_come_and_go_by_name(play: Play) -> None:
    """Adding one that is there, or removing one that is not, is nothing."""

    async def story(project: Hosted) -> None:
        forge = project.forge
        offered(project, "promote-1")
        number = (await forge.open(proposal(labels=("a", "b/c")))).number
        await forge.label(number, add=("d", "a"), remove=("b/c", "never"))
        await forge.label(number, add=("d",), remove=("b/c",))
        await forge.label(number)
        (found,) = await forge.find(source="promote-1")
        assert set(found.labels) == {"a", "d"}

    play(story)


def test_a_comment_is_replaced_and_those_of_others_are_not(play: Play) -> None:
    """One comment a key, with any other comments in between."""

    async def story(project: Hosted) -> None:
        forge = project.forge
        offered(project, "promote-1")
        number = (await forge.open(proposal())).number
        await project.say(number, "looks good")
        await forge.comment(number, "preview", "first")
        await forge.comment(number, "check", "beside")
        await forge.comment(number, "preview", "second → 2")
        await forge.comment(number, "preview", "second → 2")
        said = await project.comments(number)
        assert len(said) == 3
        assert said[0].endswith("looks good")
        assert said[1] == "<!-- tidegate:preview -->\nsecond → 2"
        assert said[2] == "<!-- tidegate:check -->\nbeside"

    play(story)


def test_a_status_has_the_last_word_of_its_check(play: Play) -> None:
    """Pending, then failed; another check stands beside it."""

    async def story(project: Hosted) -> None:
        forge, sha = project.forge, offered(project, "promote-1")
        await forge.open(proposal())
        url = "https://example.com/runs/1"
        for state, text in ((StatusState.PENDING, "3 to run"), (StatusState.FAILURE, "1 of 3")):
            await forge.status(
                sha, CheckStatus(name="tidegate/check", state=state, text=text, url=url)
            )
        beside = CheckStatus(name="tidegate/preview", state=StatusState.SUCCESS, text="")
        await forge.status(sha, beside)
        found = {each.name: each for each in await project.statuses(sha)}
        assert found == {
            "tidegate/check": CheckStatus(
                name="tidegate/check", state=StatusState.FAILURE, text="1 of 3", url=url
            ),
            "tidegate/preview": beside,
        }

    play(story)


def test_what_checks_say_together(play: Play) -> None:
    """Nothing, as long as none spoke; then the worst of the last word of each."""

    async def story(project: Hosted) -> None:
        forge, sha = project.forge, offered(project, "promote-1")
        await forge.open(proposal())
        said = [await forge.checks(sha)]
        for name, state in (
            ("build", StatusState.SUCCESS),
            ("test", StatusState.PENDING),
            ("test", StatusState.FAILURE),
            ("lint", StatusState.PENDING),
            ("test", StatusState.SUCCESS),
            ("lint", StatusState.SUCCESS),
        ):
            await forge.status(sha, CheckStatus(name=name, state=state, text=""))
            said.append(await forge.checks(sha))
        good, going, bad = StatusState.SUCCESS, StatusState.PENDING, StatusState.FAILURE
        assert said == [None, good, going, bad, bad, going, good]

    play(story)


def test_a_label_finds_its_requests(play: Play) -> None:
    """All of them, and no other; a person may have added it."""

    async def story(project: Hosted) -> None:
        forge = project.forge
        numbers = []
        for branch, label in (("p-1", "pipeline"), ("p-2", "pipeline 2"), ("p-3", "x")):
            offered(project, branch)
            numbers.append((await forge.open(proposal(branch, labels=(label,)))).number)
        await forge.label(numbers[2], add=("pipeline",))
        found = await forge.find(label="pipeline")
        assert [each.number for each in found] == [numbers[2], numbers[0]]
        assert await forge.find(label="pipe") == ()

    play(story)


def test_one_is_closed_once_and_a_merged_one_never(play: Play) -> None:
    """A second call finds it closed; what a person merged stays merged."""

    async def story(project: Hosted) -> None:
        forge = project.forge
        numbers = []
        for branch in ("promote-1", "promote-2"):
            offered(project, branch, f"a: {branch}\n")
            numbers.append((await forge.open(proposal(branch))).number)
        await project.merge(numbers[1])
        for _ in range(2):
            states = [(await forge.decline(number)).state for number in numbers]
            assert states == [RequestState.CLOSED, RequestState.MERGED]
        assert await forge.find() == ()

    play(story)


def test_a_conflict_with_the_target_is_reported(play: Play) -> None:
    """Once the target changed the same line, and not before; a closed one has none."""

    async def story(project: Hosted) -> None:
        forge = project.forge
        offered(project, "promote-1")
        number = (await forge.open(proposal())).number

        async def conflicts() -> bool:
            found = await forge.get(number)
            assert found is not None
            return found.conflicts

        assert not await conflicts()
        project.commit("main", {"a.yml": "a: 3\n"})
        # A real forge finds out beside its answers.
        end = time.monotonic() + PATIENCE_S
        while not await conflicts():
            assert time.monotonic() < end, "no conflict is reported"
            await asyncio.sleep(LOOK_S)
        await forge.decline(number)
        assert not await conflicts()

    play(story)


def test_check_runs_of_one_vendor_count(tmp_path: Path) -> None:
    """GitHub has a second kind of check; one that is skipped says nothing."""

    async def story() -> None:
        async with remotely_hosted("github", tmp_path) as project:
            sha = offered(project, "promote-1")
            said = []
            for ended in ("", "skipped", "success", "timed_out"):
                project.server.project.runs[sha] = {"test": ended}
                said.append(await project.forge.checks(sha))
            good, going, bad = StatusState.SUCCESS, StatusState.PENDING, StatusState.FAILURE
            assert said == [going, None, good, bad]

    asyncio.run(story())


def test_one_that_is_open_between_the_branches_is_not_doubled(play: Play) -> None:
    """A second call that opens it is given the first, in the words asked for."""

    async def story(project: Hosted) -> None:
        forge = project.forge
        offered(project, "promote-1")
        first = await forge.open(proposal(labels=("a",)))
        second = await forge.open(proposal(title="promote x to z", labels=("b",)))
        assert second.number == first.number
        (found,) = await forge.find(source="promote-1", state=None)
        assert found.title == "promote x to z"
        assert set(found.labels) == {"a", "b"}

    play(story)


def test_who_is_unknown_is_called_by_name(play: Play) -> None:
    """No account is mentioned that may be another one."""

    async def story(project: Hosted) -> None:
        assert await project.forge.mention("No Body", "nobody@example.org") == "No Body"
        assert await project.forge.mention("", "nobody@example.org") == "nobody@example.org"

    play(story)


def test_what_is_not_there_is_said(play: Play) -> None:
    """A branch no one pushed cannot be offered, and an unknown commit has no status."""

    async def story(project: Hosted) -> None:
        with pytest.raises(OutsideError, match="branch"):
            await project.forge.open(proposal("never-pushed"))
        missing = CheckStatus(name="tidegate/check", state=StatusState.SUCCESS, text="")
        with pytest.raises(OutsideError):
            await project.forge.status("0" * 39 + "1", missing)
        assert await project.forge.find(state=None) == ()

    play(story)


def test_many_at_once_lose_nothing(play: Play) -> None:
    """Five offer at the same time, and every one is there, under a number of its own."""

    async def story(project: Hosted) -> None:
        branches = [f"promote-{i}" for i in range(5)]
        for branch in branches:
            offered(project, branch)

        async def offer(branch: str) -> MergeRequest:
            made = await project.forge.open(proposal(branch, f"title of {branch}"))
            await project.forge.comment(made.number, "preview", branch)
            return made

        made = await asyncio.gather(*map(offer, branches))
        assert len({each.number for each in made}) == len(branches)
        for each in made:
            (found,) = await project.forge.find(source=each.source)
            assert (found.number, found.title) == (each.number, f"title of {each.source}")
            (said,) = await project.comments(each.number)
            assert said.endswith(each.source)

    play(story)
