"""A revision of a Git repository as a tree of files, read from its objects without a checkout.

Two `git` processes answer for a whole tree: one lists it, one hands out contents as they are asked
for. Nothing is written, no working tree is needed, and a bare repository will do.
"""

import subprocess
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tidegate.core.errors import OutsideError, UserError
from tidegate.core.model.problem import Problem
from tidegate.ports.tree import is_read

# A repository that does not answer within this is broken, not slow.
TIMEOUT_S = 60
DATA = "data/"
# Asked for at once: few enough that all questions fit into a pipe, whoever is slow to read.
BATCH = 500
_REGULAR = ("100644", "100755")


class GitTree:
    """Every YAML file of a revision, at and below the place of a directory in its repository."""

    def __init__(self, folder: Path, revision: str) -> None:
        self._folder = folder
        asked = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        found = _git(folder, "rev-parse", *asked)
        if found.returncode:
            what = found.stderr.decode(errors="replace").strip() or f'no revision "{revision}"'
            problem = Problem(str(folder), what, "name a branch, a tag or a commit of it")
            raise UserError((problem,))
        # The commit itself: a branch that moves meanwhile does not matter.
        self.commit = found.stdout.decode().strip()
        below = _git(folder, "rev-parse", "--show-prefix").stdout.decode().strip()
        data = _git(folder, "rev-parse", "--verify", "--quiet", f"{self.commit}:{below}{DATA[:-1]}")
        self._below = below if data.returncode else f"{below}{DATA}"
        self._blobs: dict[str, str] = {}

    @property
    def prefix(self) -> str:
        """Where in the repository the bundle is."""
        return self._below

    def files(self) -> dict[str, str]:
        """List the revision."""
        place = f"{self.commit}:{self._below.rstrip('/')}" if self._below else self.commit
        listed = _git(self._folder, "ls-tree", "-r", "-z", "--full-tree", place)
        if listed.returncode:
            problem = Problem(self._below, "not in this revision", "name a folder that is")
            raise UserError((problem,), where=self.commit)
        for entry in listed.stdout.split(b"\0"):
            head, _, name = entry.partition(b"\t")
            path = name.decode(errors="surrogateescape")
            mode, _, rest = head.decode().partition(" ")
            if mode in _REGULAR and is_read(path):
                self._blobs[path] = rest.partition(" ")[2]
        self._blobs = dict(sorted(self._blobs.items()))
        return self._blobs

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Ask for contents in batches, through one process."""
        command = ["git", "-C", str(self._folder), "cat-file", "--batch"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            asking, answers = process.stdin, process.stdout
            assert asking is not None
            assert answers is not None
            waiting = iter(paths)
            while batch := list(islice(waiting, BATCH)):
                asking.write("".join(f"{self._blobs[path]}\n" for path in batch).encode())
                asking.flush()
                for path in batch:
                    head = answers.readline().split()
                    if len(head) != 3:
                        raise OutsideError(f"git has no content for {path} in {self.commit}")
                    yield path, answers.read(int(head[2]) + 1)[:-1]


def merge_base(folder: Path, one: str, other: str) -> str:
    """The commit where two revisions parted; UserError if one is not there, or they never met."""
    ends = [GitTree(folder, each).commit for each in (one, other)]
    found = _git(folder, "merge-base", *ends)
    if found.returncode:
        what = f"{one} and {other} have no common commit here"
        remedy = "fetch the history between them (`git fetch --unshallow`)"
        raise UserError((Problem(str(folder), what, remedy),))
    return found.stdout.decode().strip()


def file_at(folder: Path, revision: str, name: str) -> bytes | None:
    """A file at the root of the repository a directory is in; None: it has no such."""
    found = _git(folder, "cat-file", "blob", f"{revision}:{name}")
    return None if found.returncode else found.stdout


def root_of(folder: Path) -> Path | None:
    """Where the repository of a directory has its files; None: nowhere."""
    found = _git(folder, "rev-parse", "--show-toplevel")
    return None if found.returncode else Path(found.stdout.decode().strip())


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except FileNotFoundError:
        raise OutsideError("git is not installed; revisions need it") from None
    except subprocess.TimeoutExpired:
        raise OutsideError(f"git did not answer within {TIMEOUT_S} s") from None
