"""A tree of files as it was at one moment: which there are, what each is, and their bytes.

A file's identity is the one Git gives to its content, whoever keeps it, so that what was worked out
of a file once is found again wherever the file stands.
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
        """What stands before a path to make it one that people can open; may be empty."""
        ...

    def files(self) -> Mapping[str, str]:
        """The identity of every file to be read, by path, in order of the paths."""
        ...

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of some of the files, in the order asked for."""
        ...


def identity_of(content: bytes) -> str:
    """What Git calls a content. It finds what was worked out before; it protects nothing."""
    head = b"blob %d\0" % len(content)
    return sha1(head + content, usedforsecurity=False).hexdigest()


def is_read(path: str) -> bool:
    """Whether a file is part of a bundle: YAML, and neither it nor a folder above is hidden."""
    return path.endswith(ENDINGS) and not path.startswith(".") and "/." not in path
