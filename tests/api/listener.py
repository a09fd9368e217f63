"""A service that listens, for commands that ask over HTTP."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from tests.api.stage import Service


@contextmanager
def listening(service: Service) -> Iterator[str]:
    """The address of a service."""
    ear = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(service.app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, args=([ear],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{ear.getsockname()[1]}"
    finally:
        service.api.close()
        server.should_exit = True
        thread.join(10)
