"""How far a change goes is said by flags; what was done, and what to do next, in a few lines."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.git_repos import GIT_SETTINGS, clone, commit, git, push_change, remote
from tidegate.cli.merge_requests.proposal_options import (
    FORGE_SETTINGS,
    Proposing,
    proposing_options,
)
from tidegate.cli.setting_options import settings_options
from tidegate.forge.port import Forge
from tidegate.git.port import Repository
from tidegate.model.errors import StaleError
from tidegate.propose.offer import Offer
from tidegate.settings.settings import Merged

BRANCH = "tidegate/promote-x"
OLD, NEW = "ref: old\n", "ref: new\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the forge has, made once."""
    folder = tmp_path_factory.mktemp("template")
    return remote(folder, {"data/saas.yml": OLD, "data/gone.yml": "x", "run.sh": "x"})


@pytest.fixture
def bare(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the forge has."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_SETTINGS)
    return Path(shutil.copytree(template, tmp_path / "remote.git"))


@pytest.fixture
def mine(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone, and a person who works in it."""
    folder = clone(bare, tmp_path / "mine")
    monkeypatch.chdir(folder)
    return folder


def files(repository: Repository, base: str) -> Mapping[str, bytes | None]:
    """A change that looks at what is there."""
    (_, content) = next(iter(repository.read(base, ["data/saas.yml"])))
    return {
        "data/saas.yml": content.replace(b"old", b"new"),
        "data/gone.yml": None,
        "data/more.yml": b"m: 1\n",
    }


async def words(forge: Forge) -> str:
    """A description that mentions a person."""
    return f"with the work of {await forge.mention('Cyd', 'cyd@example.com')}"


@click.command()
@settings_options(*FORGE_SETTINGS)
@proposing_options
@click.option("-o", "--output", default="table")
def promote(merged: Merged, proposing: Proposing, output: str) -> None:
    """Show and offer one change."""
    offer = Offer(title="promote x", description=words, key="promote-x", files=files)
    proposing.carry_out(offer, Path("data"), merged.settings(), output)


def run(*arguments: str) -> Result:
    """What the command says."""
    return CliRunner().invoke(promote, arguments)


def test_without_a_flag_nothing_is_changed(mine: Path) -> None:
    """It says which flags there are."""
    done = run()
    assert (done.exit_code, done.stdout) == (0, "")
    assert "--write edits the files, --open-mr offers it" in done.stderr
    assert git(mine, "status", "--porcelain") == ""


def test_write_edits_the_files_here(mine: Path) -> None:
    """Those that are meant, with their modes; a second time there is nothing to do."""
    (mine / "data/saas.yml").chmod(0o755)
    done = run("--write")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "data/gone.yml deleted",
        "data/more.yml created",
        "data/saas.yml edited",
    ]
    assert (mine / "data/saas.yml").read_text() == NEW
    assert (mine / "data/saas.yml").stat().st_mode & 0o777 == 0o755
    assert not (mine / "data/gone.yml").exists()
    assert run("--write").exit_code == 0
    assert git(mine, "for-each-ref", "refs/heads/tidegate") == ""


@pytest.mark.parametrize("path", ["data/saas.yml", "data/gone.yml", "data/more.yml"])
def test_edits_of_a_person_are_not_lost(mine: Path, path: str) -> None:
    """Not even those of one file among many: nothing is written then."""
    (mine / path).write_text("half: done\n")
    before = git(mine, "status", "--porcelain")
    done = run("--write")
    assert isinstance(done.exception, StaleError)
    assert f"not what was read: {path}; commit or stash" in str(done.exception)
    assert (mine / path).read_text() == "half: done\n"
    assert git(mine, "status", "--porcelain") == before


def test_a_link_is_not_followed(mine: Path, tmp_path: Path) -> None:
    """What is outside the repository is not ours to write."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "saas.yml").write_text(OLD)
    (mine / "data/saas.yml").unlink()
    (mine / "data/saas.yml").symlink_to(tmp_path / "outside" / "saas.yml")
    done = run("--write")
    assert isinstance(done.exception, StaleError)
    assert (tmp_path / "outside" / "saas.yml").read_text() == OLD


def test_each_flag_goes_one_step_further(mine: Path, bare: Path) -> None:
    """Every step is reported, found again by the next, and followed by what to do."""
    made = run("--commit")
    at = git(mine, "rev-parse", BRANCH)[:10]
    assert made.stdout == f"branch {BRANCH}: commit {at} made: 3 files\n"
    assert f"look at it with `git show {BRANCH}`" in made.stderr
    pushed = run("--push", "--yes")
    assert pushed.stdout.splitlines() == [
        f"branch {BRANCH}: commit {at} is there already: 3 files",
        f"branch {BRANCH}: pushed to {bare.as_uri()}",
    ]
    assert "--open-mr to open a merge request" in pushed.stderr
    opened = run("--open-mr", "--yes", "--label", "urgent")
    assert opened.stdout.splitlines()[1:] == [
        f"branch {BRANCH}: {bare.as_uri()} has it already",
        f"merge request opened: {bare.as_uri()}#1",
    ]
    assert "a reviewer has to approve and merge it; Tidegate does neither" in opened.stderr
    again = run("--open-mr", "--yes", "-o", "json")
    assert (again.exit_code, again.stdout) == (0, "")
    assert f"merge request unchanged: {bare.as_uri()}#1" in again.stderr
    assert git(mine, "status", "--porcelain") == ""


def test_a_newer_change_takes_the_place_of_the_older(
    mine: Path, bare: Path, tmp_path: Path
) -> None:
    """As the target moved on."""
    run("--open-mr", "--yes")
    push_change(bare, tmp_path / "bob", {"data/saas.yml": "# noted\nref: old\n"})
    done = run("--open-mr", "--yes")
    assert "in place of what Tidegate had there" in done.stdout
    assert git(bare, "show", f"{BRANCH}:data/saas.yml") == "# noted\nref: new"


def test_branch_and_target_can_be_named(mine: Path, bare: Path) -> None:
    """And what is there already is not offered."""
    git(bare, "branch", "stable", "main")
    done = run("--push", "--yes", "--branch", "mine/own", "--target", "stable")
    assert done.stdout.startswith("branch mine/own: commit ")
    assert git(bare, "rev-parse", "mine/own^") == git(bare, "rev-parse", "stable")
    git(bare, "branch", "-f", "stable", "mine/own")
    git(bare, "branch", "-D", "mine/own")
    same = run("--push", "--yes", "--target", "stable")
    assert same.stdout == "nothing to offer: stable has it already\n"


def test_without_a_terminal_the_flag_to_write_is_named(mine: Path, bare: Path) -> None:
    """Nothing leaves this machine without a yes; a commit here needs none."""
    for flag, what in (("--push", "Push a branch"), ("--open-mr", "Open a merge request")):
        done = run(flag)
        assert done.exit_code == 2
        assert f'{what} for "promote x" into main? There is no terminal to ask' in done.output
    assert git(bare, "for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main"


def test_what_is_there_already_is_not_offered(mine: Path, bare: Path) -> None:
    """And it says so."""
    commit(mine, {"data/saas.yml": NEW, "data/more.yml": "m: 1\n"})
    (mine / "data/gone.yml").unlink()
    commit(mine, {})
    git(mine, "push", "-q", "origin", "main")
    done = run("--write", "--open-mr", "--yes")
    assert done.stdout.splitlines() == [
        "nothing to write: the files are so already",
        "nothing to offer: main has it already",
    ]


def test_a_command_may_have_flags_of_its_own(mine: Path) -> None:
    """They count as if they were ours."""
    seen: dict[str, Any] = {}

    @click.command()
    @click.option("--reason", required=True)
    @proposing_options(but=("reason",))
    def pin(reason: str, proposing: Proposing) -> None:
        seen.update(reason=reason, ours=proposing.reason, wanted=proposing.wanted)

    CliRunner().invoke(pin, ["--reason", "because", "--push"])
    assert seen == {"reason": "because", "ours": "because", "wanted": True}
