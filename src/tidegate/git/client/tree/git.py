"""A revision of a Git repository as a tree of files, read from its objects without a checkout.

Two `git` processes answer for a whole tree: one lists it, one hands out contents as they are asked
for. Nothing is written, no working tree is needed, and a bare repository will do.
"""

import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tidegate.git.client.process import OUTSIDE, Git, decoded
from tidegate.git.client.tree_entries import listing
from tidegate.git.tree_port import is_read
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

DATA = "data/"


class GitTree:
    """Every YAML file of a revision, at and below the place of a directory in its repository."""

    def __init__(self, folder: Path, revision: str, *, must_exist: bool = True) -> None:
        self._git = Git(folder)
        # Whether a revision without the directory is a mistake, and not one from before it.
        self._must_exist = must_exist
        asked = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        found = self._git.run("rev-parse", *asked)
        if self._git.outside(found):
            raise UserError((Problem(str(folder), OUTSIDE, "name the folder of a clone"),))
        if found.returncode:
            what = self._git.said(found) if found.stderr else f'no revision "{revision}"'
            problem = Problem(str(folder), what, "name a branch, a tag or a commit of it")
            raise UserError((problem,))
        # The commit itself: a branch that moves meanwhile does not matter.
        self.commit = decoded(found.stdout).strip()
        below = self._git.line("rev-parse", "--show-prefix")
        data = f"{self.commit}:{below}{DATA[:-1]}"
        has_data = self._git.line("rev-parse", "--verify", "--quiet", data)
        self._below = f"{below}{DATA}" if has_data else below
        self._blobs: dict[str, str] = {}

    @property
    def prefix(self) -> str:
        """Where in the repository the bundle is."""
        return self._below

    def files(self) -> dict[str, str]:
        """List the revision."""
        place = f"{self.commit}:{self._below.rstrip('/')}" if self._below else self.commit
        found = listing(self._git, place)
        if found is None and self._must_exist:
            problem = Problem(self._below, "not in this revision", "name a folder that is")
            raise UserError((problem,), where=self.commit)
        self._blobs = {
            path: each.blob
            for path, each in (found or {}).items()
            if each.regular and is_read(path)
        }
        return self._blobs

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Read contents in batches, through one process."""
        return self._git.contents((path, self._blobs[path]) for path in paths)


def merge_base(folder: Path, one: str, other: str) -> str:
    """The commit where two revisions parted; UserError if one is not there, or they never met."""
    ends = [GitTree(folder, each).commit for each in (one, other)]
    found = Git(folder).line("merge-base", *ends)
    if not found:
        what = f"{one} and {other} have no common commit here"
        remedy = "fetch the history between them (`git fetch --unshallow`)"
        raise UserError((Problem(str(folder), what, remedy),))
    return found


def file_at(folder: Path, revision: str, name: str) -> bytes | None:
    """A file at the root of the repository a directory is in; None: it has no such."""
    found = Git(folder).run("cat-file", "blob", f"{revision}:{name}")
    return None if found.returncode else found.stdout


def root_of(folder: Path) -> Path | None:
    """Where the repository of a directory has its files; None: nowhere."""
    found = Git(folder).line("rev-parse", "--show-toplevel")
    return Path(found) if found else None


def changed_files(folder: Path, base: str, head: str | None) -> tuple[str, ...]:
    """Every file that differs, by its path from the root of the repository, in order.

    None for the head: the working tree, with what is new in it and not ignored.
    """
    git = Git(root_of(folder) or folder)
    ends = [base] if head is None else [base, head]
    listed = git.ask("diff", "--name-only", "--no-renames", "-z", *ends, "--")
    if head is None:
        listed += git.ask("ls-files", "--others", "--exclude-standard", "-z")
    return tuple(sorted({decoded(path) for path in listed.split(b"\0") if path}))


def write_out(folder: Path, revision: str, into: Path) -> None:
    """Write the files of a revision, at and below a directory, into another one."""
    into.mkdir(parents=True, exist_ok=True)
    packed = into.with_name(f"{into.name}.tar")
    Git(folder).ask("archive", "--format=tar", f"--output={packed.resolve()}", revision)
    with tarfile.open(packed) as archive:
        archive.extractall(into, filter="data")
    packed.unlink()


def branch_of(folder: Path) -> str:
    """The branch that is checked out in a directory; empty: none is."""
    head = Git(folder).line("symbolic-ref", "--quiet", "HEAD")
    return head.removeprefix("refs/heads/")
