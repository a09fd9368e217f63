"""Probes and numbers over a real socket: what is answered, and with which code."""

import asyncio
import contextlib
import errno
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.patience import PATIENCE_S, patiently
from tidegate.api import server
from tidegate.api.app import local_probes, make_app
from tidegate.api.server import AppServer, bind
from tidegate.api.stream import EventStream
from tidegate.kinds.upgrades.api.soak import soak_routes
from tidegate.model.errors import OutsideError

Use = Callable[[aiohttp.ClientSession], Awaitable[None]]


class Answers:
    """What the process behind the application says of itself."""

    def __init__(self) -> None:
        self.ill: list[str] = []
        self.missing: list[str] = []


@asynccontextmanager
async def serving(answers: Answers, *routes: Route) -> AsyncIterator[aiohttp.ClientSession]:
    """A server on a free port, and a client for it."""
    probes = local_probes(
        ill=lambda: answers.ill,
        missing=lambda: answers.missing,
        metrics=lambda: b"# TYPE x gauge\nx 1\n" * 100,
        version={"version": "9"},
    )
    with bind("127.0.0.1", 0) as ear:
        serves = AppServer(make_app(probes, routes))
        task = asyncio.create_task(serves.serve([ear]))
        try:
            base = "http://{}:{}".format(*ear.getsockname())
            async with aiohttp.ClientSession(base) as client:
                yield client
        finally:
            serves.stop()
            await task


async def _endless() -> AsyncIterator[bytes]:
    while True:
        yield b": x\n\n" * 20_000


