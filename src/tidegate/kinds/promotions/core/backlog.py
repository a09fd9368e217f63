"""Commits that are merged and not promoted: author, age, and the environments without them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tidegate.git.history import Commit
from tidegate.model.time import Instant

# What git writes into the message of a revert.
_REVERTS = re.compile(r"^This reverts (?:the )?commit ([0-9a-f]{7,64})\b", re.MULTILINE)
# The commits that a merge brought in, by its name; none: it is no merge, or not known.
MergedIn = Callable[[str], Sequence[str]]


class PendingCommit(msgspec.Struct, frozen=True):
    """A commit that some environments do not have yet."""

    commit: Commit
    # Environments without it, in the order of the promotion.
    missing: tuple[str, ...]


def pending_in(lacks: Mapping[str, Iterable[Commit]]) -> tuple[PendingCommit, ...]:
    """Every commit that an environment lacks, by author, each author's oldest first."""
    commits: dict[str, Commit] = {}
    missing: dict[str, list[str]] = {}
    for environment, some in lacks.items():
        for commit in some:
            commits[commit.sha] = commit
            where = missing.setdefault(commit.sha, [])
            if environment not in where:
                where.append(environment)
    found = (PendingCommit(commit, tuple(missing[sha])) for sha, commit in commits.items())
    return tuple(sorted(found, key=_order))


def without_reverted(
    commits: Sequence[Commit], merged_in: MergedIn = lambda _: ()
) -> tuple[Commit, ...]:
    """Commits, newest first, without those that a later one of them reverts, and its revert.

    Neither changes anything where both are missing. A revert of what is there already stays, and
    so does a commit whose revert is reverted.
    """
    names = [each.sha for each in commits]
    gone: set[str] = set()
    for commit in commits:
        if commit.sha in gone:
            continue
        undone: list[str] = []
        for name in _REVERTS.findall(commit.body):
            own = [sha for sha in names if sha.startswith(name)]
            undone += own or merged_in(name)
        if undone and all(sha in names and sha not in gone for sha in undone):
            gone.update((commit.sha, *undone))
    return tuple(each for each in commits if each.sha not in gone)


def _order(pending: PendingCommit) -> tuple[str, str, Instant, str]:
    commit = pending.commit
    return commit.author.lower(), commit.email.lower(), commit.at, commit.sha


def overdue(some: Iterable[PendingCommit], before: Instant) -> tuple[PendingCommit, ...]:
    """Those that were merged before a moment."""
    return tuple(each for each in some if each.commit.at <= before)
