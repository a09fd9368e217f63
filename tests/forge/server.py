"""A forge for tests: real repositories behind real HTTP, and the interfaces of three vendors.

What one vendor's client does, another's can see: they share one world. A request that is not as the
vendor describes it is an answer of 500 here, and fails the test that made it when it ends.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from aiohttp import web

from tests.forge.bare import bare_repository
from tests.forge.faults import Answer, Fault, spoilt
from tests.forge.git_http import answer_git
from tests.forge.gitea_api import GITEA
from tests.forge.github_api import GITHUB
from tests.forge.gitlab_api import GITLAB
from tests.forge.rest import AbsentError, Call, Vendor
from tests.forge.world import Project, World
from tests.patience import ended, happened

PROJECT = "group/config"
VENDORS = {"gitlab": GITLAB, "github": GITHUB, "gitea": GITEA}


@dataclass
class ForgeServer:
    """Who answers, what is wrong with it, and what it was asked."""

    world: World
    # Of its pages.
    site: str = ""
    faults: list[Fault] = field(default_factory=list)
    # Method and path of every request to an interface, in order.
    seen: list[tuple[str, str]] = field(default_factory=list)
    # What was not as a vendor describes it.
    odd: list[str] = field(default_factory=list)

    @property
    def project(self) -> Project:
        """The project there is."""
        return self.world.projects[PROJECT]

    @property
    def remote(self) -> str:
        """Where git finds it."""
        return f"{self.site}/{PROJECT}.git"

    def asked(self, method: str, part: str = "") -> int:
        """How often something was asked."""
        return sum(1 for each, path in self.seen if each == method and part in path)

    async def answer(self, vendor: Vendor, operation: str, request: web.Request) -> web.Response:
        """Let a vendor answer a request."""
        user = self.world.user(vendor.token(request))
        if user is None:
            return web.json_response({"message": "401 Unauthorized"}, status=401)
        body = await request.json() if request.can_read_body else {}
        parts = dict(request.match_info)
        call = Call(self.world, user, self.site, parts, dict(request.query), body, request.path)
        try:
            reply = vendor.carry_out(operation, call)
        except AbsentError as error:
            return web.json_response({"message": str(error)}, status=404)
        except AssertionError as error:
            self.odd.append(str(error))
            return web.json_response({"message": str(error)}, status=500)
        if reply.data is None:
            return web.Response(status=reply.status, headers=reply.headers)
        return web.json_response(reply.data, status=reply.status, headers=reply.headers)

    def routes(self) -> web.Application:
        """Everything that is answered here."""
        app = web.Application(middlewares=[self._meddle])
        for vendor in VENDORS.values():
            for operation in vendor.operations:
                method, _, path = operation.partition(" ")

                async def handle(
                    request: web.Request, vendor: Vendor = vendor, operation: str = operation
                ) -> web.Response:
                    return await self.answer(vendor, operation, request)

                app.router.add_route(method, f"{vendor.prefix}{path}", handle)

        async def git(request: web.Request) -> web.Response:
            return await answer_git(self.world, request)

        app.router.add_route("*", "/{path:.+\\.git/.+}", git)
        return app

    @web.middleware
    async def _meddle(self, request: web.Request, handler: Answer) -> web.StreamResponse:
        if request.path.startswith("/api/"):
            self.seen.append((request.method, request.path))
            for fault in self.faults:
                if fault.hits(request):
                    return await spoilt(fault, request, handler)
        return await handler(request)


@asynccontextmanager
async def forge_server(folder: Path) -> AsyncIterator[ForgeServer]:
    """A forge with one project of one commit, until the end."""
    world = World(folder)
    world.projects[PROJECT] = Project(PROJECT, bare_repository(folder / f"{PROJECT}.git"))
    server = ForgeServer(world)
    runner = web.AppRunner(server.routes(), shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.site = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()
    assert not server.odd, server.odd


@contextmanager
def forge_beside(folder: Path) -> Iterator[ForgeServer]:
    """The same in a thread of its own, for commands that run in the test's."""
    ready, found = Event(), list[tuple[ForgeServer, asyncio.Event, asyncio.AbstractEventLoop]]()

    async def serve() -> None:
        over = asyncio.Event()
        async with forge_server(folder) as server:
            found.append((server, over, asyncio.get_running_loop()))
            ready.set()
            await over.wait()

    thread = Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    happened(ready, "the forge is there")
    server, over, loop = found[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        ended(thread)
    assert not server.odd, server.odd
