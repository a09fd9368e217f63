"""Forges over HTTP when things go wrong: nothing is doubled, waiting ends, no token is reported."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from msgspec.structs import replace

from tests.contract.test_forge import offered, proposal
from tests.forge.bare import commit, git
from tests.forge.faults import Fault
from tests.forge.hosted import QUICK, RemotelyHosted, adapter, remotely_hosted
from tests.forge.server import VENDORS
from tests.forge.world import JANE, TOKEN, US
from tests.patience import patiently
from tests.serving import answering
from tidegate.forge.client.session import ForgeLimits
from tidegate.forge.port import CheckStatus, Forge, RequestState, StatusState
from tidegate.model.errors import OutsideError, UserError
from tidegate.wiring import forges

KINDS = tuple(VENDORS)
Story = Callable[[RemotelyHosted], Awaitable[None]]
Play = Callable[..., None]
SHORT = replace(QUICK, timeout_s=0.3)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """A vendor."""
    return str(request.param)


@pytest.fixture
def play(kind: str, tmp_path: Path) -> Play:
    """Play a story on a fresh project of a vendor."""

    def played(story: Story, limits: ForgeLimits = QUICK) -> None:
        async def whole() -> None:
            async with remotely_hosted(kind, tmp_path, limits) as project:
                await story(project)

        patiently(whole())

    return played


LOST = [
    Fault("cut", "POST"),
    Fault("500", "POST"),
    Fault("502", "POST", times=2),
    Fault("429", "POST", headers={"Retry-After": "0"}),
    Fault("cut", "GET", times=2),
    Fault("503", "GET"),
]


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: f"{fault.what}-{fault.method}")
def test_whatever_is_lost_once_is_made_once(play: Play, fault: Fault) -> None:
    """A merge request, its labels, a comment and a status: one of each."""

    async def story(project: RemotelyHosted) -> None:
        sha = offered(project, "promote-1")
        faults = project.server.faults
        faults.append(replace_times(fault))
        made = await project.forge.open(proposal(labels=("a",)))
        faults.append(replace_times(fault))
        await project.forge.comment(made.number, "preview", "said")
        faults.append(replace_times(fault))
        await project.forge.status(
            sha, CheckStatus(name="tidegate/check", state=StatusState.SUCCESS, text="all good")
        )
        assert len(project.server.project.requests) == 1
        (found,) = await project.forge.find(source="promote-1", state=None)
        assert (found.number, found.labels) == (made.number, ("a",))
        assert await project.comments(made.number) == ["<!-- tidegate:preview -->\nsaid"]
        (told,) = await project.statuses(sha)
        assert told.text == "all good"
        assert all(fault.times == 0 for fault in faults)

    play(story)


def replace_times(fault: Fault) -> Fault:
    """The same fault, fresh."""
    return Fault(fault.what, fault.method, fault.of, fault.times, fault.headers)


def test_a_post_whose_answer_is_lost_is_not_sent_again(play: Play) -> None:
    """It is looked for, and found."""

    async def story(project: RemotelyHosted) -> None:
        offered(project, "promote-1")
        project.server.faults.append(Fault("cut", "POST"))
        made = await project.forge.open(proposal())
        assert (
            project.server.asked("POST", "/merge_requests") + project.server.asked("POST", "/pulls")
            == 1
        )
        assert made.title == "promote x to y"

    play(story)


def test_an_answer_that_comes_too_late_is_not_waited_for(play: Play) -> None:
    """One slow answer is asked for again; a forge that is always slow is given up in words."""

    async def story(project: RemotelyHosted) -> None:
        offered(project, "promote-1")
        project.server.faults.append(Fault("slow", "GET"))
        assert await project.forge.find(source="promote-1") == ()
        project.server.faults.append(Fault("slow", times=99))
        with pytest.raises(OutsideError, match=r"no answer in 0\.1 s \(2 tries\)"):
            await project.forge.find(source="promote-1")

    play(story, replace(QUICK, timeout_s=0.1, tries_max=2))


def test_who_is_asked_to_wait_waits_and_not_for_ever(play: Play, kind: str) -> None:
    """A second is waited for; an hour is reported."""

    async def story(project: RemotelyHosted) -> None:
        project.server.faults.append(Fault("429", "GET", headers={"Retry-After": "1"}))
        assert await project.forge.find(source="promote-1") == ()
        project.server.faults.append(Fault("429", "GET", headers={"Retry-After": "3600"}))
        with pytest.raises(OutsideError, match="retry after 3600 s; run this again later"):
            await project.forge.find(source="promote-1")

    play(story)


@pytest.mark.parametrize("reset, waits", [("1767225600", True), ("1767229200", False), ("", False)])
def test_github_tells_by_its_own_clock_how_long_to_wait(
    tmp_path: Path, reset: str, waits: bool
) -> None:
    """403 and nothing remaining; a plain 403 is a matter of rights."""
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    headers["Date"] = "Thu, 01 Jan 2026 00:00:00 GMT"

    async def story() -> None:
        async with remotely_hosted("github", tmp_path) as project:
            project.server.faults.append(Fault("403", "GET", headers=headers))
            if waits:
                assert await project.forge.find(source="promote-1") == ()
            else:
                with pytest.raises(OutsideError, match="rate limit exceeded"):
                    await project.forge.find(source="promote-1")
            project.server.faults.append(Fault("403", "GET"))
            with pytest.raises(OutsideError, match="check forgeToken"):
                await project.forge.find(source="promote-1")

    patiently(story())


def test_what_is_looked_for_is_found_on_any_page(play: Play, kind: str) -> None:
    """Pages of three, four of them; and a list without end is given up."""

    async def story(project: RemotelyHosted) -> None:
        sha = offered(project, "promote-1")
        for i in range(10):
            git(project.repository, "update-ref", f"refs/heads/old-{i}", sha)
            made = project.server.project.open(US, f"old {i}", "", f"old-{i}", "main")
            project.server.project.decline(made.number)
        number = project.server.project.open(US, "promote x to y", "", "promote-1", "main").number
        for i in range(7):
            project.server.project.say(JANE, number, f"word {i}")
        forge = project.forge
        (found,) = await forge.find(title="old 0", state=RequestState.CLOSED)
        assert found.source == "old-0"
        assert len(await forge.find(state=None)) == 11
        await forge.comment(number, "preview", "first")
        await forge.comment(number, "preview", "second")
        said = await project.comments(number)
        assert said[7:] == ["<!-- tidegate:preview -->\nsecond"]
        assert await forge.of_commit("0" * 39 + "1") is None
        hurried = adapter(kind, project.server, replace(QUICK, page=3, pages_max=2))
        with pytest.raises(OutsideError, match="more than 6 answers to GET"):
            await hurried.find(state=None)
        await hurried.close()

    play(story, replace(QUICK, page=3))


def test_only_comments_of_our_own_are_changed(play: Play) -> None:
    """Another person may write our mark; and of two of ours one is left."""

    async def story(project: RemotelyHosted) -> None:
        offered(project, "promote-1")
        number = (await project.forge.open(proposal())).number
        hers = "<!-- tidegate:preview -->\nhers"
        await project.say(number, hers)
        await project.forge.comment(number, "preview", "ours")
        assert await project.comments(number) == [hers, "<!-- tidegate:preview -->\nours"]
        project.server.project.say(US, number, "<!-- tidegate:preview -->\nours, late")
        await project.forge.comment(number, "preview", "ours again")
        assert await project.comments(number) == [hers, "<!-- tidegate:preview -->\nours again"]
        with pytest.raises(UserError, match="is not a key"):
            await project.forge.comment(number, "a --> b", "")

    play(story)


def test_a_program_without_an_account_on_github_changes_no_comments_of_people(
    tmp_path: Path,
) -> None:
    """A token of an installation may not ask who it is."""

    async def story() -> None:
        async with remotely_hosted("github", tmp_path) as project:
            offered(project, "promote-1")
            number = (await project.forge.open(proposal())).number
            await project.say(number, "<!-- tidegate:preview -->\nhers")
            project.server.faults.append(Fault("403", "GET", "/user"))
            await project.forge.comment(number, "preview", "ours")
            assert len(await project.comments(number)) == 2

    patiently(story())


def test_a_status_may_be_reported_twice(play: Play) -> None:
    """Also where the forge complains that it stands so already."""

    async def story(project: RemotelyHosted) -> None:
        sha = offered(project, "promote-1")
        status = CheckStatus(name="tidegate/check", state=StatusState.PENDING, text="x" * 999)
        await project.forge.status(sha, status)
        await project.forge.status(sha, status)
        (told,) = await project.statuses(sha)
        assert told.state is StatusState.PENDING
        assert told.text.startswith("xxx")
        project.server.faults.append(Fault("400", "POST", says="Cannot transition status via :x"))
        with pytest.raises(OutsideError, match=r"HTTP 400 .*Cannot transition"):
            await project.forge.status(sha, replace(status, state=StatusState.FAILURE))

    play(story)


def test_people_are_addressed_by_their_account_if_it_is_theirs(play: Play, kind: str) -> None:
    """By address; by name where a forge knows only its own people."""

    async def story(project: RemotelyHosted) -> None:
        forge = project.forge
        assert await forge.mention("Somebody Else", "jdoe@example.com") == "@jdoe"
        by_name = "Jim Roe" if kind == "github" else "@jroe"
        assert await forge.mention("Jim Roe", "jim@elsewhere.org") == by_name
        assert await forge.mention("@all Jim", "") == "all Jim"
        assert await forge.mention("Jim", "") == "Jim"
        hidden = "12+jroe@users.noreply.127.0.0.1"
        asked = len(project.server.seen)
        assert await forge.mention("Jim Roe", hidden) == "@jroe"
        assert len(project.server.seen) == asked
        assert await forge.mention("Jim", "12+jroe@users.noreply.example.com") == "Jim"

    play(story)


def test_git_itself_pushes_what_is_offered(play: Play, tmp_path: Path) -> None:
    """Over HTTP, with a password; without one no one comes in."""

    async def story(project: RemotelyHosted) -> None:
        def push(password: str) -> str:
            clone = tmp_path / f"clone-{password}"
            url = project.server.remote.replace("://", f"://us:{password}@")
            git(tmp_path, "clone", "-q", "--bare", url, str(clone))
            sha = commit(clone, "promote-1", {"a.yml": "a: 2\n"}, onto="main")
            git(clone, "push", "-q", url, "promote-1")
            return sha

        with pytest.raises(AssertionError, match="Authentication failed"):
            await asyncio.to_thread(push, "wrong")
        sha = await asyncio.to_thread(push, TOKEN)
        made = await project.forge.open(proposal())
        assert made.head == sha

    play(story)


Breaking = Callable[[RemotelyHosted], None]


def _everything(what: str, headers: dict[str, str] | None = None) -> Breaking:
    def broken(project: RemotelyHosted) -> None:
        project.server.faults.append(Fault(what, times=99, headers=headers or {}))

    return broken


@pytest.mark.parametrize("broken, words", [
    (_everything("500"), "HTTP 500"),
    (_everything("cut"), "tries"),
    (_everything("401"), "HTTP 401 .*check forgeToken"),
    (_everything("403"), "HTTP 403 .*check forgeToken"),
    (_everything("404"), "check forgeToken|no branch|no commit"),
    (_everything("422"), "HTTP 422"),
    (_everything("429", {"Retry-After": "999"}), "rate limit exceeded"),
    (_everything("301", {"Location": "https://elsewhere.example.com"}), "HTTP 301|no branch"),
    (_everything("200"), "cannot be read"),
], ids=lambda value: "" if callable(value) else value)  # fmt: skip
def test_no_token_is_reported_whatever_goes_wrong(
    play: Play, kind: str, broken: Breaking, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In no error, in nothing it came from, in no log; the faults repeat it in their answers."""

    async def story(project: RemotelyHosted) -> None:
        forge, sha = project.forge, offered(project, "promote-1")
        broken(project)
        for asked in (
            forge.find(source="promote-1"),
            forge.open(proposal()),
            forge.update(1, proposal()),
            forge.comment(1, "preview", "said"),
            forge.label(1, add=("a",)),
            forge.status(sha, CheckStatus(name="x", state=StatusState.ERROR, text="")),
        ):
            (error,) = await asyncio.gather(asked, return_exceptions=True)
            if isinstance(error, BaseException):
                assert isinstance(error, OutsideError)
                told = "".join(traceback.format_exception(error))
                assert TOKEN not in told + repr(error) + repr(error.__context__)
        with pytest.raises(OutsideError, match=words):
            await forge.open(proposal(labels=("a",)))
        assert TOKEN not in repr(forge)
        assert TOKEN not in repr(vars(forge))

    with caplog.at_level(logging.DEBUG):
        play(story, replace(QUICK, tries_max=2))
    assert TOKEN not in caplog.text


