"""A remote on this machine is read without a process, and says what git would say of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git_repos import clone, copied, git, push_change, remote
from tidegate.git.client.repository import GitRepository, open_repository
from tidegate.model.errors import OutsideError

pytestmark = pytest.mark.usefixtures("no_git_settings")


def _make(folder: Path) -> None:
    git(remote(folder, {"a.yml": "a: 1\n"}), "tag", "v1")
    clone(folder / "remote.git", folder / "mine")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A clone whose remote is a folder beside it."""
    copied(tmp_path, _make)
    return tmp_path / "mine"


class Asked:
    """Which commands of git were started."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = folder / "started"
        monkeypatch.setenv("GIT_TRACE2_EVENT", str(self._path))

    def of(self, *names: str) -> list[str]:
        """Those of some names that have been started since."""
        text = self._path.read_text() if self._path.exists() else ""
        self._path.unlink(missing_ok=True)
        said = [line for line in text.splitlines() if '"event":"cmd_name"' in line]
        return [name for line in said for name in names if f'"hierarchy":"{name}"' in line]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Counts from now on."""
    return Asked(tmp_path, monkeypatch)


NETWORK = ("fetch", "ls-remote")


def _fetched(repository: GitRepository, bare: Path) -> None:
    """As far as a fetch goes, both have the same."""
    form = "--format=%(objectname) %(refname:lstrip=-1)"
    lines = git(bare, "for-each-ref", form, "refs/heads").splitlines()
    for line in lines:
        commit, name = line.split(" ")
        assert repository.tip(name) == commit


def test_what_did_not_move_is_not_fetched(mine: Path, asked: Asked) -> None:
    """What moved is; a branch or a tag that is new as well."""
    bare = mine.parent / "remote.git"
    repository = open_repository(mine)
    repository.fetch()
    assert asked.of(*NETWORK) == []
    steps: list[Callable[[], object]] = [
        lambda: push_change(bare, mine.parent / "theirs", {"b.yml": "b: 1\n"}),
        lambda: git(bare, "branch", "other", "main"),
        lambda: git(bare, "tag", "v2", "main"),
        lambda: git(bare, "tag", "-a", "-m", "third", "v3", "main"),
    ]
    for step in steps:
        step()
        repository.fetch()
        assert asked.of(*NETWORK) == ["fetch"]
        _fetched(repository, bare)
        git(bare, "pack-refs", "--all")
        repository.fetch()
        assert asked.of(*NETWORK) == []
    assert git(mine, "tag", "--list") == "v1\nv2\nv3"


def test_a_branch_there_is_read_as_it_is_now(mine: Path, asked: Asked) -> None:
    """Also one that is not there; what it has is here from then on."""
    bare = mine.parent / "remote.git"
    repository = open_repository(mine)
    assert repository.pushed("main") == git(bare, "rev-parse", "main")
    assert repository.pushed("nothing") == ""
    assert repository.pushed("../tags/v1") == ""
    assert asked.of("fetch") == []
    made = push_change(bare, mine.parent / "theirs", {"b.yml": "b: 1\n"})
    asked.of()
    assert repository.pushed("main") == made
    assert asked.of(*NETWORK) == ["fetch"]
    assert dict(repository.read(made, ["b.yml"])) == {"b.yml": b"b: 1\n"}


@pytest.mark.parametrize(
    "where, name, value",
    [
        ("remote.git", "transfer.hideRefs", "refs/heads/secret"),
        ("mine", "uploadpack.hideRefs", "refs/heads/secret"),
        ("mine", "remote.origin.uploadpack", "git-upload-pack"),
        ("mine", "remote.origin.pushurl", ""),
    ],
)
def test_where_git_would_say_less_it_is_asked(
    where: str, name: str, value: str, mine: Path, asked: Asked
) -> None:
    """Refs that are hidden, another program, another address."""
    git(mine.parent / where, "config", name, value or (mine.parent / "remote.git").as_uri())
    assert open_repository(mine).pushed("main")
    assert asked.of("ls-remote") == ["ls-remote"]


@pytest.mark.parametrize(
    "name, value",
    [
        ("remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main"),
        ("remote.origin.tagOpt", "--tags"),
    ],
)
def test_other_fetches_are_left_to_git(name: str, value: str, mine: Path, asked: Asked) -> None:
    """Of some branches, or of more than branches and tags."""
    git(mine, "config", name, value)
    open_repository(mine).fetch()
    assert asked.of("fetch") == ["fetch"]


def test_a_remote_that_is_gone_is_an_error(mine: Path, asked: Asked) -> None:
    """And not one that has not moved."""
    repository = open_repository(mine)
    shutil.rmtree(mine.parent / "remote.git")
    with pytest.raises(OutsideError, match="git fetch"):
        repository.fetch()
    with pytest.raises(OutsideError, match="git ls-remote"):
        repository.pushed("main")
    assert asked.of(*NETWORK) == ["fetch", "ls-remote"]
