"""Small servers for tests: on a port of this machine, until the end."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import HTTPServer
from threading import Thread

from aiohttp import web

from tests.patience import ended

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(answer: Answering) -> AsyncIterator[str]:
    """Something that answers every request; its address, without a scheme."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextmanager
def beside(server: HTTPServer) -> Iterator[None]:
    """A server that answers in a thread of its own."""
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        ended(thread)
