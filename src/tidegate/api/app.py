"""The application: probes and numbers, and whatever routes it is given beside them.

An API or a page is a sequence of routes handed to `make_app`; nothing here has to change for it.
"""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import perf_counter

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tidegate.api.dispatch import problem_answer
from tidegate.api.problem import RequestError, problem_of

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Shorter answers are not worth compressing.
GZIP_FROM_BYTES = 500
# 50,000 cells take 5 ms at this level and 15 ms at the highest, for the same 120 kB.
GZIP_LEVEL = 6

# What is wrong or missing; nothing, if all is well.
Check = Callable[[], Awaitable[Sequence[str]]]
# Called with the method, the path and the time of a request that was answered.
Timed = Callable[[str, str, float], None]


class Probes(msgspec.Struct, frozen=True):
    """What is asked of the process that works, which may be another one."""

    ill: Check
    missing: Check
    metrics: Callable[[], Awaitable[bytes]]
    version: dict[str, str]


def local_probes(
    ill: Callable[[], list[str]],
    missing: Callable[[], list[str]],
    metrics: Callable[[], bytes],
    version: dict[str, str],
) -> Probes:
    """Probes of this process."""

    async def ill_now() -> list[str]:
        return ill()

    async def missing_now() -> list[str]:
        return missing()

    # In a thread: it counts the targets of every plan.
    return Probes(ill_now, missing_now, partial(to_thread, metrics), version)


def make_app(
    probes: Probes, routes: Sequence[BaseRoute] = (), timed: Timed | None = None
) -> Starlette:
    """The application, with more routes if there are any."""

    async def livez(_: Request) -> Response:
        return _checked("alive", "ill", await probes.ill())

    async def readyz(_: Request) -> Response:
        return _checked("ready", "missing", await probes.missing())

    async def metrics(_: Request) -> Response:
        return Response(await probes.metrics(), media_type=METRICS_TYPE)

    async def version(_: Request) -> Response:
        return json_answer(probes.version)

    ours = [
        Route("/livez", livez),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
        Route("/version", version),
    ]
    around = [Middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL)]
    if timed is not None:
        around.insert(0, Middleware(RequestTimes, timed=timed))
    refused = {HTTPException: _refused}
    return Starlette(routes=[*ours, *routes], middleware=around, exception_handlers=refused)


class RequestTimes:
    """Tells how long each request took, from its first byte read to its last byte sent."""

    def __init__(self, app: ASGIApp, timed: Timed) -> None:
        self._app = app
        self._timed = timed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and tell."""
        began = perf_counter()
        await self._app(scope, receive, send)
        if scope["type"] == "http":
            self._timed(scope["method"], scope["path"], perf_counter() - began)


def _refused(request: Request, error: Exception) -> Response:
    """What no route answers, in the form of every other error."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    what, path = "no route", request.url.path
    name, title, there = "no-route", "No such route", "/openapi.json lists those of the API"
    if error.status_code == 405:
        name, title, what = "method", "No such method", f"{request.method}"
        there = f"write {' or '.join(headers.get('Allow', 'another').split(', '))}"
    problem = problem_of(RequestError(error.status_code, name, title, f"{what} {path}; {there}"))
    return problem_answer(problem, headers)


def _checked(word: str, wrong: str, found: Sequence[str]) -> Response:
    """200 if nothing is wrong, else 503; in both cases what was looked at."""
    return json_answer({word: not found, wrong: found}, 503 if found else 200)


def json_answer(data: object, code: int = 200) -> Response:
    """Data as an answer that is not cached."""
    headers = {"Cache-Control": "no-store"}
    body = msgspec.json.encode(data) + b"\n"
    return Response(body, code, headers=headers, media_type="application/json")
