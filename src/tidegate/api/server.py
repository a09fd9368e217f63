"""Serves an application on a socket, in the caller's event loop; the caller handles signals."""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import uvicorn
from starlette.applications import Starlette

from tidegate.model.errors import OutsideError

# How long answers under way may take to end.
CLOSE_S = 2
# Streams are fewer (`stream.py`), so that probes and scrapers get through.
CONNECTIONS_MAX = 1_000


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


class AppServer(uvicorn.Server):
    """A server that stops on request and installs no signal handlers."""

    def __init__(self, app: Starlette, tls: TlsFiles | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
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

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for the whole process, which has more than this to stop."""
        yield

    def stop(self) -> None:
        """Take no more requests, and end."""
        self.should_exit = True
