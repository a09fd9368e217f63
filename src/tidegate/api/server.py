"""Serves an application on a socket, in the caller's event loop; the caller handles signals.

A connection whose request is not whole after a while is closed: otherwise some hundred that send
nothing, without a login, would keep all others out for ever.

A reader that takes nothing for a while is reset, whatever it asked for: to close its connection
would wait until it has taken what is buffered for it, and that may be never.
"""

import asyncio
import contextlib
import os
import socket
import ssl
import struct
from collections.abc import Iterator

import h11
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tidegate.model.errors import OutsideError

# How long answers under way may take to end.
CLOSE_S = 2
# Streams are fewer (`stream.py`), so that probes and scrapers get through.
CONNECTIONS_MAX = 1_000
# A request that is not whole so long after its connection, or its first byte, is not waited for.
SENT_S = 30.0
# A reader that takes nothing for so long is reset.
TAKEN_S = 30.0
# How long the end of a connection that was reset is waited for.
_RESET_S = 1.0
# Where a request finds its connection.
_CONNECTION = "tidegate.connection"
# SO_LINGER: on, for no time.
_AT_ONCE = struct.pack("ii", 1, 0)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; OutsideError says what is wrong with the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        # A number below 0 is a name that cannot be looked up; others the system has words for.
        number = error.errno or 0
        what = os.strerror(number) if number > 0 else error.strerror or str(error)
        text = f"{address(host, port)}: {what.lower()}; choose another address with --listen"
        raise OutsideError(text) from None


def address(host: str, port: int) -> str:
    """Host and port as people write them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class TlsFiles(msgspec.Struct, frozen=True):
    """The files of a certificate chain and of its key."""

    certificate: str
    key: str

    def check(self) -> None:
        """OutsideError if they cannot be used."""
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                self.certificate, self.key
            )
        except (OSError, ssl.SSLError) as error:
            what = error.strerror or str(error)
            text = f"{self.certificate}, {self.key}: no certificate with its key: {what}"
            raise OutsideError(text) from None


class SlowReaderError(ConnectionError):
    """A reader took nothing for too long, and was reset."""


async def disconnected(receive: Receive) -> None:
    """Wait until the connection of a request is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _Connection(H11Protocol):
    """A connection that waits neither for a request nor for a reader for ever."""

    # When the request that is expected has to be whole; None: none is.
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, _CONNECTION: self}
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._due is not None:
            self._due.cancel()
        super().connection_lost(exc)

    def _expect(self) -> None:
        """Wait for the rest of a request; between two of them the server closes what is idle."""
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._due = self._due or self.loop.call_later(SENT_S, self.transport.abort)
        elif self._due is not None:
            self._due.cancel()
            self._due = None

    async def taken(self) -> None:
        """Wait until the reader has taken most of what was sent; SlowReaderError: it is reset."""
        before = self.transport.get_write_buffer_size()
        while self.flow.write_paused:
            try:
                async with asyncio.timeout(TAKEN_S):
                    await self.flow.drain()
            except TimeoutError:
                left = self.transport.get_write_buffer_size()
                if left >= before:
                    self._reset()
                    raise SlowReaderError(f"the reader took nothing for {TAKEN_S:.0f} s") from None
                before = left

    def _reset(self) -> None:
        """End it at once, without what the process or the system has yet to send."""
        ear = self.transport.get_extra_info("socket")
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()


class _Taken:
    """An application whose answers are taken, or end with their connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        connection: _Connection = scope["state"][_CONNECTION]

        async def send_and_wait(message: Message) -> None:
            await send(message)
            await connection.taken()

        with contextlib.suppress(SlowReaderError):
            await self._app(scope, receive, send_and_wait)
        if connection.transport.is_closing():
            # The server takes an answer without an end for a fault unless the connection is gone.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_RESET_S):
                    await disconnected(receive)


class AppServer(uvicorn.Server):
    """A server that stops on request and installs no signal handlers."""

    def __init__(self, app: Starlette, tls: TlsFiles | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                _Taken(app),
                http=_Connection,
                log_config=None,
                access_log=False,
                lifespan="off",
                limit_concurrency=CONNECTIONS_MAX,
                timeout_graceful_shutdown=CLOSE_S,
                server_header=False,
                ssl_certfile=None if tls is None else tls.certificate,
                ssl_keyfile=None if tls is None else tls.key,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for the whole process, which has more than this to stop."""
        yield

    def stop(self) -> None:
        """Take no more requests, and end."""
        self.should_exit = True
