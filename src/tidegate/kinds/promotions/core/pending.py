"""What is merged and not promoted yet: whose work it is, for how long, and where it is missing."""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.git.history import Commit
from tidegate.model.time import Instant


class Pending(msgspec.Struct, frozen=True):
    """A commit that some environments do not have."""

    commit: Commit
    # Where it is missing, in the order of the pipeline.
    missing: tuple[str, ...]


def pending_in(lacks: Mapping[str, Iterable[Commit]]) -> tuple[Pending, ...]:
    """Every commit that an environment lacks, by author, each author's oldest first."""
    commits: dict[str, Commit] = {}
    missing: dict[str, list[str]] = {}
    for environment, some in lacks.items():
        for commit in some:
            commits[commit.sha] = commit
            where = missing.setdefault(commit.sha, [])
            if environment not in where:
                where.append(environment)
    found = (Pending(commit, tuple(missing[sha])) for sha, commit in commits.items())
    return tuple(sorted(found, key=_order))


def _order(pending: Pending) -> tuple[str, str, Instant, str]:
    commit = pending.commit
    return commit.author.lower(), commit.email.lower(), commit.at, commit.sha


def overdue(some: Iterable[Pending], before: Instant) -> tuple[Pending, ...]:
    """Those that were merged before a moment."""
    return tuple(each for each in some if each.commit.at <= before)
