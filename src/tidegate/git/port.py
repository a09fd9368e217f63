"""The port of a Git repository: revisions, authors of changes, and a way to offer a change.

Calls block the calling thread. A call may fail with OutsideError; a name that does not exist is a
UserError. Nothing here changes a working tree or an index.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from tidegate.git.history import Ancestry, Commit

__all__ = ["Ancestry", "Commit", "Contents", "Repository"]


class Contents(Protocol):
    """The files of commits."""

    def files(self, commit: str) -> Mapping[str, str]:
        """The identity of every regular file, by its path from the root, in order."""
        ...

    def read(self, commit: str, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of some files, in the given order."""
        ...

    def holding(self, commit: str, *texts: str, under: str = "") -> tuple[str, ...]:
        """The paths of all text files with one of the texts in them, at and below a folder, in
        order.
        """
        ...


class Repository(Contents, Protocol):
    """One repository: a user's clone, or a mirror of a remote."""

    @property
    def url(self) -> str:
        """The address it is pushed to and fetched from, without credentials; empty: no remote."""
        ...

    @property
    def user(self) -> str:
        """The email address of the committer, as git knows it; empty: none is set."""
        ...

    @property
    def prefix(self) -> str:
        """Where in it the folder is that it was opened at: `data/`; empty: at its root."""
        ...

    def fetch(self) -> None:
        """Fetch from the remote; does nothing where there is no remote."""
        ...

    def branch(self) -> str:
        """The name of the branch that changes are merged into: `main`."""
        ...

    def tip(self, branch: str = "") -> str:
        """The commit a branch has at the remote as of the last fetch, or here without a remote.

        The empty name is the branch that changes are merged into.
        """
        ...

    def resolve(self, revision: str) -> str:
        """The full name of a commit, from a branch, a tag, or any other revision of Git."""
        ...

    def ancestry(self, old: str, new: str) -> Ancestry:
        """How the new commit relates to the old one."""
        ...

    def show(self, commit: str) -> Commit:
        """One commit by its full name."""
        ...

    def between(self, old: str, new: str) -> tuple[Commit, ...]:
        """The commits in the new one that are not in the old one, the newest first, no merges."""
        ...

    def reverted(self, commit: str, onto: str) -> Mapping[str, bytes | None]:
        """The files that undo a commit on top of another; UserError if later changes conflict.

        Of a merge, the merged commits are undone. None deletes a file.
        """
        ...

    def last_change(self, commit: str, path: str, line: int) -> Commit:
        """The commit that last changed a line of a file, counted from 1, as of a commit."""
        ...

    def commit(
        self, branch: str, parent: str, files: Mapping[str, bytes | None], message: str
    ) -> str:
        """Create a branch here with one commit on a parent, by the user of git; its name.

        None deletes a file. The same content, parent, message and user make the same commit as
        long as `branch` already has it: it is found, not created again.
        """
        ...

    def here(self, branch: str) -> str:
        """The commit of a local branch; empty: there is none."""
        ...

    def push(self, branch: str, commit: str, expected: str) -> None:
        """Put a branch of the remote at a commit if it is still at `expected`; empty: not there.

        StaleError if it has another commit: a push of others is never overwritten.
        """
        ...

    def pushed(self, branch: str) -> str:
        """The commit of a branch at the remote, read now; empty: it has no such branch.

        That commit can be read here from then on.
        """
        ...
