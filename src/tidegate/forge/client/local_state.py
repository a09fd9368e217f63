"""The state of a local forge, kept in its repository under one ref.

The ref moves only if it is where it was read: the second of two writers reads again, so that no
change is lost. `refs/tidegate/forge` is a line of commits, one for each change, with a file for
every merge request and for every commit with check results: `git log -p refs/tidegate/forge` shows
the history. What follows from full names of objects never changes and is kept: where nothing moved,
the refs are read and no process of git is needed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from tidegate.forge.port import RequestState, StatusState
from tidegate.git.client.kept import KeptContents, KeptFacts
from tidegate.git.client.process import Git, decoded
from tidegate.git.client.ref_files import ref_files
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
        # Where git has its own files of this repository, once it is opened.
        self._home = folder
        # The files of the commit that was read or written last.
        self._listed: tuple[str, Mapping[str, str]] = ("", {})
        self._contents = KeptContents()
        # Requests as they are, by the content of their file and the commits of their two branches.
        self._requests: KeptFacts[tuple[str, str, str], StoredRequest] = KeptFacts()
        # Whether two commits conflict.
        self._conflicts: KeptFacts[tuple[str, str], bool] = KeptFacts()

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
            self._opened, self._home = git, Path(home)
        return self._opened

    def read(self) -> LocalForgeState:
        """Everything as it is now, by at most as many processes however much there is."""
        refs = self._refs()
        commit = refs.get(REF, "")
        if not commit:
            return LocalForgeState("", {}, {}, refs)
        files = self._files(commit)
        named = {name: blob for name, blob in files.items() if _REQUEST.fullmatch(name)}
        texts = self._texts(named)
        stored = {name: _decoded(texts[name], StoredRequest, name) for name in named}
        ends = {name: _ends(each, refs) for name, each in stored.items()}
        heads = {head for head, target in ends.values() if head and target}
        # The heads whose commits a target has, by its commit.
        merged = cache(lambda target: self._merged(target, heads))
        requests: dict[int, StoredRequest] = {}
        for name, each in stored.items():
            known = (named[name], *ends[name])
            found = self._requests.get(known)
            if found is None:
                found = self._arrived(each, *ends[name], merged)
                self._requests.keep(known, found)
            requests[each.number] = found
        return LocalForgeState(commit, files, requests, refs)

    def _refs(self) -> dict[str, str]:
        """The commits of refs by their names."""
        git = self.git
        if (found := ref_files(self._home, REF, *_OF_REQUESTS)) is not None:
            return found
        form = "--format=%(objectname) %(refname)"
        listed = decoded(git.ask("for-each-ref", form, REF, *_OF_REQUESTS))
        pairs = (line.split(" ", 1) for line in listed.splitlines())
        return {name: commit for commit, name in pairs}

    def _files(self, commit: str) -> Mapping[str, str]:
        """The identity of each file of a state, by its name."""
        last, files = self._listed
        if last == commit:
            return files
        entries = decoded(self.git.ask("ls-tree", "-z", commit)).split("\0")[:-1]
        pairs = (entry.partition("\t")[::2] for entry in entries)
        found = {name: about.split()[2] for about, name in pairs}
        self._listed = commit, found
        return found

    def _texts(self, files: Mapping[str, str]) -> dict[str, bytes]:
        """The contents of files by their names; those that are not kept by one process."""
        known = self._contents.of(files.values())
        asked = [(name, blob) for name, blob in files.items() if blob not in known]
        for name, text in self.git.contents(asked):
            self._contents.keep(files[name], text)
            known[files[name]] = text
        return {name: known[blob] for name, blob in files.items()}

    def _merged(self, target: str, heads: Set[str]) -> frozenset[str]:
        """Those of some commits that are in another."""
        given = "".join(f"{each}\n" for each in (*heads, f"^{target}"))
        walked = self.git.ask("rev-list", "--stdin", given=given.encode())
        return frozenset(heads - set(decoded(walked).split()))

    def _arrived(
        self, kept: StoredRequest, head: str, target: str, merged: Callable[[str], frozenset[str]]
    ) -> StoredRequest:
        """A request whose commits are in the target counts as merged, even if only git did it."""
        if not (head and target and head in merged(target)):
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
        text = self._texts({name: state.files[name]})[name]
        return _decoded(text, dict[str, StoredStatus], name)

    def write(
        self, state: LocalForgeState, name: str, value: object, why: str, moves: Iterable[str] = ()
    ) -> bool:
        """Write one file of a state, and move refs with it, all or nothing.

        False: another writer was faster, and nothing was done. A move is a line of `update-ref`.
        """
        pretty = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
        blob = self.made("hash-object", "-w", "--stdin", given=pretty)
        files = dict(sorted({**state.files, name: blob}.items()))
        listed = "".join(f"100644 blob {files[each]}\t{each}\0" for each in files)
        tree = self.made("mktree", "-z", given=listed.encode())
        parent = ("-p", state.commit) if state.commit else ()
        commit = self.made("commit-tree", tree, *parent, given=f"{why}\n".encode())
        if not self._move([f"update {REF} {commit} {state.commit or NOTHING}", *moves]):
            return False
        self._contents.keep(blob, pretty)
        self._listed = commit, files
        return True

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

    def conflict(self, onto: str, head: str) -> bool:
        """Whether git cannot merge one commit into another."""
        known = self._conflicts.get((onto, head))
        if known is not None:
            return known
        ended = self.git.run("merge-tree", "--write-tree", onto, head).returncode
        # Any other code is an error, and not an answer.
        if ended in (0, 1):
            self._conflicts.keep((onto, head), ended == 1)
        return ended == 1

    def _move(self, lines: Iterable[str]) -> bool:
        """Move refs together; False: one of them was not where it was read."""
        given = "".join(f"{line}\n" for line in lines).encode()
        done = self.git.run("update-ref", "--stdin", given=given)
        if done.returncode == 0:
            return True
        if b"cannot lock ref" in done.stderr:
            return False
        raise OutsideError(f"{self.folder}: git update-ref: {self.git.said(done)}")


def _ends(kept: StoredRequest, refs: Mapping[str, str]) -> tuple[str, str]:
    """The commits of an open request and of its target; empty: there is none, or it has ended."""
    if kept.state is not RequestState.OPEN:
        return "", ""
    # The offered commit, and not commits that were pushed to the branch later.
    offered = f"refs/merge-requests/{kept.number}/head"
    ref = offered if offered in refs else f"refs/heads/{kept.source}"
    return refs.get(ref, ""), refs.get(f"refs/heads/{kept.target}", "")


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
