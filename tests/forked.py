"""`python -m MODULE` as a process of its own, forked from one that has imported everything.

Most of the time of a process that a test starts is spent on imports. These are real processes with
signals, pipes and exit codes of their own; a test about start-up itself starts a whole Python.

Each process of tests has one server, which has imported the commands and run none. It is sent
words, a folder, an environment and open files; it forks, and reports the child and its status.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, AnyStr

import msgspec

# The command as one of these processes; its words follow.
TIDEGATE = (sys.executable, "-m", "tidegate")
_ROOT = Path(__file__).parents[1]
# What commands import when they run, beside what they import to be parsed.
_IMPORTED = (
    "psycopg",
    "uvicorn",
    "tidegate.api.server",
    "tidegate.cli.worker.run",
    "tidegate.cli.worker.serve",
    "tidegate.cli.worker.service",
    "tidegate.forge.client.local",
    "tidegate.git.client.repository",
    "tidegate.kind_table",
    "tidegate.kinds.integrations.cli.clusters.simulate",
    "tidegate.kinds.integrations.cli.shard_fleet",
    "tidegate.kinds.rollouts.cli.fleet",
    "tidegate.kinds.rollouts.start",
    "tidegate.kinds.upgrades.start",
    "tidegate.page.pages",
    "tidegate.store.client.database_address",
    "tidegate.wiring",
)
# Number and status of a child are sent as so many digits, the length of a request as well.
_DIGITS = 8
# Standard input, output and error, and where number and status are written.
_FILES = 4
# The server has fewer files open than this.
_FILES_MAX = 1024


class Asked(msgspec.Struct, frozen=True):
    """A module to run as a program."""

    module: str
    words: list[str]
    folder: str
    env: dict[str, str]


class Forked(subprocess.Popen[AnyStr]):
    """`subprocess.Popen` of `[sys.executable, "-m", MODULE, *words]`, without its imports.

    Only how the process is started and waited for differs. These are the methods in which the class
    above does that, in Python 3.11 to 3.13.
    """

    # Where the server writes which process it is, and how it ended.
    _status: int

    def _execute_child(self, args: Any, *more: Any) -> None:
        python, option, module, *words = map(str, args)
        assert (python, option) == (sys.executable, "-m"), f"not a module of this Python: {args}"
        cwd, given, pipes = more[4], more[5], more[9:15]
        env: dict[str, str] = dict(os.environ if given is None else given)
        # What the caller of the tests has set is set for their imports only.
        added = env.get("PYTHONPATH", "") not in ("", os.environ.get("PYTHONPATH", ""))
        assert not added, "its imports are made already"
        stdin, _, _, stdout, _, stderr = pipes
        # What is not given is shared with this process.
        files: list[int] = [
            own if own >= 0 else at for at, own in enumerate((stdin, stdout, stderr))
        ]
        asked = Asked(module, words, str(cwd or Path.cwd()), env)
        self._status, told = os.pipe()
        _server().ask(asked, [*files, told])
        os.close(told)
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self.pid = int(os.read(self._status, _DIGITS))
        self._child_created = True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        os.set_blocking(self._status, not wait_flags & os.WNOHANG)
        try:
            said = os.read(self._status, _DIGITS)
        except BlockingIOError:
            return 0, 0
        os.close(self._status)
        assert said, "the server of forked processes has ended"
        return self.pid, int(said)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        lock: Lock = self._waitpid_lock  # type: ignore[attr-defined]
        if self.returncode is None and lock.acquire(blocking=False):
            try:
                ended, status = self._try_wait(os.WNOHANG)
                if ended:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                lock.release()
        return self.returncode


class _Server:
    """The process that forks, as tests see it."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair()
        self._one_at_a_time = Lock()
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", str(number)],
                cwd=_ROOT,
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def ask(self, asked: Asked, files: list[int]) -> None:
        """Have a process started with these files."""
        text = json.dumps(msgspec.to_builtins(asked)).encode()
        with self._one_at_a_time:
            socket.send_fds(self._channel, [_number(len(text))], files)
            self._channel.sendall(text)

    def end(self) -> None:
        """What it has forked goes on."""
        self._channel.close()
        self._process.wait()


@cache
def _server() -> _Server:
    made = _Server()
    atexit.register(made.end)
    return made


def _number(value: int) -> bytes:
    return b"%*d" % (_DIGITS, value)


def _main(channel: socket.socket) -> None:
    for name in _IMPORTED:
        importlib.import_module(name)
    # What is imported stays: to look through it for garbage would copy it into every child.
    gc.collect()
    gc.freeze()
    asked = _forked(channel)
    sys.argv = ["", *asked.words]
    runpy.run_module(asked.module, run_name="__main__", alter_sys=True)


def _forked(channel: socket.socket) -> Asked:
    """Fork for every request. It returns in the children only."""
    running: dict[int, int] = {}
    woken, wakes = socket.socketpair()
    for each in (woken, wakes):
        each.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno())
    with selectors.DefaultSelector() as ready:
        ready.register(channel, selectors.EVENT_READ)
        ready.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is woken:
                    woken.recv(_FILES_MAX)
                    _report(running)
                    continue
                asked, files = _request(channel)
                if not (child := os.fork()):
                    _become(asked, files)
                    return asked
                *given, told = files
                running[child] = told
                os.write(told, _number(child))
                for each_file in given:
                    os.close(each_file)


def _request(channel: socket.socket) -> tuple[Asked, list[int]]:
    length, files, _, _ = socket.recv_fds(channel, _DIGITS, _FILES)
    if not length:
        sys.exit()
    text = b""
    while len(text) < int(length):
        text += channel.recv(int(length) - len(text))
    return msgspec.json.decode(text, type=Asked), files


def _report(running: dict[int, int]) -> None:
    """Say of every child that has ended how it did."""
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        told = running.pop(child)
        with suppress(BrokenPipeError):  # the test does not wait for it any more
            os.write(told, _number(status))
        os.close(told)


def _become(asked: Asked, files: list[int]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for at, each in enumerate(files[:-1]):
        os.dup2(each, at)
    os.closerange(_FILES - 1, _FILES_MAX)
    os.chdir(asked.folder)
    os.environ.clear()
    os.environ.update(asked.env)


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
