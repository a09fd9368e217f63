"""A commit has what its parent had, with its files changed and nothing else, whatever the bytes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.git_repos import git
from tidegate.git.client.repository import GitRepository, open_repository
from tidegate.model.errors import UserError

# Few names, so that files meet files and folders; with all that quoting could get wrong.
NAMES = st.sampled_from(["a", 'b"\\', "-é\n", " *\t"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CHANGES = st.dictionaries(PATHS, st.none() | st.binary(max_size=40), max_size=5)
BRANCH = "made"


@pytest.fixture(scope="module")
def repository() -> Iterator[GitRepository]:
    """One that is empty at first."""
    with tempfile.TemporaryDirectory() as folder:
        git(Path(folder), "init", "-q", "--bare")
        git(Path(folder), "config", "user.name", "Ada")
        git(Path(folder), "config", "user.email", "ada@example.com")
        tree = git(Path(folder), "mktree")
        git(Path(folder), "update-ref", "refs/heads/main", git_commit(Path(folder), tree))
        yield open_repository(Path(folder))


def git_commit(folder: Path, tree: str) -> str:
    """A commit of a tree."""
    return git(folder, "commit-tree", tree, "-m", "empty")


# Every example starts some ten processes.
@settings(max_examples=25)
@given(changes=st.lists(CHANGES, min_size=1, max_size=3))
def test_a_commit_touches_only_its_files(
    repository: GitRepository, changes: list[dict[str, bytes | None]]
) -> None:
    """Reading back gives what was written; a change that would take others along is refused."""
    at = repository.tip()
    known: dict[str, bytes] = {}
    for change in changes:
        try:
            at = repository.commit(BRANCH, at, change, "change\n")
        except UserError:
            assert _in_the_way(known, change)
            continue
        for path, content in change.items():
            if content is None:
                known.pop(path, None)
            else:
                known[path] = content
        assert dict(repository.read(at, repository.files(at))) == known
        assert list(repository.files(at)) == sorted(known)


def _in_the_way(known: dict[str, bytes], change: dict[str, bytes | None]) -> bool:
    """Whether some file would have to be a folder too."""
    every = {*known, *change}
    return any(one != other and other.startswith(f"{one}/") for one in every for other in every)
