"""A simulated fleet for workers in other processes: it keeps its state when they die."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
from aiohttp import web

from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
from tidegate.kinds.rollouts.wire.remote_fleet import (
    ACT,
    CARRIED,
    CHANGES,
    OBSERVE,
    OK,
    PARTITIONS,
    REFUSED,
    STALE,
    TaskDoc,
)
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.json_text import json_decoder

_encode = msgspec.json.Encoder().encode
_read_telling = json_decoder(TaskDoc)
_BAD_REQUEST, _UNAVAILABLE = 400, 503

Answer = Callable[[web.Request], Awaitable[object]]


class FleetServer:
    """Answers for a simulated fleet."""

    def __init__(self, fleet: SimulatedFleet, answer_s: float = 0.0) -> None:
        self._fleet = fleet
        # How long every answer takes: half of it before anything is done, half after.
        self._answer_s = answer_s
        self._stopped = asyncio.Event()
        # Tasks that stream changes until the server stops.
        self._lines: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """Answer no more."""
        self._stopped.set()

    async def serve(self, ear: socket.socket) -> None:
        """Answer requests until stopped."""
        app = web.Application()
        app.router.add_get(PARTITIONS, self._answering(self._partitions))
        app.router.add_get(OBSERVE, self._answering(self._observe))
        app.router.add_post(ACT, self._answering(self._act))
        app.router.add_get(CHANGES, self._changes)
        app.router.add_get(CARRIED, self._answering(self._carried))
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.SockSite(runner, ear).start()
        await self._stopped.wait()
        for line in self._lines:
            line.cancel()
        await runner.cleanup()

    def _answering(self, answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def respond(request: web.Request) -> web.Response:
            await asyncio.sleep(self._answer_s / 2)
            try:
                body = _encode(await answer(request))
                status = OK
            except StaleError as error:
                status, body = STALE, str(error).encode()
            except OutsideError as error:
                status, body = _UNAVAILABLE, str(error).encode()
            except KeyError as error:
                status, body = REFUSED, f"no rollout {error}".encode()
            except msgspec.DecodeError as error:
                status, body = _BAD_REQUEST, str(error).encode()
            await asyncio.sleep(self._answer_s / 2)
            return web.Response(status=status, body=body, content_type="application/json")

        return respond

    async def _partitions(self, _: web.Request) -> object:
        return await self._fleet.partitions()

    async def _observe(self, request: web.Request) -> object:
        return await self._fleet.observe(request.query["partition"])

    async def _act(self, request: web.Request) -> object:
        telling = _read_telling(await request.read())
        return await self._fleet.act(telling.partition, telling.task)

    async def _carried(self, _: web.Request) -> object:
        return self._fleet.carried

    async def _changes(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        line = asyncio.create_task(self._tell(response))
        self._lines.add(line)
        await asyncio.wait((line,))
        self._lines.discard(line)
        return response

    async def _tell(self, response: web.StreamResponse) -> None:
        with suppress(OSError):  # the listener has gone
            async for partition in self._fleet.changes():
                await response.write(f"{partition}\n".encode())
