"""The state of a local forge, kept in its repository under one ref.

The ref moves only if it is where it was read: the second of two writers reads again, so that no
change is lost. `refs/tidegate/forge` is a line of commits, one for each change, with a file for
every merge request and for every commit with check results: `git log -p refs/tidegate/forge` shows
the history.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from tidegate.forge.port import RequestState, StatusState
from tidegate.git.client.process import Git, decoded
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json

REF = "refs/tidegate/forge"
NOTHING = "0" * 40
_OF_REQUESTS = ("refs/heads", "refs/merge-requests")
_WHO = {"user.name": "Tidegate", "user.email": "tidegate@localhost"}
T = TypeVar("T")
_REQUEST = re.compile(r"request-([0-9]+)\.json")


class StoredRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A merge request as stored."""

    number: int
    title: str
    description: str
    source: str
    target: str
    state: RequestState = RequestState.OPEN
    labels: tuple[str, ...] = ()
    # Comments in order: key and text.
    comments: tuple[tuple[str, str], ...] = ()
    # Once it is merged or closed: the last commit of its branch, and the commit it was merged as.
    head: str = ""
    # The commit of its target when it was opened; once it is merged, right before that.
    onto: str = ""
    merged_as: str = ""
    # Who made the merge commit, where git alone merged it; there are no accounts here.
    ended_by: str = ""


class StoredStatus(msgspec.Struct, frozen=True):
    """The result of a check of a commit, as stored."""

    state: StatusState
    text: str
    url: str = ""


class LocalForgeState(msgspec.Struct, frozen=True):
    """The whole state at one commit."""

    # Empty: nothing was stored yet.
    commit: str
    # The identity of each file, by its name.
    files: Mapping[str, str]
    requests: Mapping[int, StoredRequest]
    # The commit of every branch and of every offered one, by its full name.
    refs: Mapping[str, str]

    def branch(self, name: str) -> str:
        """The commit of a branch; empty: there is none."""
        return self.refs.get(f"refs/heads/{name}", "")


