"""What a commit has: every entry by its path, with its mode and the name of its content."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from tidegate.git.client.process import Git, decoded
from tidegate.git.tree_port import identity_of

PLAIN = "100644"
# An executable is a regular file; a link and another repository are not.
REGULAR = (PLAIN, "100755")
# How long the names of objects are in a repository of the newer kind.
_SHA256_LENGTH = 64


class TreeEntry(msgspec.Struct, frozen=True, gc=False):
    """One entry of a tree that is not a tree itself."""

    mode: str
    blob: str

    @property
    def regular(self) -> bool:
        """Whether it is a file."""
        return self.mode in REGULAR


def listing(git: Git, place: str) -> dict[str, TreeEntry] | None:
    """Every entry at and below `COMMIT` or `COMMIT:FOLDER`, by path, in order; None: no such."""
    listed = git.run("ls-tree", "-r", "-z", "--full-tree", place)
    if listed.returncode:
        return None
    found: dict[str, TreeEntry] = {}
    for entry in listed.stdout.split(b"\0")[:-1]:
        head, _, name = entry.partition(b"\t")
        mode, _, blob = head.decode().split(" ")
        found[decoded(name)] = TreeEntry(mode, blob)
    return dict(sorted(found.items()))


def with_changes(
    entries: Mapping[str, TreeEntry], files: Mapping[str, bytes | None], commit: str
) -> dict[str, TreeEntry]:
    """What a commit has once some files are others; a file that was there keeps its mode."""
    changed = dict(entries)
    for path, content in files.items():
        if content is None:
            changed.pop(path, None)
        else:
            mode = entries[path].mode if path in entries else PLAIN
            changed[path] = TreeEntry(mode, blob_of(content, commit))
    return changed


def blob_of(content: bytes, commit: str) -> str:
    """What a content is called in the repository of a commit."""
    if len(commit) == _SHA256_LENGTH:
        return sha256(b"blob %d\0" % len(content) + content).hexdigest()
    return identity_of(content)
