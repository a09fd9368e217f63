"""A tree of files as it was at one moment: which there are, what each is, and their bytes.

The identity of a file is the hash that Git gives to its content, in any kind of tree, so that a
cached result of a file is found again at any path.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha1
from typing import Protocol

# How the names of files end that are read.
ENDINGS = (".yml", ".yaml")


class Tree(Protocol):
    """Files by their path from the root of a bundle, `clusters/prod-1/cluster.yml`."""

    @property
    def prefix(self) -> str:
        """The prefix that makes a path one that people can open; may be empty."""
        ...

    def files(self) -> Mapping[str, str]:
        """The identity of every file to be read, by path, in order of the paths."""
        ...

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of some files, in the given order."""
        ...


def identity_of(content: bytes) -> str:
    """What Git calls a content. It finds what was worked out before; it protects nothing."""
    head = b"blob %d\0" % len(content)
    return sha1(head + content, usedforsecurity=False).hexdigest()


def is_read(path: str) -> bool:
    """Whether a file is part of a bundle: YAML, and neither it nor a folder above is hidden."""
    return path.endswith(ENDINGS) and not path.startswith(".") and "/." not in path
