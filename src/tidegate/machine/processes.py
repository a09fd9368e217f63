"""One piece of work, in several processes at once; where that cannot be, in this one.

A forked process has everything that this one has, so nothing is sent to it, and it starts within
milliseconds. But it has only the thread that forked: a lock that another one held stays locked. So
there is a fork only where there is no other thread, of Python or of a library, and the operating
system says so: on Linux.

Each process takes the next part that none has taken, so that all end at about the same time,
however long a part takes and whatever else the machine does. Their numbers wait in a pipe, which
hands out each of them once.
"""

import fcntl
import os
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

# More processes than this share little more: what cannot be shared takes most of the time.
PROCESSES_MAX = 4
# The smallest pipe takes the numbers of so many parts.
PARTS_MAX = 1 << 10
# What is done last takes a tenth of a second; a disk that needs this long is not waited for.
LAST_S = 30.0
_TASKS = Path("/proc/self/task")
_NUMBER_BYTES = 4
# Before each answer: the number of the part, and how many bytes there are.
_HEAD = struct.Struct("=IQ")
# In place of a number: that was all. And: what is done last is done.
_ALL, _DONE = 0xFFFFFFFF, b"1"
# So that no process waits for another one to read; as much as anyone may have.
_PIPE_BYTES = 1 << 20

P = TypeVar("P")
R = TypeVar("R")


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


@dataclass(frozen=True, kw_only=True)
class SharedWork(Generic[P, R]):
    """What is done with each part, here or in a fork, where it is encoded too."""

    here: Callable[[P], R]
    elsewhere: Callable[[P], bytes]
    decode: Callable[[bytes], R]
    # What `elsewhere` would have made of it.
    encode: Callable[[R], bytes]
    # Done in one fork, with all parts by number, while this process goes on; None: nothing is.
    last: Callable[[Mapping[int, bytes]], None] | None = None


