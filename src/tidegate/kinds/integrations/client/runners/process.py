"""A process that is run to its end, line by line, and leaves no process behind.

It leads a session of its own, so that whatever it starts ends with it. Its output is bounded where
it is read: a line has a longest length, and what is no text is made harmless.
"""

import asyncio
import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from tidegate.kinds.integrations.dry_runs_port import MissingError, Tell

# A longer line is passed on in parts.
LINE_BYTES_MAX = 16 << 10
CHUNK = 64 << 10
# How long a process may take to end once it is asked to.
GRACE_S = 5.0
# How long a child may keep the output open after the process itself has ended.
LINGER_S = 1.0
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


async def run_process(
    words: Sequence[str], variables: Mapping[str, str], said: Tell, grace_s: float = GRACE_S
) -> int:
    """Run a command, and tell every line it says on either of its outputs; its exit code.

    Ended by a signal it has a negative one. MissingError if there is no such program.
    """
    # A pipe of our own: asyncio would wait for every process that has its pipes open, children too.
    ours, theirs = os.pipe()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(ours, "rb", 0))
    try:
        try:
            process = await _begun(words, variables, theirs)
        finally:
            os.close(theirs)
        reading = asyncio.create_task(_tell(reader, said))
        try:
            code = await process.wait()
            await asyncio.wait((reading,), timeout=LINGER_S)
            return code
        finally:
            await asyncio.shield(_end(process, reading, grace_s))
    finally:
        transport.close()


async def _begun(
    words: Sequence[str], variables: Mapping[str, str], output: int
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *words,
            env=dict(variables),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError):
        raise MissingError(f"{words[0]}: no such program") from None
    except (OSError, ValueError) as error:
        raise MissingError(f"{words[0]}: {error}") from None


async def _end(
    process: asyncio.subprocess.Process, reading: "asyncio.Task[None]", grace_s: float
) -> None:
    """No process of its session continues, and its last lines have been read."""
    _signal(process.pid, signal.SIGTERM)
    if process.returncode is None:
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await process.wait()
    _signal(process.pid, signal.SIGKILL)
    await process.wait()
    await asyncio.wait((reading,), timeout=LINGER_S)
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


async def _tell(output: asyncio.StreamReader, said: Tell) -> None:
    rest = b""
    while chunk := await output.read(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            _each(line, said)
        if len(rest) >= LINE_BYTES_MAX:
            _each(rest, said)
            rest = b""
    if rest:
        _each(rest, said)


def _each(line: bytes, said: Tell) -> None:
    for part in _parts(line):
        said(plain(part))


def _parts(line: bytes) -> Iterator[bytes]:
    if len(line) <= LINE_BYTES_MAX:
        yield line
        return
    for at in range(0, len(line), LINE_BYTES_MAX):
        yield line[at : at + LINE_BYTES_MAX]


def plain(line: bytes) -> str:
    """A line as it can be shown anywhere: no colours, and no character that does something."""
    text = _COLOUR.sub("", line.decode(errors="replace")).rstrip("\r")
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\t" else "�" for each in text)
