"""A commit with the changes of a working tree, staged or not.

Untracked files are not part of it. Nothing is written, not even to the index.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tidegate.git.client.process import Git
from tidegate.git.port import Contents
from tidegate.git.tree_port import identity_of


class WorkingFiles:
    """The files of commits, those that differ taken from a working tree."""

    def __init__(self, folder: Path, root: Path, committed: Contents) -> None:
        self._git, self._root, self._committed = Git(folder), root, committed
        self._known: dict[str, dict[str, bytes | None]] = {}

    def files(self, commit: str) -> dict[str, str]:
        """Every file that is there."""
        changed = self._changed(commit)
        old = {
            path: each
            for path, each in self._committed.files(commit).items()
            if path not in changed
        }
        new = {path: identity_of(raw) for path, raw in changed.items() if raw is not None}
        return dict(sorted({**old, **new}.items()))

    def read(self, commit: str, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """From the working tree, or from the commit."""
        changed = self._changed(commit)
        for path in paths:
            raw = changed.get(path)
            if raw is not None:
                yield path, raw
            else:
                yield from self._committed.read(commit, (path,))

    def holding(self, commit: str, *texts: str, under: str = "") -> tuple[str, ...]:
        """Those of the commit that are the same, and those that are not and hold it."""
        changed = self._changed(commit)
        below = f"{under}/" if under else ""
        old = self._committed.holding(commit, *texts, under=under)
        found = {path for path in old if path not in changed}
        for path, raw in changed.items():
            if raw is None or not path.startswith(below):
                continue
            if any(text.encode() in raw for text in texts):
                found.add(path)
        return tuple(sorted(found))

    def _changed(self, commit: str) -> dict[str, bytes | None]:
        """What differs, and what is there instead; None: nothing is."""
        if commit not in self._known:
            asked = ("diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", commit, "--")
            names = self._git.ask(*asked).split(b"\0")[:-1]
            self._known[commit] = {
                os.fsdecode(name): _regular(self._root / os.fsdecode(name)) for name in names
            }
        return self._known[commit]


def _regular(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None
