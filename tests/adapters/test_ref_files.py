"""Refs read as files are what git lists; where they may not be, git is asked."""

import shutil
from pathlib import Path

import pytest

from tests.forge.bare import bare_repository, git
from tests.git_repos import copied
from tidegate.git.client.ref_files import led_to, ref_files

PLACES = ("refs/tidegate/forge", "refs/heads", "refs/merge-requests")
FORM = "--format=%(objectname) %(refname)"


def _make(folder: Path) -> None:
    bare = bare_repository(folder / "a.git")
    names = ("heads/a/b.c", "heads/a-b", "tidegate/forge", "merge-requests/1/head", "tags/v1")
    git(bare, "update-ref", "--stdin", given="".join(f"create refs/{n} main\n" for n in names))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A repository with refs of every kind, each in a file."""
    copied(tmp_path, _make)
    return tmp_path / "a.git"


def _as_git_says(bare: Path) -> dict[str, str]:
    lines = git(bare, "for-each-ref", FORM, *PLACES).splitlines()
    return {name: commit for commit, name in (line.split(" ") for line in lines)}


def test_files_and_lines_are_refs(bare: Path) -> None:
    """In files; packed; packed and moved or removed since; half written."""
    tag = "git tag -a makes two objects"
    names = ["refs/heads/a-b", "refs/heads/a/b.c", "refs/heads/main", *PLACES[2:], PLACES[0]]
    names[3] += "/1/head"
    assert list(ref_files(bare, *PLACES) or ()) == names
    assert ref_files(bare, *PLACES) == _as_git_says(bare)
    git(bare, "tag", "-a", "-m", tag, "v2", "main")
    git(bare, "pack-refs", "--all")
    assert not (bare / "refs/heads/main").exists()
    assert ref_files(bare, *PLACES) == _as_git_says(bare)
    later = git(bare, "commit-tree", "main^{tree}", "-p", "main", "-m", "later")
    moves = (
        f"update refs/heads/main {later}\ndelete refs/heads/a-b\ncreate refs/heads/new {later}\n"
    )
    git(bare, "update-ref", "--stdin", given=moves)
    (bare / "refs/heads/main.lock").write_text("")
    (bare / "refs/heads/.hidden").write_text("")
    found = ref_files(bare, *PLACES)
    assert found == _as_git_says(bare)
    assert found is not None
    assert found["refs/heads/main"] == later
    assert "refs/heads/a-b" not in found


@pytest.mark.parametrize(
    "path, text",
    [
        ("refs/heads/other", "ref: refs/heads/main\n"),
        ("refs/heads/other", "no commit\n"),
        ("refs/heads/other", "0" * 40 + "\n"),
        ("refs/heads/caf\N{LATIN SMALL LETTER E WITH ACUTE}", "a" * 40 + "\n"),
        ("refs/heads/a..b", "a" * 40 + "\n"),
        ("packed-refs", "a" * 40 + " refs/heads/a@{b\n"),
        ("packed-refs", "a refs/heads/b\n"),
        ("commondir", "../..\n"),
        ("reftable/tables.list", ""),
    ],
)
def test_what_is_unusual_is_left_to_git(path: str, text: str, bare: Path) -> None:
    """Refs that lead elsewhere or nowhere, names of any kind, other ways to keep them."""
    (bare / path).parent.mkdir(exist_ok=True)
    (bare / path).write_text(text)
    assert ref_files(bare, *PLACES) is None


@pytest.mark.parametrize("part", ["HEAD", "objects", "refs"])
def test_a_folder_that_is_no_repository_has_no_refs_to_tell_of(part: str, bare: Path) -> None:
    """Nothing there is not the same as no refs."""
    gone = bare / part
    if gone.is_dir():
        shutil.rmtree(gone)
    else:
        gone.unlink()
    assert ref_files(bare, *PLACES) is None


def test_a_ref_leads_to_another(bare: Path) -> None:
    """It is known with its commit; one that leads nowhere, or is a commit, is left to git."""
    name = "refs/remotes/origin/HEAD"
    git(bare, "symbolic-ref", name, "refs/heads/main")
    main = git(bare, "rev-parse", "main")
    assert led_to(bare, name) == ("refs/heads/main", main)
    git(bare, "pack-refs", "--all")
    assert led_to(bare, name) == ("refs/heads/main", main)
    git(bare, "symbolic-ref", name, "refs/heads/none")
    assert led_to(bare, name) is None
    assert led_to(bare, "refs/tidegate/forge") is None
    assert led_to(bare, "refs/heads/main") is None
