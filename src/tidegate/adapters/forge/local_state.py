"""What a local forge remembers, kept in a repository under one ref that only moves if it is where
it was read: whoever was second reads again, and nothing anybody wrote is lost.

`refs/tidegate/forge` is a line of commits, one a change, with a file for every merge request and
for every commit that has statuses: `git log -p refs/tidegate/forge` tells who did what.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from tidegate.core.errors import OutsideError
from tidegate.core.model.problem import shorten
from tidegate.ports.forge import RequestState, StatusState

REF = "refs/tidegate/forge"
# A repository that does not answer within this is broken, not slow.
TIMEOUT_S = 60
NOTHING = "0" * 40
_WHO = {"NAME": "Tidegate", "EMAIL": "tidegate@localhost"}
_REQUEST = re.compile(r"request-([0-9]+)\.json")


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A merge request as it is kept."""

    number: int
    title: str
    description: str
    source: str
    target: str
    state: RequestState = RequestState.OPEN
    labels: tuple[str, ...] = ()
    # Whatever was said, in order: by which key, and what.
    comments: tuple[tuple[str, str], ...] = ()
    # Once it is merged or closed: what its branch was at, what it was merged into, as what.
    head: str = ""
    onto: str = ""
    merged_as: str = ""


class KeptStatus(msgspec.Struct, frozen=True):
    """What a check said of a commit."""

    state: StatusState
    text: str
    url: str = ""


class State(msgspec.Struct, frozen=True):
    """Everything, as of one commit."""

    # Empty: nothing was ever kept.
    commit: str
    # The identity of each file, by its name.
    files: Mapping[str, str]
    requests: Mapping[int, Kept]


class Keeping:
    """The state of a local forge in its repository, through git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self) -> State:
        """Everything as it is now."""
        commit = self.tip(REF)
        if not commit:
            return State("", {}, {})
        files: dict[str, str] = {}
        for entry in self.git("ls-tree", "-z", commit).split("\0")[:-1]:
            about, _, name = entry.partition("\t")
            files[name] = about.split()[2]
        wanted = {name: blob for name, blob in files.items() if _REQUEST.fullmatch(name)}
        kept = (self._decode(text, name) for name, text in self._contents(wanted))
        return State(commit, files, {each.number: each for each in kept})

    def statuses(self, state: State, sha: str) -> dict[str, KeptStatus]:
        """What checks said of a commit, by their names."""
        blob = state.files.get(status_file(sha))
        if blob is None:
            return {}
        text = self.git("cat-file", "blob", blob)
        return msgspec.json.decode(text, type=dict[str, KeptStatus])

    def write(
        self, state: State, name: str, value: object, why: str, moves: Iterable[str] = ()
    ) -> bool:
        """Put one file beside the others of a state, and move refs with it, all or nothing.

        False: somebody wrote meanwhile, and nothing was done. A move is a line of `update-ref`.
        """
        pretty = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
        blob = self.git("hash-object", "-w", "--stdin", given=pretty.decode())
        files = {**state.files, name: blob}
        listed = "".join(f"100644 blob {files[each]}\t{each}\0" for each in sorted(files))
        tree = self.git("mktree", "-z", given=listed)
        parent = ("-p", state.commit) if state.commit else ()
        commit = self.git("commit-tree", tree, *parent, given=f"{why}\n")
        lines = [f"update {REF} {commit} {state.commit or NOTHING}", *moves]
        return self.move(lines)

    def move(self, lines: Iterable[str]) -> bool:
        """Move refs together; False: one of them was not where it should have been."""
        done = self.run("update-ref", "--stdin", given="".join(f"{line}\n" for line in lines))
        if done.returncode == 0:
            return True
        said = done.stderr.decode(errors="replace")
        if "cannot lock ref" in said or "reference already exists" in said:
            return False
        raise self.failed("update-ref", said)

    def tip(self, ref: str) -> str:
        """The commit a ref is at; empty: there is no such ref."""
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        found = self.run(*asked)
        if found.returncode and found.stderr:
            raise self.failed("rev-parse", found.stderr.decode(errors="replace"))
        return found.stdout.decode().strip()

    def holds(self, old: str, new: str) -> bool:
        """Whether a commit is another one, or came before it; not so for one that is not there."""
        return self.run("merge-base", "--is-ancestor", old, new).returncode == 0

    def git(self, *arguments: str, given: str = "") -> str:
        """What git says; OutsideError if it fails."""
        done = self.run(*arguments, given=given)
        if done.returncode:
            raise self.failed(arguments[0], done.stderr.decode(errors="replace"))
        return done.stdout.decode(errors="replace").rstrip("\n")

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[bytes]:
        """Run git in the repository, and in no other that surrounds it."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env["GIT_CEILING_DIRECTORIES"] = str(self.folder.absolute().parent)
        for name, value in _WHO.items():
            env |= {f"GIT_AUTHOR_{name}": value, f"GIT_COMMITTER_{name}": value}
        try:
            return subprocess.run(
                ["git", "-C", str(self.folder), *arguments],
                input=given.encode(),
                capture_output=True,
                check=False,
                timeout=TIMEOUT_S,
                env={**env, "LC_ALL": "C"},
            )
        except FileNotFoundError:
            raise OutsideError("git is not installed; a local forge needs it") from None
        except subprocess.TimeoutExpired:
            raise OutsideError(f"git did not answer within {TIMEOUT_S} s") from None

    def failed(self, what: str, said: str) -> OutsideError:
        """What went wrong, in one line."""
        lines = said.strip().splitlines() or ["for no reason it gave"]
        return OutsideError(f"{self.folder}: git {what} failed: {shorten(lines[-1])}")

    def _contents(self, blobs: Mapping[str, str]) -> Iterable[tuple[str, str]]:
        """The contents of some files, through one process."""
        asked = "".join(f"{blob}\n" for blob in blobs.values())
        rest = self.run("cat-file", "--batch", given=asked).stdout
        for name in blobs:
            head, _, rest = rest.partition(b"\n")
            size = int(head.split()[-1]) if head[-1:].isdigit() else -1
            if size < 0:
                raise OutsideError(f"{self.folder}: {name} in {REF} is missing")
            yield name, rest[:size].decode()
            rest = rest[size + 1 :]

    def _decode(self, text: str, name: str) -> Kept:
        try:
            return msgspec.json.decode(text, type=Kept)
        except msgspec.MsgspecError as error:
            raise OutsideError(f"{self.folder}: {name} in {REF}: {error}") from None


def request_file(number: int) -> str:
    """The file of a merge request."""
    return f"request-{number}.json"


def status_file(sha: str) -> str:
    """The file of a commit's statuses."""
    return f"status-{sha}.json"
