"""Applications that listen, for commands and clients that ask over HTTP."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from tests.api.stage import Service
from tidegate.cli.live import whoami


@contextmanager
def listening(service: Service) -> Iterator[str]:
    """The address of a service."""
    with listening_app(service.app) as address:
        try:
            yield address
        finally:
            service.api.close()


@contextmanager
def listening_app(app: Starlette) -> Iterator[str]:
    """The address of an application."""
    ear = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, args=([ear],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{ear.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def steady_text(text: str) -> str:
    """Text without moments and ages, and by one actor."""
    text = text.replace(f"({whoami()}, ", "(token:admin-0, ")
    text = text.replace(f"user:{whoami()} aborted", "token:admin-0 aborted")
    text = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+\d\d:\d\d)?", "TIME", text)
    return re.sub(r"<?\b(\d+(\.\d+)?(ms|s|m|h|d))+( ago)?\b", "AGE", text)