class _Inbox:
    """What another process has said so far, through a pipe."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.found: dict[int, bytes] = {}
        # Whether it has said all.
        self.is_done = False
        self._said = bytearray()

    def hear(self) -> dict[int, bytes]:
        """The next parts that are told whole; waits for something. EOFError: it ended early."""
        heard = os.read(self.pipe, _PIPE_BYTES)
        if not heard:
            raise EOFError
        self._said += heard
        new: dict[int, bytes] = {}
        at = 0
        while len(self._said) - at >= _HEAD.size:
            number, size = _HEAD.unpack_from(self._said, at)
            end = at + _HEAD.size + size
            if len(self._said) < end:
                break
            if number == _ALL:
                self.is_done = True
            else:
                new[number] = bytes(self._said[at + _HEAD.size : end])
            at = end
        del self._said[:at]
        self.found |= new
        return new


class _Fork(NamedTuple):
    """A process that was started here."""

    pid: int
    answers: _Inbox
    # Where it reads what the others found.
    others: int

    def end(self) -> None:
        """Leave nothing of it behind."""
        self.close()
        os.kill(self.pid, signal.SIGKILL)  # one that has ended stays until it is waited for
        os.waitpid(self.pid, 0)

    def close(self) -> None:
        os.close(self.answers.pipe)
        os.close(self.others)


class ForkPool(Generic[P, R]):
    """This process and its forks, at one piece of work; when it is closed, no fork is left."""

    def __init__(self, work: SharedWork[P, R], parts: Sequence[P], count: int) -> None:
        assert len(parts) <= PARTS_MAX, f"{len(parts)} parts, {PARTS_MAX} at most"
        self._work = work
        self._parts = parts
        self._count = count
        self._forks: list[_Fork] = []
        self._found: dict[int, R] = {}

    def results(self) -> list[R]:
        """What work makes of every part, in their order.

        The parts of a process that did not answer are worked on here, and so its error is raised
        here.
        """
        if self._count <= 1:
            return [self._work.here(part) for part in self._parts]
        queue = _queue(len(self._parts))
        try:
            for _ in range(min(self._count, len(self._parts)) - 1):
                self._start(queue)
            for at in _taken(queue):
                self._found[at] = self._work.here(self._parts[at])
                self._hear(0)
        finally:
            os.close(queue)
        while not all(fork.answers.is_done for fork in self._forks):
            self._hear(None)
        for at, part in enumerate(self._parts):
            if at not in self._found:
                self._found[at] = self._work.here(part)
        self._hand_over()
        return [self._found[at] for at in range(len(self._parts))]

    def finish(self) -> bool:
        """Wait for what a fork does last; whether it did. If not, that is left to the caller."""
        if not self._forks:
            return False
        pipe = self._forks[0].answers.pipe
        return bool(_ready([pipe], LAST_S)) and os.read(pipe, 1) == _DONE

    def close(self) -> None:
        """Leave nothing behind: neither a process nor a pipe."""
        while self._forks:
            self._forks.pop().end()

    def _hear(self, wait_s: float | None) -> None:
        """Decode what forks have said; one that ended before it had said all of it is let go."""
        saying = {fork.answers.pipe: fork for fork in self._forks if not fork.answers.is_done}
        for fork in (saying[pipe] for pipe in _ready(saying, wait_s)):
            try:
                heard = fork.answers.hear()
            except EOFError:
                self._forks.remove(fork)
                fork.end()
            else:
                self._found |= {at: self._work.decode(each) for at, each in heard.items()}

    def _hand_over(self) -> None:
        """Let the first fork do what is done last; the others have nothing left to do."""
        while len(self._forks) > (1 if self._work.last is not None else 0):
            self._forks.pop().end()
        for fork in self._forks:
            with suppress(BrokenPipeError):
                for at, each in self._found.items():
                    if at not in fork.answers.found:
                        _send(fork.others, at, self._work.encode(each))
                _send(fork.others, _ALL)

    def _start(self, queue: int) -> None:
        """Start a process that works on what is in the queue; there may be none now."""
        opened: list[int] = []
        try:
            opened += _pipe()
            opened += _pipe()
            pid = os.fork()
        except OSError:  # too many, or too little memory
            for each in opened:
                os.close(each)
            return
        answers, to_here, others, to_fork = opened
        if pid:
            os.close(to_here)
            os.close(others)
            self._forks.append(_Fork(pid, _Inbox(answers), to_fork))
            return
        # From here on another process: whatever happens, nothing of the caller's runs in it.
        code = 1
        try:
            # A pipe ends when all who could write to it are gone: so no fork has another's.
            for fork in (*self._forks, _Fork(0, _Inbox(answers), to_fork)):
                fork.close()
            self._run(queue, to_here, _Inbox(others))
            code = 0
        finally:
            os._exit(code)

    def _run(self, queue: int, to_here: int, others: _Inbox) -> None:
        """All that a fork does."""
        made: dict[int, bytes] = {}
        for at in _taken(queue):
            made[at] = self._work.elsewhere(self._parts[at])
            _send(to_here, at, made[at])
        _send(to_here, _ALL)
        if self._work.last is not None:
            while not others.is_done:
                others.hear()
            self._work.last({**made, **others.found})
            _write(to_here, _DONE)


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    with suppress(OSError):  # then it is shorter
        fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return ends


def _ready(pipes: Iterable[int], wait_s: float | None) -> list[int]:
    """Those that something can be read from, once there are some; None: wait for ever."""
    poll = select.poll()
    for each in pipes:
        poll.register(each, select.POLLIN)
    return [pipe for pipe, _ in poll.poll(None if wait_s is None else wait_s * 1000)]


def _queue(count: int) -> int:
    """A pipe with the numbers of all parts, and then its end."""
    queue, to = os.pipe()
    try:
        _write(to, b"".join(at.to_bytes(_NUMBER_BYTES) for at in range(count)))
    finally:
        os.close(to)
    return queue


def _taken(queue: int) -> Iterator[int]:
    """Parts that no other process has taken, until there is none."""
    while number := os.read(queue, _NUMBER_BYTES):
        yield int.from_bytes(number)


def _send(to: int, number: int, answer: bytes = b"") -> None:
    _write(to, _HEAD.pack(number, len(answer)) + answer)


def _write(to: int, said: bytes) -> None:
    rest = memoryview(said)
    while rest:
        rest = rest[os.write(to, rest) :]