def test_a_redirect_is_not_followed_with_a_token(kind: str) -> None:
    """Wherever it leads, our credentials are not sent there."""
    came: list[str] = []

    async def story() -> None:
        async def elsewhere(request: web.Request) -> web.StreamResponse:
            came.append(request.path)
            return web.json_response([])

        async with answering(elsewhere) as other:

            async def moved(request: web.Request) -> web.StreamResponse:
                raise web.HTTPMovedPermanently(f"http://{other}{request.path_qs}")

            async with answering(moved) as address:
                url, project = f"http://{address}", f"http://{address}/group/config.git"
                forge = forges.forge(project, kind, url, "env:T", {"T": TOKEN})
                with pytest.raises(OutsideError, match="it has moved: correct the address"):
                    await forge.find(source="a")
                await forge.close()

    patiently(story())
    assert came == []


def test_a_token_comes_from_where_the_settings_say_or_where_tools_look(
    kind: str, tmp_path: Path
) -> None:
    """By reference, from a file, or from the variable of the vendor's own tools."""
    (tmp_path / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    usual = {"gitlab": "GITLAB_TOKEN", "github": "GH_TOKEN", "gitea": "GITEA_TOKEN"}[kind]
    came: list[str] = []

    async def noting(request: web.Request) -> web.StreamResponse:
        headers = request.headers
        came.append(headers.get("Authorization", "") + headers.get("PRIVATE-TOKEN", ""))
        return web.json_response([])

    async def story() -> None:
        async with answering(noting) as address:
            remote = f"http://{address}/group/config.git"
            for token, env in (
                ("env:MINE", {"MINE": TOKEN, usual: "other"}),
                (f"file:{tmp_path}/token", {}),
                ("", {usual: TOKEN}),
                ("", {}),
            ):
                forge: Forge = forges.forge(remote, kind, "", token, env)
                assert await forge.find(source="a") == ()
                await forge.close()

    patiently(story())
    assert [TOKEN in each for each in came] == [True, True, True, False]
    assert came[3] == ""


@pytest.mark.parametrize("env", [{}, {"T": ""}, {"T": f"{TOKEN}\nX-Evil: 1"}, {"T": f"{TOKEN} a"}])
def test_what_is_no_token_is_refused_unrepeated(env: dict[str, str]) -> None:
    """Nothing there, or more than one word."""
    with pytest.raises(UserError, match="forgeToken: ") as told:
        forges.forge("git@github.com:o/n.git", "auto", "", "env:T", env)
    assert TOKEN not in str(told.value)


def test_labels_of_an_organisation_that_may_not_be_seen_are_passed_over(tmp_path: Path) -> None:
    """A token without `read:organization` is enough where no one needs them."""

    async def story() -> None:
        async with remotely_hosted("gitea", tmp_path) as project:
            offered(project, "promote-1")
            project.server.faults.append(Fault("403", "GET", "/orgs/"))
            made = await project.forge.open(proposal(labels=("a",)))
            assert made.labels == ("a",)

    patiently(story())


def test_gitea_is_not_searched_to_the_end_for_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest are looked through, page by page; beyond them it is not known."""
    monkeypatch.setattr("tidegate.forge.client.gitea.LOOKED_MAX", 4)

    async def story() -> None:
        async with remotely_hosted("gitea", tmp_path, replace(QUICK, page=2)) as project:
            shas = []
            for i in range(6):
                shas.append(offered(project, f"promote-{i}", f"a: {10 + i}\n"))
                made = project.server.project.open(US, f"title {i}", "", f"promote-{i}", "main")
                project.server.project.merge(made.number)
            found = [await project.forge.of_commit(sha) for sha in shas]
            numbers = [each.number if each is not None else None for each in found]
            assert numbers == [None, None, 3, 4, 5, 6]

    patiently(story())
