"""The documents that the functions of this package return; names of fields are public."""

import msgspec

from tidegate.explain.verdict_part import VerdictPart
from tidegate.git.history import Commit
from tidegate.kinds.promotions.core.authors import Author
from tidegate.model.document import Document, Part
from tidegate.model.time import format_second


class CommitPart(Part, frozen=True, kw_only=True):
    """One commit."""

    sha: str
    at: str
    subject: str


class AuthorPart(Part, frozen=True, kw_only=True):
    """An author with their commits, newest first."""

    name: str
    email: str
    commits: tuple[CommitPart, ...]


class EnvironmentPlan(Part, frozen=True, kw_only=True):
    """What happens to one environment, and what every gate says."""

    name: str
    moves: bool
    state: str  # moves, there, waits
    # The version that it is to get: that of the promotion, unless a person requested another.
    version: str
    # The versions that are written now.
    holds: tuple[str, ...]
    verdicts: tuple[VerdictPart, ...]


class VersionEdit(Part, frozen=True, kw_only=True):
    """One line that changes, or would if its environment could move."""

    environment: str
    moves: bool
    file: str
    line: int
    old: str
    new: str
    # The name or namespace of the target, where a file has several.
    target: str | None = msgspec.field(default=None, name="for")


class FollowedBranch(Part, frozen=True, kw_only=True):
    """One line that names a branch, and so is not changed."""

    file: str
    value: str
    environment: str
    target: str | None = msgspec.field(default=None, name="for")


class PinnedShard(Part, frozen=True, kw_only=True):
    """A shard with an image of its own, and where it is written."""

    shard: str
    where: str


class ReachPart(Part, frozen=True, kw_only=True):
    """The shards of one environment that get another image."""

    environment: str
    shards: tuple[str, ...]
    clusters: tuple[str, ...]
    pinned: tuple[PinnedShard, ...]


class AbsentEnvironment(Part, frozen=True, kw_only=True):
    """An environment of the ready-made promotion that the bundle does not have."""

    name: str
    # Where its version was looked for.
    places: tuple[str, ...]


class RemainingLine(Part, frozen=True, kw_only=True):
    """A line that still names a version that the promotion replaces."""

    file: str
    line: int
    value: str


class PromotionPlan(Document, frozen=True, kw_only=True):
    """What a promotion changes, whose work it is, and what every gate says."""

    name: str
    version: str
    # The commit of the bundle that was read, and the repository it is in.
    base: str
    repository: str
    # When it was decided.
    at: str
    image: str | None
    environments: tuple[EnvironmentPlan, ...]
    edits: tuple[VersionEdit, ...]
    left_alone: tuple[FollowedBranch, ...]
    authors: tuple[AuthorPart, ...]
    compare: tuple[str, ...]
    shards: tuple[ReachPart, ...]
    warnings: tuple[str, ...]
    not_found: tuple[AbsentEnvironment, ...] = ()
    # In any file of the repository, whatever its type; places of environments are left out.
    remaining: tuple[RemainingLine, ...] = ()


class RequestPart(Part, frozen=True, kw_only=True):
    """A merge request."""

    number: int
    url: str


class PromotionVersion(Part, frozen=True, kw_only=True):
    """One version in one environment, with every place that names it."""

    promotion: str
    environment: str
    version: str  # as it is written
    # When, in which commit and by which author it was written; None: a branch that is followed.
    since: str | None = None
    commit: str | None = None
    author: str | None = None
    merge_request: RequestPart | None = None
    # How many commits the newest is ahead; None: not known.
    behind: int | None = 0
    places: tuple[str, ...] = ()


class PromotionList(Document, frozen=True, kw_only=True):
    """Which version is in which environment."""

    items: tuple[PromotionVersion, ...]
    warnings: tuple[str, ...] = ()
    # False: a version is unknown, or a place was not found.
    complete: bool = True


class Person(Part, frozen=True, kw_only=True):
    """The author of a commit."""

    name: str
    email: str


class PendingChange(Part, frozen=True, kw_only=True):
    """A commit that is merged, and the environments without it."""

    sha: str
    at: str
    subject: str
    author: Person
    missing: tuple[str, ...]


class PendingList(Document, frozen=True, kw_only=True):
    """What is merged and not promoted."""

    items: tuple[PendingChange, ...]
    # The environments that were read.
    environments: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # False: an environment could not be read, so more may be pending.
    complete: bool = True


class RevertedFile(Part, frozen=True, kw_only=True):
    """A file that a revert sets back, or deletes."""

    path: str
    deleted: bool


class RevertPlan(Document, frozen=True, kw_only=True):
    """What the revert of a commit changes."""

    sha: str
    subject: str
    author: Person
    files: tuple[RevertedFile, ...]


def commit_part(commit: Commit) -> CommitPart:
    """One commit."""
    return CommitPart(sha=commit.sha, at=format_second(commit.at), subject=commit.subject)


def author_part(author: Author) -> AuthorPart:
    """An author with their commits."""
    commits = tuple(map(commit_part, author.commits))
    return AuthorPart(name=author.name, email=author.email, commits=commits)
