"""The `git` command: without prompts, in one language, with a time limit.

The repository is named by a folder and never by the environment: a hook of one repository may read
another. Errors of git are shown without any credentials.
"""

import os
import signal
import subprocess
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from tidegate.git.client.address import cleaned
from tidegate.model.errors import OutsideError
from tidegate.model.problem import shorten

# A repository on this machine that does not answer within this is broken, not slow.
READ_S = 60
# The first fetch of a large repository takes minutes.
NETWORK_S = 900
# Requests in one batch: few enough to fit into a pipe, however slow the reader.
BATCH = 500
# At most so much of an error of git is shown; the cause is in its last lines.
LINES_SHOWN = 4

# The message for a folder that is in no repository.
OUTSIDE = "not in a Git repository"

_ELSEWHERE = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
    "GIT_TRACE", "GIT_TRACE_CURL", "GIT_TRACE_PACKET", "GIT_CURL_VERBOSE",
)  # fmt: skip
_MANNERS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
}
# A server that sends less than this for so long has gone.
_PATIENCE = {"GIT_HTTP_LOW_SPEED_LIMIT": "1000", "GIT_HTTP_LOW_SPEED_TIME": "60"}


class Git:
    """git in one folder."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        # Settings that no command line and no file shows: an address with credentials in it.
        self._settings = dict(settings or {})
        # Addresses whose credentials must not be seen.
        self.hidden: set[str] = set()

    def run(
        self, *arguments: str, given: bytes = b"", timeout_s: float = READ_S
    ) -> subprocess.CompletedProcess[bytes]:
        """One command, however it ends; OutsideError if it does not."""
        with self._started(arguments, subprocess.PIPE) as process:
            try:
                out, err = process.communicate(given, timeout=timeout_s)
            except subprocess.TimeoutExpired:
                late = f"git {_verb(arguments)} did not answer within {timeout_s:g} s"
                raise OutsideError(late) from None
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def ask(self, *arguments: str, given: bytes = b"", timeout_s: float = READ_S) -> bytes:
        """The output of one command; OutsideError if it fails."""
        done = self.run(*arguments, given=given, timeout_s=timeout_s)
        if done.returncode:
            raise OutsideError(f"git {_verb(arguments)}: {self.said(done)}")
        return done.stdout

    def line(self, *arguments: str) -> str:
        """The one line that a command prints; empty if it fails."""
        done = self.run(*arguments)
        return "" if done.returncode else decoded(done.stdout).strip()

    def said(self, done: subprocess.CompletedProcess[bytes]) -> str:
        """Why a command failed, on one line."""
        lines = [line.strip() for line in decoded(done.stderr).splitlines() if line.strip()]
        kept = [line for line in lines if not line.startswith("hint:")] or lines
        ended = f"it ended with {done.returncode} and no message"
        return self.shown("; ".join(kept[-LINES_SHOWN:])) or ended

    def outside(self, done: subprocess.CompletedProcess[bytes]) -> bool:
        """Whether a command failed because its folder is in no repository."""
        return b"not a git repository" in done.stderr

    def shown(self, said: str) -> str:
        """What may be seen of a text."""
        return cleaned(said, *self.hidden)

    def contents(
        self, blobs: Iterable[tuple[str, str]]
    ) -> Generator[tuple[str, bytes], None, None]:
        """The bytes of blobs with their names, in the given order, by one process, if any."""
        waiting = iter(blobs)
        if not (batch := list(islice(waiting, BATCH))):
            return
        with self._started(("cat-file", "--batch"), subprocess.DEVNULL) as process:
            asking, answers = process.stdin, process.stdout
            assert asking is not None
            assert answers is not None
            while batch:
                asking.write("".join(f"{blob}\n" for _, blob in batch).encode())
                asking.flush()
                for name, _ in batch:
                    head = answers.readline().split()
                    if len(head) != 3:
                        raise OutsideError(f"git has no content for {shorten(name)}")
                    yield name, answers.read(int(head[2]) + 1)[:-1]
                batch = list(islice(waiting, BATCH))

    @contextmanager
    def _started(
        self, arguments: tuple[str, ...], stderr: int
    ) -> "Iterator[subprocess.Popen[bytes]]":
        """A command that is gone in the end, with whomever it has started."""
        try:
            process = subprocess.Popen(
                ["git", "-C", str(self.folder), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=self._environment(),
                # Without a terminal no child process can prompt, and all end together.
                start_new_session=True,
            )
        except FileNotFoundError:
            raise OutsideError("git is not installed; revisions need it") from None
        with process:
            try:
                yield process
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise

    def _environment(self) -> dict[str, str]:
        mine = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
        known = {**_PATIENCE, **mine, **_MANNERS}
        first = int(known.get("GIT_CONFIG_COUNT") or 0)
        for at, (name, value) in enumerate(self._settings.items(), first):
            known |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
            known["GIT_CONFIG_COUNT"] = str(at + 1)
        return known


def decoded(said: bytes) -> str:
    """Output of git as text; a path that is not UTF-8 keeps its bytes."""
    return said.decode(errors="surrogateescape")


def _verb(arguments: tuple[str, ...]) -> str:
    """The git command, after any settings."""
    at = 0
    while arguments[at] == "-c":
        at += 2
    return arguments[at]
