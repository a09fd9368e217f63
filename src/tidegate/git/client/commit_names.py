"""Commits of a repository by their names; one that was found here is not asked for again."""

import re

from tidegate.git.client.kept import KeptFacts
from tidegate.git.client.process import Git, decoded
from tidegate.git.client.ref_files import home_of, ref_files

# Refs that git keeps commits in, and nothing else.
_BRANCHES = ("refs/heads/", "refs/remotes/")
_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class CommitNames:
    """Finds the full names of commits."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._known: KeptFacts[str, str] = KeptFacts()

    def full(self, revision: str) -> str:
        """The full name of a commit; empty if there is none."""
        if revision in self._known:
            return revision
        if revision.startswith(_BRANCHES):
            there = (ref_files(home_of(self._git.folder), revision) or {}).get(revision, "")
            if there in self._known:
                return there
        asked = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return self.note(self._git.line("rev-parse", *asked))

    def first(self, revisions: list[str]) -> str:
        """The full name of the first that is a commit, by one process; empty: none is."""
        if revisions[0] in self._known:
            return revisions[0]
        if any("\n" in each for each in revisions):
            return ""
        asked = "".join(f"{each}^{{commit}}\n" for each in revisions)
        given = asked.encode(errors="surrogateescape")
        done = self._git.run("cat-file", "--batch-check", given=given)
        for line in decoded(done.stdout).splitlines():
            name, _, rest = line.partition(" ")
            if rest.startswith("commit ") and _FULL.fullmatch(name):
                return self.note(name)
        return ""

    def note(self, commit: str) -> str:
        """A commit that is here stays here."""
        if commit:
            self._known.keep(commit, commit)
        return commit


def are_full(*commits: str) -> bool:
    """Whether these are names that mean the same for ever."""
    return all(_FULL.fullmatch(each) for each in commits)