class LocalForgeStore:
    """The state of a local forge in its repository, through git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened: Git | None = None

    @property
    def git(self) -> Git:
        """git in this repository, and not in one that contains its folder."""
        if self._opened is None:
            git = Git(self.folder, _WHO)
            found = git.run("rev-parse", "--absolute-git-dir") if self.folder.is_dir() else None
            home = decoded(found.stdout).strip() if found is not None else ""
            inner = self.folder / ".git"
            if not home or not (inner.is_file() or Path(home) in _places(self.folder, inner)):
                remedy = "see where the remote is (`git remote -v`)"
                raise OutsideError(f"{self.folder} is not a repository; {remedy}")
            self._opened = git
        return self._opened

    def read(self) -> LocalForgeState:
        """Everything as it is now, by as many processes however much there is."""
        refs = self._refs(REF, *_OF_REQUESTS)
        commit = refs.get(REF, "")
        if not commit:
            return LocalForgeState("", {}, {}, refs)
        files: dict[str, str] = {}
        for entry in decoded(self.git.ask("ls-tree", "-z", commit)).split("\0")[:-1]:
            about, _, name = entry.partition("\t")
            files[name] = about.split()[2]
        wanted = [(name, blob) for name, blob in files.items() if _REQUEST.fullmatch(name)]
        kept = [_decoded(text, StoredRequest, name) for name, text in self.git.contents(wanted)]
        # The refs whose commits a target has, by its commit.
        merged = cache(lambda target: self._refs(f"--merged={target}", *_OF_REQUESTS))
        requests = {each.number: self._arrived(each, refs, merged) for each in kept}
        return LocalForgeState(commit, files, requests, refs)

    def _refs(self, *which: str) -> dict[str, str]:
        """The commits of refs by their names."""
        listed = decoded(self.git.ask("for-each-ref", "--format=%(objectname) %(refname)", *which))
        pairs = (line.split(" ", 1) for line in listed.splitlines())
        return {name: commit for commit, name in pairs}

    def _arrived(
        self,
        kept: StoredRequest,
        refs: Mapping[str, str],
        merged: Callable[[str], Mapping[str, str]],
    ) -> StoredRequest:
        """A request whose commits are in the target counts as merged, even if only git did it."""
        if kept.state is not RequestState.OPEN:
            return kept
        # The offered commit, and not commits that were pushed to the branch later.
        offered = f"refs/merge-requests/{kept.number}/head"
        ref = offered if offered in refs else f"refs/heads/{kept.source}"
        head, target = refs.get(ref, ""), refs.get(f"refs/heads/{kept.target}", "")
        if not (head and target and merged(target).get(ref) == head):
            return kept
        # A request without new commits cannot be merged.
        if kept.onto and self.holds(head, kept.onto):
            return kept
        way = ("rev-list", "--first-parent", "--ancestry-path", "--reverse", f"{head}..{target}")
        # A fast-forward has no merge commit.
        merged_as = next(iter(self.git.line(*way).splitlines()), head)
        made = merged_as != head
        return msgspec.structs.replace(
            kept,
            state=RequestState.MERGED,
            head=head,
            onto=self.tip(f"{merged_as}^1"),
            merged_as=merged_as,
            ended_by=self.git.line("show", "-s", "--format=%cn", merged_as) if made else "",
        )

    def statuses(self, state: LocalForgeState, sha: str) -> dict[str, StoredStatus]:
        """The results of checks of a commit, by the name of the check."""
        name = status_file(sha)
        if name not in state.files:
            return {}
        text = self.git.ask("cat-file", "blob", state.files[name])
        return _decoded(text, dict[str, StoredStatus], name)

    def write(
        self, state: LocalForgeState, name: str, value: object, why: str, moves: Iterable[str] = ()
    ) -> bool:
        """Write one file of a state, and move refs with it, all or nothing.

        False: another writer was faster, and nothing was done. A move is a line of `update-ref`.
        """
        pretty = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
        files = {**state.files, name: self.made("hash-object", "-w", "--stdin", given=pretty)}
        listed = "".join(f"100644 blob {files[each]}\t{each}\0" for each in sorted(files))
        tree = self.made("mktree", "-z", given=listed.encode())
        parent = ("-p", state.commit) if state.commit else ()
        commit = self.made("commit-tree", tree, *parent, given=f"{why}\n".encode())
        return self._move([f"update {REF} {commit} {state.commit or NOTHING}", *moves])

    def made(self, *arguments: str, given: bytes) -> str:
        """The name of an object that git creates."""
        return decoded(self.git.ask(*arguments, given=given)).strip()

    def tip(self, ref: str) -> str:
        """The commit a ref is at; empty: there is no such ref."""
        asked = ("--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return self.git.line("rev-parse", *asked)

    def holds(self, old: str, new: str) -> bool:
        """Whether a commit is an ancestor of another, or the same; False if it does not exist."""
        return self.git.run("merge-base", "--is-ancestor", old, new).returncode == 0

    def _move(self, lines: Iterable[str]) -> bool:
        """Move refs together; False: one of them was not where it was read."""
        given = "".join(f"{line}\n" for line in lines).encode()
        done = self.git.run("update-ref", "--stdin", given=given)
        if done.returncode == 0:
            return True
        if b"cannot lock ref" in done.stderr:
            return False
        raise OutsideError(f"{self.folder}: git update-ref: {self.git.said(done)}")


def _places(*folders: Path) -> list[Path]:
    return [folder.resolve() for folder in folders]


def _decoded(text: bytes, kind: type[T], name: str) -> T:
    try:
        return decode_json(text, kind)
    except msgspec.MsgspecError as error:
        raise OutsideError(f"{name} in {REF}: {error}") from None


def request_file(number: int) -> str:
    """The file of a merge request."""
    return f"request-{number}.json"


def status_file(sha: str) -> str:
    """The file of a commit's statuses."""
    return f"status-{sha}.json"
