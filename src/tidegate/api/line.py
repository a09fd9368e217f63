"""One line between the process that works and the one that answers: probes, refusals, the end.

Frames of JSON, each behind its length. Either side ends when the line does: a process whose other
half was killed must not go on as if it were there.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from tidegate.model.json_text import json_decoder

# Beyond so much that the other side has not taken, what is only told is dropped.
BUFFER_MAX = 1 << 20
# A scrape of ten thousand rollouts is some megabytes.
FRAME_MAX = 1 << 28
_LENGTH = 4


class AnswerOrder(msgspec.Struct, frozen=True, tag="order"):
    """To the process that answers: begin, end the streams, end."""

    what: Literal["begin", "hush", "stop"]


class ProbeAsked(msgspec.Struct, frozen=True, tag="asked"):
    """To the process that works: how it is."""

    number: int
    what: Literal["ill", "missing", "metrics"]


class ProbeAnswered(msgspec.Struct, frozen=True, tag="answered"):
    """How the process that works is."""

    number: int
    found: tuple[str, ...] = ()
    body: bytes = b""


class Refusal(msgspec.Struct, frozen=True, tag="refused"):
    """A request that was refused, for logs and numbers."""

    method: str
    path: str
    status: int
    detail: str


class AnswerBeat(msgspec.Struct, frozen=True, tag="beat"):
    """The process that answers goes on, and has these numbers."""

    metrics: bytes


Frame = AnswerOrder | ProbeAsked | ProbeAnswered | Refusal | AnswerBeat
_read_frame = json_decoder(Frame)


class ProcessLine:
    """One end of the line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, frame: Frame) -> None:
        """Send a frame; nothing happens if the other side is gone."""
        body = msgspec.json.encode(frame)
        self._writer.write(len(body).to_bytes(_LENGTH, "big") + body)

    def tell(self, frame: Refusal | AnswerBeat) -> None:
        """The same for what may be lost: it is dropped where the other side takes nothing."""
        if self._writer.transport.get_write_buffer_size() < BUFFER_MAX:
            self.send(frame)

    async def frames(self) -> AsyncIterator[Frame]:
        """What the other side sends, until it is gone."""
        try:
            while True:
                length = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
                assert length <= FRAME_MAX, f"a frame of {length} bytes"
                yield _read_frame(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    def close(self) -> None:
        """Close this end."""
        self._writer.close()


async def open_line(end: socket.socket) -> ProcessLine:
    """The line of a connected socket."""
    return ProcessLine(*await asyncio.open_connection(sock=end))
