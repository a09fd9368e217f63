"""Commits that are merged and not promoted: author, age, and the environments without them."""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.git.history import Commit
from tidegate.model.time import Instant


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


def _order(pending: PendingCommit) -> tuple[str, str, Instant, str]:
    commit = pending.commit
    return commit.author.lower(), commit.email.lower(), commit.at, commit.sha


def overdue(some: Iterable[PendingCommit], before: Instant) -> tuple[PendingCommit, ...]:
    """Those that were merged before a moment."""
    return tuple(each for each in some if each.commit.at <= before)