@pytest.mark.parametrize("path", ["/stream", "/answer"])
def test_a_reader_that_takes_nothing_is_reset(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It keeps neither its place nor what is buffered for it, and is no fault of the service."""
    monkeypatch.setattr(server, "TAKEN_S", 1.0)
    ended = threading.Event()

    async def stream(_: Request) -> EventStream:
        return EventStream(_endless(), ended.set)

    async def answer(_: Request) -> PlainTextResponse:
        return PlainTextResponse("x" * 50_000_000)

    async def ask() -> None:
        routes = (Route("/stream", stream), Route("/answer", answer))
        async with serving(Answers(), *routes) as client:
            base = client._base_url
            assert base is not None
            with socket.create_connection((base.host, base.port)) as slow:
                slow.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                await asyncio.sleep(0.5)
                assert not _is_reset(slow)
                await asyncio.sleep(1.0)
                assert _is_reset(slow)
            async with client.get("/livez") as other:
                assert other.status == 200
        assert path == "/answer" or ended.is_set()

    patiently(ask())
    assert [each.getMessage() for each in caplog.records if each.name.startswith("uvicorn")] == []


@pytest.mark.parametrize(
    "sent",
    ["", "GET /livez HTTP/1.1\r\n", "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"],
)
def test_a_request_that_is_never_whole_ends_with_its_connection(
    sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would keep its place for ever, and a thousand of them keep all others out."""
    monkeypatch.setattr(server, "SENT_S", 1.0)

    async def body(request: Request) -> PlainTextResponse:
        return PlainTextResponse(await request.body())

    async def ask() -> None:
        async with serving(Answers(), Route("/body", body, methods=["POST"])) as client:
            base = client._base_url
            assert base is not None
            reader, writer = await asyncio.open_connection(base.host, base.port)
            writer.write(sent.encode())
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    patiently(ask())


def test_a_connection_that_asks_now_and_then_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request has its time, and a long answer has its own."""
    monkeypatch.setattr(server, "SENT_S", 0.5)

    async def late(_: Request) -> PlainTextResponse:
        await asyncio.sleep(0.8)
        return PlainTextResponse("late")

    async def ask() -> None:
        async with serving(Answers(), Route("/late", late)) as client:
            base = client._base_url
            assert base is not None
            reader, writer = await asyncio.open_connection(base.host, base.port)
            for _ in range(3):
                writer.write(b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
                head = await asyncio.wait_for(reader.readuntil(b"late"), PATIENCE_S)
                assert head.startswith(b"HTTP/1.1 200")
                await asyncio.sleep(0.3)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    patiently(ask())


def _is_reset(reader: socket.socket) -> bool:
    return reader.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET


def test_well_is_200_and_says_nothing_is_wrong() -> None:
    """Alive, ready, and the version."""

    async def ask() -> None:
        async with serving(Answers()) as client:
            for path, body in (
                ("/livez", {"alive": True, "ill": []}),
                ("/readyz", {"ready": True, "missing": []}),
                ("/version", {"version": "9"}),
            ):
                async with client.get(path) as answer:
                    assert answer.status == 200
                    assert await answer.json() == body
                    assert answer.headers["Cache-Control"] == "no-store"

    asyncio.run(ask())


def test_not_ready_is_503_and_says_what_is_missing() -> None:
    """Both probes say in JSON what they found, and recover by themselves."""

    async def ask() -> None:
        answers = Answers()
        async with serving(answers) as client:
            answers.ill, answers.missing = ["the loop stands"], ["no journal", "stopping"]
            async with client.get("/livez") as answer:
                assert answer.status == 503
                assert (await answer.json())["ill"] == ["the loop stands"]
            async with client.get("/readyz") as answer:
                assert answer.status == 503
                assert (await answer.json())["missing"] == ["no journal", "stopping"]
            answers.missing = []
            async with client.get("/readyz") as answer:
                assert answer.status == 200

    asyncio.run(ask())


def test_numbers_are_compressed_for_clients_that_can_read_it() -> None:
    """A scrape of a large fleet is mostly repetition."""

    async def ask() -> None:
        async with serving(Answers()) as client:
            async with client.get("/metrics", headers={"Accept-Encoding": "gzip"}) as answer:
                assert answer.headers["Content-Encoding"] == "gzip"
                assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                assert (await answer.read()).count(b"x 1") == 100
            async with client.get("/metrics", headers={"Accept-Encoding": ""}) as answer:
                assert "Content-Encoding" not in answer.headers

    asyncio.run(ask())


def test_more_routes_can_be_served_beside_the_probes() -> None:
    """An API or a page is handed in; what nothing serves is 404, a probe cannot be written to."""

    async def page(_: Request) -> PlainTextResponse:
        return PlainTextResponse("a page")

    async def ask() -> None:
        async with serving(Answers(), Route("/page", page)) as client:
            async with client.get("/page") as answer:
                assert await answer.text() == "a page"
            async with client.get("/none") as answer:
                assert answer.status == 404
            async with client.post("/readyz") as answer:
                assert answer.status == 405

    asyncio.run(ask())


def test_an_address_in_use_is_named() -> None:
    """The error says which address, what is wrong and what to do."""
    with bind("127.0.0.1", 0) as ear:
        port = ear.getsockname()[1]
        with pytest.raises(OutsideError) as caught:
            bind("127.0.0.1", port)
    assert f"127.0.0.1:{port}: address already in use" in str(caught.value)
    assert "--listen" in str(caught.value)


def test_soak_is_published_by_organisation() -> None:
    """All of it, that of one, and 404 for whom nothing is kept."""
    kept: dict[str, dict[str, str]] = {"prod/o": {}, "prod/p": {}}

    async def use(client: aiohttp.ClientSession) -> None:
        for path, code, keys in (
            ("/soak", 200, {"prod/o", "prod/p"}),
            ("/soak/prod/o", 200, {"prod/o"}),
            ("/soak/prod/q", 404, {"error"}),
        ):
            async with client.get(path) as answer:
                assert (answer.status, set(await answer.json())) == (code, keys)

    async def play() -> None:
        routes = soak_routes(lambda key: {k: v for k, v in kept.items() if key in ("", k)})
        async with serving(Answers(), *routes) as client:
            await use(client)

    asyncio.run(play())


@pytest.mark.parametrize(
    "method, path, status",
    [("GET", "/nope", 404), ("GET", "/soak/%0a", 404), ("PUT", "/version", 405)],
)
def test_what_no_route_answers_is_refused_as_everything_else(
    method: str, path: str, status: int
) -> None:
    """RFC 9457; of a method with those that there are."""

    async def look() -> None:
        async with serving(Answers()) as client, client.request(method, path) as answer:
            assert (answer.status, answer.content_type) == (status, "application/problem+json")
            said = await answer.json()
            assert said["status"] == status
            assert ("GET" in said["detail"]) == ("Allow" in answer.headers) == (status == 405)

    asyncio.run(look())
