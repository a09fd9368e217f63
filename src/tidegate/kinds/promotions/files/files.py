"""The files of a repository at one commit, below the folder a bundle is kept in."""

from collections.abc import Iterable

import msgspec

from tidegate.edit.edit import read_original
from tidegate.edit.edits import Original
from tidegate.edit.tree import Node, documents, walk, written_twice
from tidegate.git.port import Contents
from tidegate.kinds.promotions.files.patterns import matches
from tidegate.model.errors import UserError

# Where references between files of a bundle begin, if there is such a folder.
DATA = "data/"


def root_in(prefix: str) -> str:
    """The root of a bundle in its repository, from the folder it was opened at: above `data/`."""
    return prefix.removesuffix(DATA) if prefix == DATA or prefix.endswith(f"/{DATA}") else prefix


class UnreadFile(msgspec.Struct, frozen=True):
    """A file that something depends on and that does not say it, and why."""

    file: str
    why: str
    # It can be read, and has nothing where something should be.
    absent: bool = False


class Files:
    """The files of one commit; each is read once."""

    def __init__(self, repository: Contents, commit: str, root: str = "") -> None:
        self._repository, self._commit = repository, commit
        # In the repository; empty, or with a slash at its end.
        self.root = root
        every = repository.files(commit)
        self.paths = tuple(path.removeprefix(root) for path in every if path.startswith(root))
        self._there = frozenset(self.paths)
        self._data = DATA if any(path.startswith(DATA) for path in self.paths) else ""
        self._read: dict[str, Original] = {}
        self._holding: dict[str, tuple[str, ...]] = {}
        self._problems: dict[str, str] = {}
        self._documents: dict[str, list[Node]] = {}

    def matching(self, pattern: str, without: Iterable[str] = ()) -> tuple[str, ...]:
        """The paths that a pattern matches, in order."""
        if pattern in self._there:
            return (pattern,)
        found = (path for path in self.paths if matches(pattern, path))
        return tuple(p for p in found if not any(matches(each, p) for each in without))

    def expect(self, texts: Iterable[str]) -> None:
        """Search for several texts at once: reading all files is what takes long."""
        wanted = tuple(dict.fromkeys(each for each in texts if each not in self._holding))
        if not wanted:
            return
        every = self._repository.holding(self._commit, *wanted, under=self.root.rstrip("/"))
        for text in wanted:
            self._holding[text] = ()
        for path, data in self._repository.read(self._commit, every):
            for text in wanted:
                if text.encode() in data:
                    self._holding[text] += (path.removeprefix(self.root),)

    def ahead(self, paths: Iterable[str]) -> None:
        """Read files at once that are asked for one by one later, as far as they exist."""
        new = dict.fromkeys(each for each in paths if each in self._there - self._read.keys())
        for _ in self._repository.read(self._commit, [f"{self.root}{each}" for each in new]):
            pass

    def holding(self, text: str) -> tuple[str, ...]:
        """The paths of files with a text in them, in order."""
        self.expect((text,))
        return self._holding[text]

    def read(self, path: str) -> Original | None:
        """A file, ready to be edited; None: there is no such."""
        if path not in self._read:
            data = self.raw(path)
            if data is None:
                return None
            self._read[path] = read_original(path, data)
        return self._read[path]

    def raw(self, path: str) -> bytes | None:
        """The bytes of a file; None: there is no such."""
        if path not in self._there:
            return None
        ((_, data),) = self._repository.read(self._commit, (f"{self.root}{path}",))
        return data

    def text(self, path: str) -> str:
        """A file as far as it is text: to search in one that cannot be read otherwise."""
        return (self.raw(path) or b"").decode(errors="replace")

    def documents(self, path: str) -> list[Node]:
        """The YAML documents of a file, read once; none if it does not exist or is not YAML."""
        self.problem(path)
        return self._documents[path]

    def problem(self, path: str) -> str:
        """Why a file cannot be read as YAML, and where; empty: it can."""
        if path not in self._problems:
            self._problems[path], self._documents[path] = "", []
            try:
                original = self.read(path)
                if original is not None:
                    self._documents[path] = _unambiguous(path, documents(path, original.text))
            except UserError as error:
                self._problems[path] = str(error)
        return self._problems[path]

    def referred(self, reference: str) -> str:
        """The path of the file that `$ref: /…` names."""
        return f"{self._data}{reference.lstrip('/')}"


def _unambiguous(path: str, roots: list[Node]) -> list[Node]:
    """The same documents; UserError if a key is written twice: which value is read differs."""
    for root in roots:
        for node in walk(root):
            seen: dict[str, Node] = {}
            for key in (each for each in node.keys if each.kind == "scalar"):
                if key.value in seen:
                    raise UserError((written_twice(path, seen[key.value], key),))
                seen[key.value] = key
    return roots
