"""Two processes offer the same change and are killed, while a third person pushes.

What is kept, whatever the moment: in the end there is one branch with one commit on the newest
target, and one merge request; and nothing that another person pushed is ever gone.
"""

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.forked import Forked
from tests.git_repos import BOB, GIT_SETTINGS, clone, git, remote, write
from tests.kills.proposing import BRANCH, FILE, REFUSED, TITLE
from tests.patience import PATIENCE_S
from tests.sim import sized
from tidegate.forge.client.local import LocalForge

ROUNDS = sized(2, 3, 6)
# About as long as it takes to offer a change, on a machine with other things to do.
LONGEST_S = 0.6
ROOT = Path(__file__).parents[2]


class Proposer:
    """One process, once it is ready."""

    def __init__(self, bare: Path, folder: Path) -> None:
        self._process = Forked[str](
            [sys.executable, "-m", "tests.kills.proposing", str(bare), str(folder)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            env={**os.environ, "GIT_CONFIG_GLOBAL": GIT_SETTINGS},
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        """At once; whatever git it has started goes on alone."""
        self._process.kill()
        self._process.communicate(timeout=PATIENCE_S)

    def end(self) -> int:
        """Let it end."""
        self._process.communicate(timeout=PATIENCE_S)
        return self._process.returncode


class Third:
    """A person who works on the same repository, and pushes as people do: without force."""

    def __init__(self, bare: Path, folder: Path) -> None:
        self._folder = clone(bare, folder, who=BOB)
        self.made: list[str] = []

    def push(self, branch: str, path: str, text: str) -> str:
        """Another commit on a branch; empty: it was refused, or is not there."""
        git(self._folder, "fetch", "-q", "--prune", "origin")
        there = git(self._folder, "for-each-ref", f"refs/remotes/origin/{branch}")
        if not there:
            return ""
        git(self._folder, "checkout", "-q", "--detach", f"origin/{branch}")
        write(self._folder, {path: text})
        git(self._folder, "add", "-A")
        git(self._folder, "commit", "-q", "-m", "third", who=BOB)
        done = subprocess.run(
            ["git", "-C", str(self._folder), "push", "-q", "origin", f"HEAD:refs/heads/{branch}"],
            capture_output=True,
            check=False,
        )
        made = git(self._folder, "rev-parse", "HEAD") if done.returncode == 0 else ""
        self.made += [made] if made else []
        return made

    def delete(self, branch: str) -> None:
        """Give a branch up."""
        git(self._folder, "push", "-q", "origin", "--delete", branch)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """What everyone pushes to."""
    return remote(tmp_path, {FILE: "note: 0\nmore: 1\nref: old\n"})


@pytest.fixture
def clones(bare: Path, tmp_path: Path) -> list[Path]:
    """Two people who offer the same."""
    names = (("Ada", "ada@example.com"), ("Cyd", "cyd@example.com"))
    return [clone(bare, tmp_path / who[0], who=who) for who in names]


def note(number: int) -> str:
    """What the third person writes into the file that is changed."""
    return f"note: {number}\nmore: 1\nref: old\n"


def test_killed_at_any_moment_it_is_offered_once(
    bare: Path, clones: list[Path], tmp_path: Path
) -> None:
    """The target moves all the while; the last completes it."""
    chance = random.Random(5)
    third = Third(bare, tmp_path / "third")
    for number in range(1, ROUNDS + 1):
        both = [Proposer(bare, each) for each in clones]
        time.sleep(chance.uniform(0, LONGEST_S / 2))
        assert third.push("main", FILE, note(number))
        time.sleep(chance.uniform(0, LONGEST_S))
        both.pop(chance.randrange(2)).kill()
        if chance.random() < 0.5:
            both.pop().kill()
        assert [each.end() for each in both] in ([], [0])
    assert [Proposer(bare, each).end() for each in clones] == [0, 0]
    branches = git(bare, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split()
    assert branches == ["main", BRANCH]
    assert git(bare, "log", "--format=%s", f"main..{BRANCH}") == TITLE
    assert git(bare, "rev-parse", f"{BRANCH}^") == git(bare, "rev-parse", "main")
    assert git(bare, "show", f"{BRANCH}:{FILE}") == note(ROUNDS).replace("old", "new").strip()
    assert git(bare, "log", "--format=%s", "main").splitlines() == ["third"] * ROUNDS + ["first"]
    (request,) = asyncio.run(LocalForge(bare).find(state=None))
    assert (request.source, request.head) == (BRANCH, git(bare, "rev-parse", BRANCH))


def test_what_a_third_person_pushed_is_never_gone(
    bare: Path, clones: list[Path], tmp_path: Path
) -> None:
    """Two replace the branch since its target moved, while a person adds to that very branch."""
    chance = random.Random(6)
    third = Third(bare, tmp_path / "third")
    assert Proposer(bare, clones[0]).end() == 0
    added = 0
    for number in range(1, ROUNDS + 1):
        third.push("main", FILE, note(number))
        # Of the rounds that are left to chance each may be won by the two; the last is not.
        is_first = number == ROUNDS
        theirs = third.push(BRANCH, "fix.yml", f"fix: {number}\n") if is_first else ""
        both = [Proposer(bare, each) for each in clones]
        time.sleep(chance.uniform(0, LONGEST_S))
        theirs = theirs or third.push(BRANCH, "fix.yml", f"fix: {number}\n")
        ends = {each.end() for each in both}
        if theirs:
            added += 1
            # A later one saw it and refused, now and the next time.
            assert git(bare, "rev-parse", BRANCH) == theirs
            assert ends <= {0, REFUSED}
            assert Proposer(bare, clones[0]).end() == REFUSED
            assert git(bare, "rev-parse", BRANCH) == theirs
            third.delete(BRANCH)
        assert Proposer(bare, clones[1]).end() == 0
    assert added
    for made in third.made:
        assert git(bare, "cat-file", "-t", made) == "commit"
