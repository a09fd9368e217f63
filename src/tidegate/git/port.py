"""A Git repository as Tidegate sees it: revisions, who changed what, and a way to offer a change.

Whoever is asked answers in the calling thread. What is asked may fail with OutsideError; what names
nothing there is a UserError. Nothing here touches anybody's working tree or index.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from tidegate.git.history import Ancestry, Commit

__all__ = ["Ancestry", "Commit", "Contents", "Repository"]


class Contents(Protocol):
    """What commits have in them."""

    def files(self, commit: str) -> Mapping[str, str]:
        """The identity of every regular file, by its path from the root, in order."""
        ...

    def read(self, commit: str, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of some files, in the order asked for."""
        ...

    def holding(self, commit: str, *texts: str, under: str = "") -> tuple[str, ...]:
        """The paths of all text files with one of the texts in them, at and below a folder, in
        order.
        """
        ...


class Repository(Contents, Protocol):
    """One repository: somebody's clone, or a mirror that is kept of another one."""

    @property
    def url(self) -> str:
        """Where it is pushed to and fetched from, without any credentials; empty: nowhere."""
        ...

    @property
    def user(self) -> str:
        """The address of whoever commits here, as git knows it; empty: nobody is named."""
        ...

    @property
    def prefix(self) -> str:
        """Where in it the folder is that it was opened at: `data/`; empty: at its root."""
        ...

    def fetch(self) -> None:
        """Learn what its remote has now; nothing to do where there is no remote."""
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
        """The full name of a commit, from a branch, a tag, or whatever else Git reads as one."""
        ...

    def ancestry(self, old: str, new: str) -> Ancestry:
        """How the new commit stands to the old one."""
        ...

    def show(self, commit: str) -> Commit:
        """One commit by its full name."""
        ...

    def between(self, old: str, new: str) -> tuple[Commit, ...]:
        """The commits in the new one that are not in the old one, the newest first, no merges."""
        ...

    def reverted(self, commit: str, onto: str) -> Mapping[str, bytes | None]:
        """The files that undo a commit on top of another; UserError if what came after is in the
        way. Of a merge, what it brought in is undone. None takes a file away.
        """
        ...

    def last_change(self, commit: str, path: str, line: int) -> Commit:
        """Who wrote a line of a file, counted from 1, as it stands in a commit."""
        ...

    def commit(
        self, branch: str, parent: str, files: Mapping[str, bytes | None], message: str
    ) -> str:
        """Make a branch here of one commit on a parent, in the name of git's user; its name.

        None takes a file away. The same content, parent, message and user make the same commit as
        long as `branch` already has it: it is found, not made again.
        """
        ...

    def here(self, branch: str) -> str:
        """The commit a branch has here, whatever the remote has; empty: there is none."""
        ...

    def push(self, branch: str, commit: str, expected: str) -> None:
        """Put a branch of the remote at a commit if it is still at `expected`; empty: not there.

        StaleError if it has something else: somebody pushed meanwhile, and is never overwritten.
        """
        ...

    def pushed(self, branch: str) -> str:
        """The commit the remote has a branch at just now, asked anew; empty: it has no such.

        That commit can be read here from then on.
        """
        ...
