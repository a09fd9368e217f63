"""Every tree of files answers alike: a directory, a revision in Git, and the one tests use."""

from pathlib import Path

import pytest

from tests.bundles import INVENTORY, MemoryTree
from tests.git_repos import git
from tidegate.git.client.tree.directory import DirectoryTree
from tidegate.git.client.tree.git import GitTree
from tidegate.git.tree_port import Tree
from tidegate.machine.file_cache import NoCache
from tidegate.model.errors import UserError
from tidegate.wiring.bundles import read_bundle

OTHERS = {
    ".hidden/a.yml": "a: b\n",
    ".b.yml": "a: b\n",
    "c/.d/e.yml": "a: b\n",
    "README.md": "# no\n",
    "f.json": "{}\n",
    "été.yml": "name: é\n",
    "empty.yml": "",
}
FILES = {**INVENTORY, **OTHERS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository whose first commit has all files, with a link among them."""
    work = tmp_path / "work"
    for path, text in FILES.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text, encoding="utf-8")
    (work / "link.yml").symlink_to("empty.yml")
    git(tmp_path, "init", "-q", str(work))
    git(work, "add", "-A")
    git(work, "commit", "-qm", "first")
    return work


@pytest.fixture(params=["directory", "git", "bare", "memory"])
def tree(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Tree:
    """The same files, kept by everyone."""
    if request.param == "directory":
        return DirectoryTree(folder)
    if request.param == "memory":
        return MemoryTree(FILES)
    if request.param == "git":
        (folder / "empty.yml").write_text("changed: since\n")
        return GitTree(folder, "HEAD")
    git(tmp_path, "clone", "-q", "--bare", str(folder), str(tmp_path / "bare.git"))
    return GitTree(tmp_path / "bare.git", "main")


def test_files_are_those_of_a_bundle_in_order(tree: Tree) -> None:
    """YAML files, none that is hidden or a link, by path."""
    wanted = sorted([*INVENTORY, "empty.yml", "été.yml"])
    assert list(tree.files()) == wanted


def test_a_file_is_called_what_git_calls_it(tree: Tree, folder: Path) -> None:
    """The one who keeps it."""
    for path, identity in tree.files().items():
        assert identity == git(folder, "rev-parse", f"HEAD:{path}")


def test_bytes_are_those_that_were_identified(tree: Tree) -> None:
    """In the order asked for, as often as asked for."""
    tree.files()
    paths = ["été.yml", "empty.yml", "ocm/production.yml", "été.yml"]
    assert list(tree.read(paths)) == [(path, FILES[path].encode()) for path in paths]


def test_a_bundle_is_the_same_from_everywhere(tree: Tree) -> None:
    """The model and everything that is found."""
    assert read_bundle(tree, NoCache()) == read_bundle(MemoryTree(FILES), NoCache())


def test_a_revision_is_what_it_was(folder: Path) -> None:
    """Neither the working tree nor a later commit shows in it."""
    first = GitTree(folder, "HEAD")
    (folder / "tiny.yml").write_text("a: b\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "second")
    assert "tiny.yml" not in first.files()
    assert "tiny.yml" in GitTree(folder, "HEAD").files()
    assert "tiny.yml" not in GitTree(folder, "HEAD~1").files()


def test_the_folder_data_is_the_root_where_there_is_one(folder: Path) -> None:
    """As bundles have it that keep other things beside."""
    (folder / "data").mkdir()
    (folder / "data" / "x.yml").write_text("a: b\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "data")
    for tree in (DirectoryTree(folder), GitTree(folder, "HEAD")):
        assert list(tree.files()) == ["x.yml"]
        assert tree.prefix.endswith("data/")


def test_a_folder_of_a_repository_may_be_the_bundle(folder: Path) -> None:
    """Its place in the revision is what is read."""
    tree = GitTree(folder / "clusters", "HEAD")
    assert "tiny/cluster.yml" in tree.files()
    assert tree.prefix == "clusters/"


@pytest.mark.parametrize("revision", ["nonsense", "--output=x", "HEAD:empty.yml", ""])
def test_a_revision_that_is_none_is_refused(folder: Path, revision: str) -> None:
    """Also one that looks like an option."""
    with pytest.raises(UserError, match=r"revision|branch"):
        GitTree(folder, revision)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(UserError, match="nowhere: no such directory"):
        DirectoryTree(tmp_path / "nowhere")


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    """In the words of git."""
    with pytest.raises(UserError, match=r"not in a Git repository|no revision"):
        GitTree(tmp_path, "HEAD")
