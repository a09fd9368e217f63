"""The forge for tests is understood by clients that are not ours, and they and we see the same.

Otherwise it would only show that our reading of an interface agrees with itself.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_forge import offered, proposal
from tests.forge.bare import tip
from tests.forge.hosted import RemotelyHosted, remotely_hosted
from tests.forge.server import PROJECT
from tests.forge.world import JANE
from tidegate.forge.port import CheckStatus, RequestState, StatusState
from tidegate.model.errors import OutsideError

Story = Callable[[RemotelyHosted], Awaitable[None]]


def play(kind: str, folder: Path, story: Story) -> None:
    """Play a story on a fresh project."""

    async def whole() -> None:
        async with remotely_hosted(kind, folder) as project:
            await story(project)

    asyncio.run(whole())


def gitlab_of(project: RemotelyHosted, token: str) -> Any:
    """A person's python-gitlab."""
    import gitlab

    return gitlab.Gitlab(project.server.site, private_token=token, retry_transient_errors=False)


def github_of(project: RemotelyHosted, token: str) -> Any:
    """A person's githubkit."""
    from githubkit import GitHub

    return GitHub(token, base_url=f"{project.server.site}/api/v3/", http_cache=False)


def test_python_gitlab_sees_what_we_do(tmp_path: Path) -> None:
    """What we open, label, say and tell, read by it."""

    async def story(project: RemotelyHosted) -> None:
        sha = offered(project, "promote-1")
        made = await project.forge.open(proposal(labels=("ours", "a b")))
        await project.forge.comment(made.number, "preview", "said")
        told = CheckStatus(name="tidegate/check", state=StatusState.FAILURE, text="1 of 3")
        await project.forge.status(sha, told)

        def look() -> None:
            with gitlab_of(project, JANE.token) as client:
                client.auth()
                assert client.user.username == JANE.login
                there = client.projects.get(PROJECT)
                request = there.mergerequests.get(made.number)
                assert (request.title, request.state) == ("promote x to y", "opened")
                assert (request.source_branch, request.sha) == ("promote-1", sha)
                assert set(request.labels) == {"ours", "a b"}
                assert request.web_url == made.url
                (note,) = request.notes.list(get_all=True)
                assert note.body.endswith("said")
                (status,) = there.commits.get(sha, lazy=True).statuses.list(get_all=True)
                assert (status.name, status.status) == ("tidegate/check", "failed")

        await asyncio.to_thread(look)

    play("gitlab", tmp_path, story)


def test_we_see_what_python_gitlab_does(tmp_path: Path) -> None:
    """What it opens, labels, merges and closes, read by us."""

    async def story(project: RemotelyHosted) -> None:
        sha = offered(project, "promote-1")
        offered(project, "promote-2")

        def act() -> None:
            with gitlab_of(project, JANE.token) as client:
                there = client.projects.get(PROJECT)
                for branch in ("promote-1", "promote-2"):
                    words = {"title": f"of {branch}", "description": "d", "labels": ["x", "y"]}
                    branches = {"source_branch": branch, "target_branch": "main"}
                    there.mergerequests.create({**words, **branches})
                first, second = sorted(there.mergerequests.list(get_all=True), key=_number)
                first.title = "renamed"
                first.save()
                first.merge()
                second.state_event = "close"
                second.save()

        await asyncio.to_thread(act)
        (merged,) = await project.forge.find(title="renamed", state=None)
        assert (merged.state, merged.head) == (RequestState.MERGED, sha)
        assert merged.merged_as == tip(project.repository, "main")
        assert set(merged.labels) == {"x", "y"}
        assert await project.forge.of_commit(sha) == merged
        (closed,) = await project.forge.find(source="promote-2", state=RequestState.CLOSED)
        assert closed.description == "d"

    play("gitlab", tmp_path, story)


def _number(request: Any) -> int:
    return int(request.iid)


def test_githubkit_sees_what_we_do(tmp_path: Path) -> None:
    """What we open, label, say and tell, read by it with models made of GitHub's description."""

    async def story(project: RemotelyHosted) -> None:
        sha = offered(project, "promote-1")
        made = await project.forge.open(proposal(labels=("ours", "a b")))
        await project.forge.comment(made.number, "preview", "said")
        told = CheckStatus(name="tidegate/check", state=StatusState.FAILURE, text="1 of 3")
        await project.forge.status(sha, told)
        owner, repo = PROJECT.split("/")
        async with github_of(project, JANE.token) as client:
            me = (await client.rest.users.async_get_authenticated()).parsed_data
            assert me.login == JANE.login
            found = await client.rest.pulls.async_get(owner, repo, made.number)
            request = found.parsed_data
            assert (request.title, request.state, request.merged) == (
                "promote x to y",
                "open",
                False,
            )
            assert (request.head.ref, request.head.sha) == ("promote-1", sha)
            assert {label.name for label in request.labels} == {"ours", "a b"}
            said = await client.rest.issues.async_list_comments(owner, repo, made.number)
            assert [each.body.splitlines()[-1] for each in said.parsed_data] == ["said"]
            states = await client.rest.repos.async_list_commit_statuses_for_ref(owner, repo, sha)
            (state,) = states.parsed_data
            assert (state.context, state.state) == ("tidegate/check", "failure")

    play("github", tmp_path, story)


def test_we_see_what_githubkit_does(tmp_path: Path) -> None:
    """What it opens, labels, merges and closes, read by us."""

    async def story(project: RemotelyHosted) -> None:
        sha = offered(project, "promote-1")
        offered(project, "promote-2")
        owner, repo = PROJECT.split("/")
        async with github_of(project, JANE.token) as client:
            pulls = client.rest.pulls
            for branch in ("promote-1", "promote-2"):
                words = {"title": f"of {branch}", "body": "d"}
                await pulls.async_create(owner, repo, head=branch, base="main", **words)
            await client.rest.issues.async_add_labels(owner, repo, 1, labels=["x", "y"])
            await pulls.async_update(owner, repo, 1, title="renamed")
            merged_as = (await pulls.async_merge(owner, repo, 1)).parsed_data.sha
            await pulls.async_update(owner, repo, 2, state="closed")
        (merged,) = await project.forge.find(title="renamed", state=None)
        assert (merged.state, merged.head) == (RequestState.MERGED, sha)
        assert merged.merged_as == merged_as == tip(project.repository, "main")
        assert set(merged.labels) == {"x", "y"}
        assert await project.forge.of_commit(sha) == merged
        (closed,) = await project.forge.find(source="promote-2", state=RequestState.CLOSED)
        assert closed.description == "d"

    play("github", tmp_path, story)


@pytest.mark.parametrize("kind", ["github", "gitea"])
def test_what_no_vendor_describes_is_noticed(kind: str, tmp_path: Path) -> None:
    """The forge for tests refuses a parameter that is not there, so that ours are."""

    async def story(project: RemotelyHosted) -> None:
        asking = project.forge._http  # type: ignore[attr-defined]
        with pytest.raises(OutsideError, match="HTTP 500"):
            await asking.get(f"/repos/{PROJECT}/pulls", list[dict[str, object]], {"branch": "a"})
        assert all("takes no {'branch'}" in each for each in project.server.odd)
        project.server.odd.clear()

    play(kind, tmp_path, story)
