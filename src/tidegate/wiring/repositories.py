"""Files and commits: trees of bundles, Git repositories here and elsewhere, and their mirrors."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.git.client.remote_heads import RemoteHeads
    from tidegate.git.port import Contents, Repository
    from tidegate.git.tree_port import Tree


def open_tree(
    folder: Path, revision: str | None = None, *, must_exist: bool = True, only: Sequence[Path] = ()
) -> "Tree":
    """The files of a bundle: in a directory, or in a revision of its repository; or some alone.

    A revision that does not have the directory has no files, if it need not exist.
    """
    from tidegate.git.client.tree.directory import DirectoryTree, FilesTree
    from tidegate.git.client.tree.git import GitTree

    if revision is not None:
        return GitTree(folder, revision, must_exist=must_exist)
    return FilesTree(only) if only else DirectoryTree(folder)


def parting(folder: Path, base: str, head: str | None) -> str:
    """The commit where a head left its base; a working tree left it where its commit did."""
    from tidegate.git.client.tree.git import merge_base

    return merge_base(folder, base, head or "HEAD")


def root_file(folder: Path, revision: str | None, name: str) -> bytes | None:
    """A file at the root of the repository of a bundle, read or not; None: there is no such."""
    from tidegate.git.client.tree.git import file_at, root_of

    if revision is not None:
        return file_at(folder, revision, name)
    path = (root_of(folder) or folder) / name
    return path.read_bytes() if path.is_file() else None


def branch_here(folder: Path) -> str:
    """The branch that is checked out in a directory; empty: none is."""
    from tidegate.git.client.tree.git import branch_of

    return branch_of(folder)


def repository(folder: Path) -> "Repository":
    """The Git repository that a folder is in, with its remote; UserError if it is in none."""
    from tidegate.git.client.repository import open_repository

    return open_repository(folder)


def working_tree(folder: Path) -> Path | None:
    """Where the repository that a folder is in has its files; None: it has none, or is none."""
    from tidegate.git.client.tree.git import root_of

    return root_of(folder)


def working_files(folder: Path, committed: "Contents") -> "Contents":
    """What commits of a repository have, with what is changed in the working tree of a folder."""
    from tidegate.git.client.working_files import WorkingFiles

    return WorkingFiles(folder, working_tree(folder) or folder, committed)


def write_files(root: Path, old: Mapping[str, bytes], new: Mapping[str, bytes | None]) -> None:
    """Change files below a folder that have still what was read; else StaleError, and none is."""
    from tidegate.git.client.tree.file_writer import write_files

    write_files(root, old, new)


def read_head(url: str, branch: str) -> str:
    """The newest commit of a branch of a repository elsewhere."""
    return _remote_heads()(url, branch)


@lru_cache(maxsize=1)
def _remote_heads() -> "RemoteHeads":
    from tidegate.git.client.remote_heads import RemoteHeads

    return RemoteHeads(Path.cwd())


def mirror(url: str) -> "Repository":
    """A mirror of a Git repository, kept on this machine; the first time it is fetched whole.

    Commits and trees are kept, contents are fetched as they are asked for.
    """
    from tidegate.git.client.mirror import open_mirror
    from tidegate.machine.file_cache import cache_path

    return open_mirror(url, cache_path().parent / "mirrors")


def changed_files(folder: Path, base: str, head: str | None) -> tuple[str, ...]:
    """Every file of the repository of a bundle that differs, read or not, by its path in it."""
    from tidegate.git.client.tree.git import changed_files as changed

    return changed(folder, base, head)


def write_out(folder: Path, revision: str, into: Path) -> None:
    """Write what a revision has of a bundle's directory into another one."""
    from tidegate.git.client.tree.git import write_out as write

    write(folder, revision, into)
