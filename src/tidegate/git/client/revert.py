"""What undoes a commit on top of a later one, worked out without a checkout.

It is a merge: one side is the newest, the other a commit right upon the one to be undone that goes
back to what was there before. What both began with is the commit itself.
"""

from collections.abc import Mapping

from tidegate.git.client.process import Git, decoded
from tidegate.git.client.tree_entries import listing
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.problem import Problem


def undoing(git: Git, commit: str, onto: str) -> Mapping[str, bytes | None]:
    """The files that differ from `onto` once a commit is undone; None: the file goes."""
    before = git.line("rev-parse", "--verify", "--quiet", f"{commit}^1")
    if not before:
        raise _wrong(commit, "has nothing before it", "name a later one")
    # No branch contains this commit.
    who = ("-c", "user.name=tidegate", "-c", "user.email=tidegate@localhost")
    back = git.line(*who, "commit-tree", f"{before}^{{tree}}", "-p", commit, "-m", "back")
    merge = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages")
    done = git.run(*merge, onto, back)
    output = decoded(done.stdout).split("\0")
    if done.returncode == 1:
        files = ", ".join(sorted({each for each in output[1:] if each})[:5])
        raise _wrong(commit, f"later changes of {files} are in the way", "revert it by hand")
    if done.returncode:
        raise OutsideError(f"git merge-tree: {git.said(done)}")
    old, new = (listing(git, place) or {} for place in (onto, output[0]))
    changed = [path for path, entry in new.items() if old.get(path) != entry]
    contents = dict(git.contents((path, new[path].blob) for path in changed))
    return {**contents, **{path: None for path in old if path not in new}}


def _wrong(commit: str, what: str, remedy: str) -> UserError:
    return UserError((Problem(commit[:10], what, remedy),))
