"""What goes wrong between a forge and a caller, on demand."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Fault:
    """Something that goes wrong some times with some requests."""

    # `cut`: it is carried out and its answer lost; `slow`: nothing for a while; or a status.
    what: str
    method: str = ""
    # In the path.
    of: str = ""
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    says: str = "faulty"

    def hits(self, request: web.Request) -> bool:
        """Whether a request is met, this time."""
        if self.times <= 0 or self.method not in ("", request.method):
            return False
        if self.of not in request.path:
            return False
        self.times -= 1
        return True


async def spoilt(fault: Fault, request: web.Request, answer: Answer) -> web.StreamResponse:
    """An answer as a fault leaves it."""
    if fault.what == "cut":
        done = await answer(request)
        assert request.transport is not None
        request.transport.abort()
        return done
    if fault.what == "slow":
        await asyncio.sleep(30)
        return await answer(request)
    body = {"message": f"{fault.says}, {request.headers.get('Authorization', '')}"}
    body["message"] += request.headers.get("PRIVATE-TOKEN", "")
    return web.json_response(body, status=int(fault.what), headers=fault.headers)
