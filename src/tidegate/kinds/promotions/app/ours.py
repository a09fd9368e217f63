"""How a commit on a branch is known to be ours: it says so, and has still what it says.

Two lines at the end of its message name the proposal and the content:

    Tidegate-Proposal: promote-reconcile-to-production
    Tidegate-Content: 5b1d0b8ae8f2c1e7

Whoever adds a commit, amends ours or merges something into the branch makes it theirs, and it is
left alone from then on.
"""

from collections.abc import Mapping
from hashlib import sha256

from tidegate.git.port import Commit, Repository

PROPOSAL = "Tidegate-Proposal"
CONTENT = "Tidegate-Content"
# Enough that nobody meets the same by accident.
_DIGITS = 16


def message_of(text: str, key: str, changed: Mapping[str, bytes | None]) -> str:
    """The message of the commit that changes some files: a title, what is below it, whose it is."""
    title, _, below = text.strip().partition("\n")
    parts = [title.rstrip(), *([below.strip()] if below.strip() else [])]
    return "\n\n".join([*parts, f"{PROPOSAL}: {key}\n{CONTENT}: {digest_of(changed)}\n"])


def digest_of(changed: Mapping[str, bytes | None]) -> str:
    """A short name for what some files become."""
    digest = sha256()
    for path, content in sorted(changed.items()):
        size = -1 if content is None else len(content)
        digest.update(f"{path}\0{size}\0".encode(errors="surrogateescape"))
        digest.update(content or b"")
    return digest.hexdigest()[:_DIGITS]


def changes_of(
    repository: Repository, base: str, files: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    """Of some files those that would differ from what a commit has."""
    there = repository.files(base)
    old = dict(repository.read(base, [path for path in files if path in there]))
    return {path: new for path, new in files.items() if old.get(path) != new}


def stranger(repository: Repository, base: str, at: str, key: str) -> Commit | None:
    """The newest commit of a branch that its target has not and that is not ours; None: no such."""
    commits = repository.between(base, at)
    for commit in commits:
        if f"{PROPOSAL}: {key}" not in commit.body.splitlines():
            return commit
    if not commits:
        return None
    # One commit is all that we ever put on a branch, and a merge is none of the commits between.
    ours = commits[0].sha == at and len(commits) == 1 and _unchanged(repository, commits[0])
    return None if ours else commits[0]


def _unchanged(repository: Repository, commit: Commit) -> bool:
    """Whether a commit of ours changes still what it did when we made it."""
    before = repository.files(repository.resolve(f"{commit.sha}^"))
    after = repository.files(commit.sha)
    paths = [path for path, blob in after.items() if before.get(path) != blob]
    changed: dict[str, bytes | None] = dict.fromkeys(before.keys() - after.keys())
    changed |= repository.read(commit.sha, paths)
    return f"{CONTENT}: {digest_of(changed)}" in commit.body.splitlines()


def is_it(repository: Repository, base: str, at: str, message: str) -> bool:
    """Whether a commit of ours is the one with a message, and so a content, on a parent."""
    commits = repository.between(base, at)
    said = [f"{each.subject}\n\n{each.body}\n" for each in commits]
    return said == [message] and repository.resolve(f"{at}^") == base
