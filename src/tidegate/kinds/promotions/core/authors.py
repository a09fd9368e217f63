"""Commits grouped by author."""

import re
from collections.abc import Iterable

import msgspec

from tidegate.git.history import Commit

_TOGETHER = re.compile(r"^Co-authored-by:\s*(.+?)\s*<([^<>\s]+)>\s*$", re.IGNORECASE | re.MULTILINE)


class Author(msgspec.Struct, frozen=True, kw_only=True):
    """An author and their commits, the newest first."""

    name: str
    email: str
    commits: tuple[Commit, ...]


def authors_of(commits: Iterable[Commit]) -> tuple[Author, ...]:
    """Every author and co-author, those with the most commits first."""
    wrote: dict[str, list[Commit]] = {}
    names: dict[str, tuple[str, str]] = {}
    seen: set[str] = set()
    for commit in sorted(commits, key=lambda each: (-each.at, each.sha)):
        if commit.sha in seen:
            continue
        seen.add(commit.sha)
        together = [(name, email) for name, email in _TOGETHER.findall(commit.body)]
        for name, email in dict.fromkeys([(commit.author, commit.email), *together]):
            key = email.lower() or name
            names.setdefault(key, (name, email))
            if commit not in wrote.setdefault(key, []):
                wrote[key].append(commit)
    found = (Author(name=names[k][0], email=names[k][1], commits=tuple(wrote[k])) for k in wrote)
    return tuple(sorted(found, key=lambda each: (-len(each.commits), each.name, each.email)))
