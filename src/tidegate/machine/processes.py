"""One piece of work, in several processes at once; where that cannot be, in this one.

A forked process has everything that this one has, so nothing is sent to it, and it starts within
milliseconds. But it has only the thread that forked: a lock that another one held stays locked. So
there is a fork only where there is no other thread, of Python or of a library, and the operating
system says so: on Linux.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

# More processes than this share little more: what cannot be shared takes most of the time.
PROCESSES_MAX = 4
_TASKS = Path("/proc/self/task")

P = TypeVar("P")
R = TypeVar("R")


class _Started(NamedTuple):
    pid: int
    answers: int


def processes() -> int:
    """How many processes may work at once; 1: only this one."""
    if sys.platform != "linux" or not _is_alone():
        return 1
    return min(len(os.sched_getaffinity(0)), PROCESSES_MAX)


def _is_alone() -> bool:
    """Whether this process has one thread."""
    try:
        return len(list(_TASKS.iterdir())) == 1
    except OSError:
        return False


def in_processes(
    parts: Sequence[P],
    work: Callable[[P], R],
    elsewhere: Callable[[P], bytes],
    decode: Callable[[bytes], R],
) -> list[R]:
    """What work makes of every part, in their order: of the first here, of each other in a fork.

    `elsewhere` does the same work in a fork and encodes what it found. The part of a process that
    did not answer is worked on here, and so its error is raised here.
    """
    started: list[_Started | None] = []
    try:
        for part in parts[1:]:
            started.append(_start(part, elsewhere))  # noqa: PERF401  ended below if one fails
        found = [work(part) for part in parts[:1]]
        for part, process in zip(parts[1:], started, strict=True):
            answer = _answer(process) if process is not None else None
            found.append(decode(answer) if answer is not None else work(part))
        return found
    finally:
        for process in started:
            if process is not None:
                _end(process)


def _start(part: P, elsewhere: Callable[[P], bytes]) -> _Started | None:
    """A process that works on a part and writes what it found; None: there can be none now."""
    try:
        answers, to = os.pipe()
    except OSError:
        return None
    try:
        pid = os.fork()
    except OSError:  # too many, or too little memory
        os.close(answers)
        os.close(to)
        return None
    if pid:
        os.close(to)
        return _Started(pid, answers)
    # From here on another process: whatever happens, nothing of the caller's runs in it.
    code = 1
    try:
        os.close(answers)
        answer = elsewhere(part)
        _write(to, len(answer).to_bytes(8) + answer)
        code = 0
    finally:
        os._exit(code)


def _write(to: int, answer: bytes) -> None:
    rest = memoryview(answer)
    while rest:
        rest = rest[os.write(to, rest) :]


def _answer(process: _Started) -> bytes | None:
    """What a process wrote; None: it ended before all of it was written."""
    with os.fdopen(process.answers, "rb", closefd=False) as file:
        head = file.read(8)
        size = int.from_bytes(head) if len(head) == 8 else -1
        answer = file.read(size) if size >= 0 else b""
    return answer if len(answer) == size else None


def _end(process: _Started) -> None:
    """Leave nothing behind: neither a process nor a pipe."""
    os.close(process.answers)
    os.kill(process.pid, signal.SIGKILL)  # one that has ended already stays until it is waited for
    os.waitpid(process.pid, 0)
