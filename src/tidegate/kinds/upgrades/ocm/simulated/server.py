"""A simulated OpenShift Cluster Manager over HTTP: a thin layer that lets in, errs and is slow.

Beside the interface of the real one there is one of the simulation: `GET /simulation` tells its
time and what was written; `POST /simulation` lets time pass, things go wrong, and clusters change.
"""

import asyncio
import secrets
import socket
from contextlib import suppress

import msgspec
from aiohttp import web

from tidegate.kinds.upgrades.ocm.simulated.answers import OcmAnswer, OcmCall, json_answer, refusal
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault
from tidegate.kinds.upgrades.ocm.simulated.requests import answer
from tidegate.kinds.upgrades.ocm.simulated.state import OcmState
from tidegate.kinds.upgrades.ocm.simulated.tokens import Tokens
from tidegate.kinds.upgrades.ocm.simulated.upgrades import live
from tidegate.model.json_text import decode_json
from tidegate.model.time import SECOND, Duration, format_instant, parse_duration
from tidegate.simulation.fast_loop import SimulatedClock

TOKEN_PATH = "/token"
CONTROL_PATH = "/simulation"
# Requests that are still open when the server stops are cut.
_PATIENCE_S = 0.1
# Longer ones are refused by the proxies in front of the real one.
_LINE_MAX = 8190


class ManagerServer:
    """Answers for a state."""

    def __init__(
        self, state: OcmState, clock: SimulatedClock, tokens: Tokens, luck: FaultDraw
    ) -> None:
        self.state = state
        self.clock = clock
        self.luck = luck
        self.tokens = tokens
        self.calls = 0
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Answer no more."""
        self._stopped.set()

    async def serve(self, ear: socket.socket) -> None:
        """Answer requests until stopped."""
        app = web.Application()
        app.router.add_post(TOKEN_PATH, self._token)
        app.router.add_get(CONTROL_PATH, self._tell)
        app.router.add_post(CONTROL_PATH, self._control)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(
            app,
            access_log=None,
            shutdown_timeout=_PATIENCE_S,
            handler_cancellation=False,
            max_line_size=_LINE_MAX,
        )
        await runner.setup()
        try:
            await web.SockSite(runner, ear).start()
            await self._stopped.wait()
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        loop, self.calls = asyncio.get_running_loop(), self.calls + 1
        fault, troubles = self.luck.draw(loop.time()), self.luck.troubles
        # Half of the way before anything is done, half after.
        await asyncio.sleep(troubles.latency_s / 2)
        if fault is OcmFault.CUT:
            return _cut(request)
        path = request.path
        org = self.tokens.org_of(request.headers.get("Authorization", ""), loop.time())
        if fault is OcmFault.TOO_MANY:
            found = refusal(path, 429, "Too many requests")
        elif fault is OcmFault.ERROR:
            found = refusal(path, 500, "An internal error occurred")
        elif org is None:
            found = refusal(path, 401, "Bearer token is missing, unknown or expired")
        else:
            found = await self._carried_out(request, org)
        await asyncio.sleep(troubles.latency_s / 2)
        if fault is OcmFault.LOST:
            return _cut(request)
        headers = {"X-Operation-ID": secrets.token_hex(8)}
        if fault is OcmFault.TOO_MANY:
            headers["Retry-After"] = str(troubles.retry_after_s)
        return _response(found, headers)

    async def _carried_out(self, request: web.Request, org: str) -> OcmAnswer:
        body, raw = None, await request.read()
        if raw:
            try:
                body = decode_json(raw)
            except msgspec.DecodeError as error:
                return refusal(request.path, 400, f"The body is not JSON: {error}")
        asked = OcmCall(request.method, request.path, dict(request.query), body, org)
        return answer(self.state, asked, self.clock.now())

    async def _token(self, request: web.Request) -> web.StreamResponse:
        form = {name: str(value) for name, value in (await request.post()).items()}
        now_s = asyncio.get_running_loop().time()
        fault = self.luck.draw(now_s)
        await asyncio.sleep(self.luck.troubles.latency_s)
        if fault in (OcmFault.CUT, OcmFault.LOST):
            return _cut(request)
        if fault is not None:
            return _response(json_answer({"error": "temporarily_unavailable"}, 503))
        return _response(self.tokens.give(form, now_s))

    async def _tell(self, _: web.Request) -> web.StreamResponse:
        now = self.clock.now()
        live(self.state, now)
        next_at = self.state.next_due()
        document = {
            "now": format_instant(now),
            "speed": self.clock.speed,
            "next": None if next_at is None else format_instant(next_at),
            "calls": self.calls,
            "tokens": self.tokens.number,
            "faults": dict(self.luck.met),
            "writes": list(self.state.writes),
        }
        return _response(json_answer(document))

    async def _control(self, request: web.Request) -> web.StreamResponse:
        try:
            self._heed(decode_json(await request.read(), _Control))
        except (msgspec.DecodeError, ValueError) as error:
            return _response(refusal(CONTROL_PATH, 400, f'{error}; write {{"skip": "6h"}}'))
        return await self._tell(request)

    def _heed(self, asked: "_Control") -> None:
        """Control the simulation; ValueError if there is no such cluster or time."""
        strangers = sorted(asked.clusters.keys() - self.state.declared.keys())
        if strangers:
            raise ValueError(f"no cluster {strangers[0]}")
        skip = parse_duration(asked.skip)
        troubles = self.luck.troubles
        if asked.faults is not None:
            troubles = msgspec.structs.replace(troubles, permille=asked.faults)
        if asked.latency is not None:
            latency_s = parse_duration(asked.latency) / SECOND
            troubles = msgspec.structs.replace(troubles, latency_s=latency_s)
        self.luck.troubles = troubles
        live(self.state, self.clock.now())
        for key, value in asked.clusters.items():
            self.state.cluster(key)["state"] = value
        self.state.touch()
        self.clock.skip(Duration(max(0, skip)))


class _Control(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to control a simulation: any of these."""

    skip: str = "0s"
    # Of a thousand calls, in place of what was; None: as before.
    faults: dict[OcmFault, int] | None = None
    latency: str | None = None
    # The states of clusters, by their ids.
    clusters: dict[str, str] = {}


def _response(found: OcmAnswer, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(
        status=found.status, body=found.body, headers=headers, content_type="application/json"
    )


def _cut(request: web.Request) -> web.Response:
    """The connection ends, and nothing comes back."""
    if request.transport is not None:
        with suppress(OSError):
            request.transport.abort()
    return web.Response(status=500)
