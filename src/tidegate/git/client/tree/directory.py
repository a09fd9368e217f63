"""A directory as a tree of files; links are not followed, as Git follows none."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tidegate.git.tree_port import ENDINGS, identity_of
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

# The folder of the data in a bundle that has other folders too.
DATA = "data"
# Nearly every file is read in one go.
AT_ONCE = 1 << 16


class DirectoryTree:
    """Every YAML file below a directory, or below its folder `data` if it has one."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            problem = Problem(str(folder), "no such directory", "name the bundle's directory")
            raise UserError((problem,))
        self._root = folder / DATA if (folder / DATA).is_dir() else folder
        # Contents read to compute identities; kept until they are read.
        self._held: dict[str, bytes] = {}

    @property
    def prefix(self) -> str:
        """The directory as it was named."""
        return "" if self._root == Path() else f"{self._root.as_posix().rstrip('/')}/"

    def files(self) -> dict[str, str]:
        """Read every file to compute its identity."""
        found: dict[str, str] = {}
        root = str(self._root)
        for path in sorted(_paths(root)):
            content = _bytes(f"{root}/{path}")
            self._held[path] = content
            found[path] = identity_of(content)
        return found

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes that were identified, so that nothing changes in between."""
        for path in paths:
            held = self._held.get(path)
            yield path, _bytes(f"{self._root}/{path}") if held is None else held


class FilesTree:
    """Some files, each by the name it was given."""

    prefix = ""

    def __init__(self, paths: Sequence[Path]) -> None:
        for each in paths:
            if not each.is_file():
                raise UserError((Problem(str(each), "no such file", "name files that there are"),))
        self._held = {path.as_posix(): _bytes(str(path)) for path in paths}

    def files(self) -> dict[str, str]:
        """Every one of them."""
        return {path: identity_of(self._held[path]) for path in sorted(self._held)}

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes that were identified."""
        for path in paths:
            yield path, self._held[path]


def _paths(root: str) -> Iterator[str]:
    waiting = [("", root)]
    while waiting:
        below, folder = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                if name.endswith(ENDINGS) and entry.is_file(follow_symlinks=False):
                    yield below + name
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append((f"{below}{name}/", entry.path))


def _bytes(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        content = os.read(descriptor, AT_ONCE)
        if len(content) == AT_ONCE:
            while more := os.read(descriptor, AT_ONCE):
                content += more
        return content
    finally:
        os.close(descriptor)
