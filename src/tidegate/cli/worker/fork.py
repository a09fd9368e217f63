"""A process of its own for the API and the page, beside the worker's.

Python runs one thread of a process at a time: with 200 readers in the worker's process, a wave
waits for their answers, and they for its rounds. Both processes read and write the same journal,
and say to each other only how they are (`api/line.py`). Neither outlives the other.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Literal

from tidegate.api.app import Probes
from tidegate.api.dispatch import Refused
from tidegate.api.line import (
    AnswerBeat,
    AnswerOrder,
    ProbeAnswered,
    ProbeAsked,
    ProcessLine,
    Refusal,
    open_line,
)
from tidegate.cli.worker.front import Front
from tidegate.model.errors import OutsideError
from tidegate.telemetry.log import Log

BEAT_S = 1.0
# How late a beat may be, as with the event loop of the worker.
BEAT_LATE_S = 15.0
# How long a probe waits for the worker.
PROBE_S = 5.0
# How long it may take to end.
STOP_S = 10.0
_GONE = 1


class AnsweringProcess:
    """The process that answers, as the worker's process sees it."""

    def __init__(self, pid: int, end: socket.socket) -> None:
        self._pid = pid
        self._end = end
        self._line: ProcessLine | None = None
        self._metrics = b""
        self._beat_at: float | None = None
        self._stopping = False

    def metrics(self) -> bytes:
        """Its numbers, as of a second ago."""
        return self._metrics

    def ill(self) -> list[str]:
        """Why it is better started anew; nothing if it is well."""
        if self._beat_at is None:
            return []
        late_s = asyncio.get_running_loop().time() - self._beat_at - BEAT_S
        return [f"the process that answers is {late_s:.0f} s late"] if late_s > BEAT_LATE_S else []

    async def run(self, probes: Probes, refused: Refused) -> None:
        """Let it begin, and answer its questions until it ends; OutsideError if that was early."""
        self._line = line = await open_line(self._end)
        line.send(AnswerOrder("begin"))
        answers: set[asyncio.Task[None]] = set()
        async for frame in line.frames():
            if isinstance(frame, AnswerBeat):
                self._metrics = frame.metrics
                self._beat_at = asyncio.get_running_loop().time()
            elif isinstance(frame, Refusal):
                refused(frame.method, frame.path, frame.status, frame.detail)
            elif isinstance(frame, ProbeAsked):
                task = asyncio.create_task(_answer(line, probes, frame))
                answers.add(task)
                task.add_done_callback(answers.discard)
        _, status = await asyncio.to_thread(os.waitpid, self._pid, 0)
        line.close()
        if not self._stopping:
            code = os.waitstatus_to_exitcode(status)
            raise OutsideError(f"the process that answers requests ended by itself ({code})")

    def hush(self) -> None:
        """Have it end its streams."""
        self._order("hush")

    def stop(self) -> None:
        """Have it end, and see that it does."""
        self._stopping = True
        self._order("stop")
        if self._line is not None:
            asyncio.get_running_loop().call_later(STOP_S, self._kill)

    def abandon(self) -> None:
        """End it where nothing else did: this process ends before it began to work."""
        if self._line is None:
            self._end.close()
            self._kill()
            os.waitpid(self._pid, 0)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def _order(self, what: Literal["hush", "stop"]) -> None:
        if self._line is not None:
            self._line.send(AnswerOrder(what))


async def _answer(line: ProcessLine, probes: Probes, asked: ProbeAsked) -> None:
    if asked.what == "metrics":
        line.send(ProbeAnswered(asked.number, body=await probes.metrics()))
        return
    found = await (probes.ill() if asked.what == "ill" else probes.missing())
    line.send(ProbeAnswered(asked.number, found=tuple(found)))


class WorkerProbes:
    """The worker's process, as the one that answers sees it."""

    def __init__(self, line: ProcessLine) -> None:
        self._line = line
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[ProbeAnswered]] = {}

    def probes(self, version: dict[str, str]) -> Probes:
        """What probes and scrapes ask."""
        return Probes(self._ill, self._missing, self._metrics, version)

    def take(self, answer: ProbeAnswered) -> None:
        """The worker answered."""
        waits = self._asked.pop(answer.number, None)
        if waits is not None and not waits.done():
            waits.set_result(answer)

    async def _ask(self, what: Literal["ill", "missing", "metrics"]) -> ProbeAnswered | None:
        """The answer; None: there was none in time."""
        number = next(self._numbers)
        waits: asyncio.Future[ProbeAnswered] = asyncio.get_running_loop().create_future()
        self._asked[number] = waits
        self._line.send(ProbeAsked(number, what))
        try:
            async with asyncio.timeout(PROBE_S):
                return await waits
        except TimeoutError:
            return None
        finally:
            self._asked.pop(number, None)

    async def _checked(self, what: Literal["ill", "missing"]) -> list[str]:
        found = await self._ask(what)
        silent = [f"the worker has not answered for {PROBE_S:.0f} s"]
        return silent if found is None else list(found.found)

    async def _ill(self) -> list[str]:
        return await self._checked("ill")

    async def _missing(self) -> list[str]:
        return await self._checked("missing")

    async def _metrics(self) -> bytes:
        found = await self._ask("metrics")
        return b"" if found is None else found.body


# Makes what answers, in the process that does: it opens what no two processes may share.
MakeFront = Callable[[Probes, Refused], Front]


def fork_answering(
    make: MakeFront, ear: socket.socket, version: dict[str, str], open_log: Callable[[], Log]
) -> AnsweringProcess:
    """Begin a process that answers on a socket once it is told to.

    It must be begun before any thread, and before the journal is opened: neither survives that.
    """
    ours, theirs = socket.socketpair()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        theirs.close()
        return AnsweringProcess(pid, ours)
    ours.close()
    log = open_log()
    try:
        # Signals are for the worker, which says when to end.
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, signal.SIG_IGN)
        asyncio.run(_answering(make, ear, theirs, version))
    except BaseException:  # noqa: BLE001  this process has no other way to say it
        import traceback

        msg = "a bug ends the process that answers"
        log.say("error", msg, what="crash", error=traceback.format_exc())
        log.close()
        os._exit(_GONE)
    log.close()
    os._exit(0)


async def _answering(
    make: MakeFront,
    ear: socket.socket,
    end: socket.socket,
    version: dict[str, str],
) -> None:
    line = await open_line(end)
    worker = WorkerProbes(line)
    front: Front | None = None
    serving: list[asyncio.Task[None]] = []

    def refused(method: str, path: str, status: int, detail: str) -> None:
        line.tell(Refusal(method, path, status, detail))

    async for frame in line.frames():
        if isinstance(frame, ProbeAnswered):
            worker.take(frame)
        elif isinstance(frame, AnswerOrder) and frame.what == "begin":
            front = make(worker.probes(version), refused)
            serving = [asyncio.create_task(each) for each in (front.run(ear), _beat(line, front))]
            serving[0].add_done_callback(lambda _: line.close())
        elif isinstance(frame, AnswerOrder) and front is not None:
            (front.hush if frame.what == "hush" else front.stop)()
    if not serving or not serving[0].done():
        os._exit(_GONE)  # the worker is gone: nothing here may go on as if it were not
    serving[0].result()


async def _beat(line: ProcessLine, front: Front) -> None:
    while True:
        line.tell(AnswerBeat(front.metrics()))
        await asyncio.sleep(BEAT_S)
