"""Tells our commits from those of others: ours name their proposal and a digest of their content.

Two lines end the message:

    Tidegate-Proposal: promote-reconcile-to-production
    Tidegate-Content: 5b1d0b8ae8f2c1e7

A branch on which a commit was added, ours was amended, or something was merged no longer counts as
ours, and is not changed from then on.
"""

from collections.abc import Mapping
from hashlib import sha256

from tidegate.git.port import Commit, Repository

PROPOSAL = "Tidegate-Proposal"
CONTENT = "Tidegate-Content"
# Enough that two contents do not share a digest by accident.
_DIGITS = 16


def message_of(text: str, key: str, changed: Mapping[str, bytes | None]) -> str:
    """The message of the commit that changes some files: title, body, and the two lines."""
    title, _, below = text.strip().partition("\n")
    parts = [title.rstrip(), *([below.strip()] if below.strip() else [])]
    return "\n\n".join([*parts, f"{PROPOSAL}: {key}\n{CONTENT}: {digest_of(changed)}\n"])


def digest_of(changed: Mapping[str, bytes | None]) -> str:
    """A digest of what some files become."""
    digest = sha256()
    for path, content in sorted(changed.items()):
        size = -1 if content is None else len(content)
        digest.update(f"{path}\0{size}\0".encode(errors="surrogateescape"))
        digest.update(content or b"")
    return digest.hexdigest()[:_DIGITS]


def changes_of(
    repository: Repository, base: str, files: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    """The files that differ from what a commit has."""
    there = repository.files(base)
    old = dict(repository.read(base, [path for path in files if path in there]))
    return {path: new for path, new in files.items() if old.get(path) != new}


def stranger(repository: Repository, base: str, at: str, key: str) -> Commit | None:
    """The newest commit of a branch that is not in its target and not ours; None: no such."""
    commits = repository.between(base, at)
    for commit in commits:
        if f"{PROPOSAL}: {key}" not in commit.body.splitlines():
            return commit
    if not commits:
        return None
    # We put exactly one commit on a branch, and merges are not among the commits between.
    ours = commits[0].sha == at and len(commits) == 1 and _unchanged(repository, commits[0])
    return None if ours else commits[0]


def _unchanged(repository: Repository, commit: Commit) -> bool:
    """Whether a commit of ours still has the content that its message names."""
    before = repository.files(repository.resolve(f"{commit.sha}^"))
    after = repository.files(commit.sha)
    paths = [path for path, blob in after.items() if before.get(path) != blob]
    changed: dict[str, bytes | None] = dict.fromkeys(before.keys() - after.keys())
    changed |= repository.read(commit.sha, paths)
    return f"{CONTENT}: {digest_of(changed)}" in commit.body.splitlines()


def is_it(repository: Repository, base: str, at: str, message: str) -> bool:
    """Whether a branch has exactly our commit with this message, and so this content."""
    commits = repository.between(base, at)
    said = [f"{each.subject}\n\n{each.body}\n" for each in commits]
    return said == [message] and repository.resolve(f"{at}^") == base
