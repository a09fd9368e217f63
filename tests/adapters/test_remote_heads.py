"""Branches elsewhere are asked for once a minute; the last commit outlives an outage."""

from pathlib import Path

import pytest

from tests.git_repos import commit, git
from tidegate.git.client.remote_heads import FRESH_S, RemoteHeads
from tidegate.model.errors import OutsideError


class Heads(RemoteHeads):
    """Counts what is asked."""

    def __init__(self, folder: Path) -> None:
        self.now, self.asked = 0.0, 0
        super().__init__(folder, lambda: self.now)

    def _ask(self, url: str, branch: str) -> str:
        self.asked += 1
        return super()._ask(url, branch)


def test_a_branch_is_asked_for_once_a_minute(tmp_path: Path) -> None:
    upstream, heads = tmp_path / "upstream", Heads(tmp_path)
    with pytest.raises(OutsideError):
        heads(str(upstream), "main")
    upstream.mkdir()
    git(upstream, "init", "-q")
    first = commit(upstream, {"a": "1"})
    with pytest.raises(OutsideError):  # what failed is not repeated at once, either
        heads(str(upstream), "main")
    assert heads.asked == 1
    heads.now += FRESH_S
    assert heads(str(upstream), "main") == first
    second = commit(upstream, {"a": "2"})
    assert heads(str(upstream), "main") == first
    heads.now += FRESH_S
    assert heads(str(upstream), "main") == second
    upstream.rename(tmp_path / "gone")
    heads.now += FRESH_S
    assert heads(str(upstream), "main") == second
    assert heads.asked == 4


@pytest.mark.parametrize("branch", ["--upload-pack=x", "a b", "", "x;y"])
def test_what_is_no_branch_reaches_no_git(branch: str, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="is not a branch"):
        RemoteHeads(tmp_path)("https://git.example.com/x", branch)
