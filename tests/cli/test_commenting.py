"""Which merge request is commented on, and that it gets one comment, however often."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.folders import Folder
from tests.git_repos import git
from tidegate.cli.main import cli
from tidegate.cli.merge_requests.comment_options import branch_of, key_of, number_in
from tidegate.forge.client.comment_mark import is_marked, marked
from tidegate.forge.client.local import LocalForge
from tidegate.forge.port import Proposal

CI = ("CI_MERGE_REQUEST_IID", "GITHUB_REF", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
      "CI_COMMIT_BRANCH", "GITHUB_HEAD_REF")  # fmt: skip


class Hosted:
    """A bundle, a branch of it that is pushed, and the forge it is pushed to."""

    def __init__(self, folder: Folder, bare: Path) -> None:
        self.root, self.forge = folder.root, LocalForge(bare)

    def offer(self, source: str = "change", target: str = "main") -> int:
        """Open a merge request; its number."""
        proposal = Proposal(title="t", description="", source=source, target=target)
        return asyncio.run(self.forge.open(proposal)).number

    def comments(self, number: int) -> tuple[str, ...]:
        """What was said on one."""
        return asyncio.run(self.forge.comments(number))

    def preview(self, *arguments: str, **env: str) -> Result:
        """Comment on one."""
        command = ["preview", str(self.root), "--base", "main", "--comment", *arguments]
        return CliRunner().invoke(cli, command, env={name: env.get(name, "") for name in CI})


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosted:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = Folder(tmp_path / "bundle", {"prod-1": "production"})
    folder.integration("dns")
    git(folder.root, "init", "-q")
    git(folder.root, "add", "-A")
    git(folder.root, "commit", "-qm", "first")
    bare = tmp_path / "forge.git"
    git(tmp_path, "clone", "-q", "--bare", str(folder.root), str(bare))
    git(folder.root, "remote", "add", "origin", str(bare))
    git(folder.root, "checkout", "-qb", "change")
    folder.integration("dns", "bbbbbbb")
    git(folder.root, "commit", "-qam", "another image")
    git(folder.root, "push", "-q", "origin", "change")
    return Hosted(folder, bare)


def test_it_is_one_comment_that_is_brought_up_to_date(hosted: Hosted) -> None:
    number = hosted.offer()
    found = hosted.preview()
    assert (found.exit_code, found.exception) == (0, None), found.output
    assert f"commented on merge request {number}" in found.stderr
    path = hosted.root / "integrations" / "dns.yml"
    path.write_text(path.read_text().replace("bbbbbbb", "ccccccc"))
    assert hosted.preview("-o", "json").exit_code == 0
    (comment,) = hosted.comments(number)
    assert "`aaaaaaa` → `ccccccc`" in comment
    assert "bbbbbbb" not in comment


def test_every_bundle_of_a_repository_has_a_comment_of_its_own() -> None:
    """Whatever its folder is called: a key is made of few characters."""
    keys = [key_of("preview", prefix) for prefix in ("", "one/", "two/", "-- > ü/")]
    assert len(set(keys)) == len(keys)
    for key in keys:
        assert is_marked(marked(key, "text"), key)


def test_the_number_is_given_set_by_the_job_or_found_by_the_branch(hosted: Hosted) -> None:
    first, second = hosted.offer(), hosted.offer("main", "change")
    assert (first, second) == (1, 2)
    for arguments, env, number in [
        (["--mr", "2"], {"CI_MERGE_REQUEST_IID": "1"}, 2),
        ([], {"CI_MERGE_REQUEST_IID": "2"}, 2),
        ([], {"GITHUB_REF": "refs/pull/2/merge"}, 2),
        ([], {"CI_COMMIT_BRANCH": "main"}, 2),
        (["--head", "origin/change"], {"CI_COMMIT_BRANCH": "main"}, 1),
        ([], {"GITHUB_REF": "refs/heads/main"}, 1),
    ]:
        found = hosted.preview(*arguments, **env)
        assert f"commented on merge request {number}" in found.stderr, (arguments, env)


def test_where_it_is_not_clear_which_one_is_meant_nothing_is_said(hosted: Hosted) -> None:
    found = hosted.preview()
    assert found.exit_code == 2
    assert 'no merge request of "change" is open' in found.output
    git(hosted.root, "push", "-q", "origin", "main:other")
    numbers = [hosted.offer(), hosted.offer(target="other")]
    assert '"change" has several: 2, 1' in hosted.preview().output
    git(hosted.root, "checkout", "-q", "--detach")
    assert "no branch is checked out here" in hosted.preview().output
    assert [hosted.comments(number) for number in numbers] == [(), ()]


def test_a_number_without_a_comment_is_a_mistake(hosted: Hosted) -> None:
    command = ["preview", str(hosted.root), "--base", "main", "--mr", "1"]
    found = CliRunner().invoke(cli, command)
    assert found.exit_code == 2
    assert "--mr needs --comment" in found.output


@pytest.mark.parametrize(
    "env, number",
    [
        ({}, None),
        ({"CI_MERGE_REQUEST_IID": "7"}, 7),
        ({"CI_MERGE_REQUEST_IID": "seven"}, None),
        ({"GITHUB_REF": "refs/pull/7/merge"}, 7),
        ({"GITHUB_REF": "refs/pull/7/head"}, 7),
        ({"GITHUB_REF": "refs/heads/refs/pull/7/merge"}, None),
        ({"GITHUB_REF": "refs/pull/7/merge/evil"}, None),
    ],
)
def test_jobs_say_their_number_in_their_own_ways(env: dict[str, str], number: int | None) -> None:
    assert number_in(env) == number


@pytest.mark.parametrize(
    "head, env, branch",
    [
        (None, {}, ""),
        (None, {"GITHUB_HEAD_REF": "mine"}, "mine"),
        ("refs/heads/mine", {"GITHUB_HEAD_REF": "other"}, "mine"),
        ("origin/mine", {}, "mine"),
    ],
)
def test_a_branch_is_that_of_the_head_or_of_the_job(
    head: str | None, env: dict[str, str], branch: str
) -> None:
    assert branch_of(head, env) == branch
