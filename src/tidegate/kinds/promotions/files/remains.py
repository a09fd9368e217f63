"""Finds where a version that is replaced still stands, in every file of a repository.

Places are searched for by what they are; a version may also stand where no place is declared: in a
template, in JSON, in a list of names and values, in a block of text. So the text itself is looked
for, whatever the file is, in the contents that the change leaves behind.
"""

import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from tidegate.git.history import SHORT
from tidegate.git.port import Contents


class RemainingVersion(msgspec.Struct, frozen=True):
    """One line with a version that is replaced elsewhere."""

    file: str
    line: int
    value: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.value[:SHORT]}"


def remains(
    repository: Contents,
    commit: str,
    versions: Collection[str],
    edited: Mapping[str, bytes],
    known: Collection[tuple[str, int]],
) -> tuple[RemainingVersion, ...]:
    """The lines of all text files that name one of the versions, in full or abbreviated.

    `edited` are the contents that files are given, `known` the lines of places that have their own
    environment; all paths are from the root of the repository.
    """
    if not versions:
        return ()
    shorts = {version[:SHORT] for version in versions}
    paths = repository.holding(commit, *sorted(shorts))
    pattern = re.compile(rf"(?<![0-9a-f])(?:{'|'.join(sorted(shorts))})[0-9a-f]*")
    found: list[RemainingVersion] = []
    for path, data in repository.read(commit, paths):
        text = edited.get(path, data).decode(errors="replace")
        for number, value in _values(text, pattern):
            is_meant = any(each.startswith(value) or value.startswith(each) for each in versions)
            if is_meant and (path, number) not in known:
                found.append(RemainingVersion(path, number, value))
    return tuple(found)


def _values(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The first match of every line, with the number of the line."""
    for number, line in enumerate(text.split("\n"), 1):
        if match := pattern.search(line):
            yield number, match[0]
