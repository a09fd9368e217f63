"""The application: probes and numbers, and whatever routes it is given beside them.

An API or a page is a sequence of routes handed to `make_app`; nothing here has to change for it.
"""

from collections.abc import Callable, Sequence

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Shorter answers are not worth compressing.
GZIP_FROM_BYTES = 500
# 50,000 cells take 5 ms at this level and 15 ms at the highest, for the same 120 kB.
GZIP_LEVEL = 6

# What is wrong or missing; nothing, if all is well.
Check = Callable[[], list[str]]


class Probes(msgspec.Struct, frozen=True):
    """What is asked of the process behind the application."""

    ill: Check
    missing: Check
    metrics: Callable[[], bytes]
    version: dict[str, str]


def make_app(probes: Probes, routes: Sequence[BaseRoute] = ()) -> Starlette:
    """The application, with more routes if there are any."""

    async def livez(_: Request) -> Response:
        return _checked("alive", "ill", probes.ill())

    async def readyz(_: Request) -> Response:
        return _checked("ready", "missing", probes.missing())

    def metrics(_: Request) -> Response:
        # Not async: it counts the targets of every plan, so it runs in a thread.
        return Response(probes.metrics(), media_type=METRICS_TYPE)

    async def version(_: Request) -> Response:
        return json_answer(probes.version)

    ours = [
        Route("/livez", livez),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
        Route("/version", version),
    ]
    squeeze = Middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL)
    return Starlette(routes=[*ours, *routes], middleware=[squeeze])


def _checked(word: str, wrong: str, found: list[str]) -> Response:
    """200 if nothing is wrong, else 503; in both cases what was looked at."""
    return json_answer({word: not found, wrong: found}, 503 if found else 200)


def json_answer(data: object, code: int = 200) -> Response:
    """Data as an answer that is not cached."""
    headers = {"Cache-Control": "no-store"}
    body = msgspec.json.encode(data) + b"\n"
    return Response(body, code, headers=headers, media_type="application/json")
