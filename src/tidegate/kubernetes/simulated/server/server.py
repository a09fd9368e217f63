"""Simulated clusters over HTTP, for clients of a real one: a path and a token each.

It speaks as much of the API as Tidegate's own client uses, and refuses the rest in words.
"""

import asyncio
import hmac
import socket
from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress

import msgspec
from aiohttp import web

from tidegate.kubernetes.port import (
    POD,
    ExpiredError,
    ObjectEvent,
    ObjectRefusedError,
    ResourceKind,
)
from tidegate.kubernetes.simulated.api import LogLine, PodContents, SimulatedApi
from tidegate.kubernetes.simulated.cluster import chooser
from tidegate.kubernetes.simulated.server.refusals import RefusalError, refusal_of
from tidegate.kubernetes.simulated.server.resources import (
    PLURALS,
    Json,
    Resources,
    decoded,
    named,
    operations,
    refused,
)
from tidegate.model.errors import OutsideError, TidegateError
from tidegate.model.time import format_instant, parse_instant

APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
# A watch tells its version so often while nothing happens.
BOOKMARK_S = 30.0
# Where a watch says nothing of its end.
WATCH_DEFAULT_S = 1800
# Who still listens when the server stops is not waited for.
_PATIENCE_S = 0.1
_encode = msgspec.json.Encoder().encode


class Hosted(msgspec.Struct, frozen=True):
    """A cluster, and the token that opens it."""

    api: SimulatedApi
    token: str


class _Place(msgspec.Struct, frozen=True):
    """What a path leads to."""

    kind: ResourceKind
    namespace: str
    name: str = ""
    below: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[ResourceKind, str, str]:
        """The object there."""
        return self.kind, self.namespace, self.name


class KubeServer:
    """Answers for several simulated clusters."""

    def __init__(self, hosted: Iterable[Hosted]) -> None:
        self._doors = {each.api.name: _Door(each) for each in hosted}
        self._stopped = asyncio.Event()
        # Clusters that do not answer.
        self.down: set[str] = set()

    def stop(self) -> None:
        """Answer no more."""
        self._stopped.set()

    async def serve(self, ear: socket.socket) -> None:
        """Answer requests, until stopped."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{cluster}/{path:.*}", self._answer)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=_PATIENCE_S, handler_cancellation=True
        )
        await runner.setup()
        try:
            await web.SockSite(runner, ear).start()
            await self._stopped.wait()
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["cluster"]
        if name in self.down and request.transport is not None:
            request.transport.abort()
            return web.Response(status=503)
        try:
            if name not in self._doors:
                raise RefusalError(404, f"no cluster {name} is simulated here")
            return await self._doors[name].answer(request)
        except RefusalError as refusal:
            return _json(refusal.status(), refusal.code)


class _Door:
    """Answers for one cluster."""

    def __init__(self, hosted: Hosted) -> None:
        self._api = hosted.api
        self._token = hosted.token
        self._resources = Resources(hosted.api)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """What one request gets."""
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            raise RefusalError(401, "Unauthorized")
        path = tuple(filter(None, request.match_info["path"].split("/")))
        if path in (("readyz",), ("livez",), ("healthz",)):
            return web.Response(text="ok")
        if path == ("version",):
            return _json({"major": "1", "minor": "36", "gitVersion": "v1.36.0-simulated"})
        if path[:3] == ("api", "v1", "namespaces") and len(path) <= 4:
            return await self._namespaces(request, path[3:])
        place = _place(path)
        try:
            self._api.fault(f"{request.method} {place.kind.name}")
            return await self._at(request, place)
        except TidegateError as error:
            raise refused(error, place.kind) from None
        except ValueError as error:
            # A number that is none, a selector that is none.
            raise RefusalError(400, str(error)) from None

    async def _at(self, request: web.Request, place: _Place) -> web.StreamResponse:
        if place.below == ("status",) and request.content_type == MERGE_PATCH:
            body = decoded(await request.read())
            return _json(await self._resources.write_status(place.key, body))
        if place.below:
            return await self._below(request, place)
        if request.method == "GET" and place.name:
            return _json(self._resources.get(place.key))
        if request.method == "GET" and request.query.get("watch") in ("true", "1"):
            return await self._watch(request, place)
        if request.method == "GET":
            return _json(self._resources.list(place.kind, place.namespace, request.query))
        if request.method == "PATCH" and place.name:
            return await self._patch(request, place, await request.read())
        body = decoded(await request.read())
        if request.method == "DELETE" and place.name:
            return _json(self._resources.delete(place.key, request.query, body))
        if request.method == "PUT" and place.name:
            return _json(self._resources.write(place.key, body, new=False))
        if request.method == "POST" and not place.name and place.namespace:
            name = named(body)
            key = (place.kind, place.namespace, name)
            manager = request.query.get("fieldManager", "")
            return _json(self._resources.write(key, body, new=True, manager=manager), 201)
        raise RefusalError(405, f"{request.method} is not simulated here")

    async def _patch(self, request: web.Request, place: _Place, body: bytes) -> web.Response:
        if request.content_type == APPLY:
            code, document = await self._resources.apply(place.key, request.query, decoded(body))
            return _json(document, code)
        if request.content_type == JSON_PATCH:
            return _json(self._resources.patch(place.key, request.query, operations(body)))
        raise RefusalError(415, f"{request.content_type} is not simulated: use server-side apply")

    async def _namespaces(self, request: web.Request, path: tuple[str, ...]) -> web.Response:
        if request.method == "POST" and not path:
            name = named(decoded(await request.read()))
            self._api.namespaces.add(name)
            return _json(_namespace(name), 201)
        if path and path[0] in self._api.namespaces:
            return _json(_namespace(path[0]))
        if path:
            raise RefusalError(404, f'namespaces "{path[0]}" not found')
        items = [_namespace(name) for name in sorted(self._api.namespaces)]
        metadata = {"resourceVersion": str(self._api.version)}
        return _json(
            {"kind": "NamespaceList", "apiVersion": "v1", "metadata": metadata, "items": items}
        )

    async def _below(self, request: web.Request, place: _Place) -> web.StreamResponse:
        """A pod's log, or what it answers."""
        insides = self._api.insides
        if request.method != "GET" or place.kind != POD or insides is None:
            raise RefusalError(404, "the server could not find the requested resource")
        if place.below == ("log",):
            return await self._log(request, place, insides)
        if place.below[0] != "proxy":
            raise RefusalError(404, "the server could not find the requested resource")
        pod, _, port = place.name.partition(":")
        try:
            number = int(port or 80)
            text = insides.answer(place.namespace, pod, number, "/".join(place.below[1:]))
        except ValueError:
            raise RefusalError(400, f"{place.name}: a port is a number here") from None
        except OutsideError as error:
            if "HTTP 404" in str(error):
                raise RefusalError(404, str(error)) from None
            raise RefusalError(503, f"error trying to reach service: {error}") from None
        return web.Response(text=text)

    async def _log(
        self, request: web.Request, place: _Place, insides: PodContents
    ) -> web.StreamResponse:
        query = request.query
        try:
            lines = insides.lines(
                place.namespace,
                place.name,
                query.get("container", ""),
                follow=query.get("follow") in ("true", "1"),
                tail=int(query["tailLines"]) if "tailLines" in query else None,
                since=parse_instant(query["sinceTime"]) if "sinceTime" in query else None,
            )
        except ObjectRefusedError as error:
            raise RefusalError(400, str(error)) from None
        except ValueError as error:
            raise RefusalError(400, f"{query}: {error}") from None
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        stamps = query.get("timestamps") in ("true", "1")
        with suppress(OSError):  # the client has gone
            async with aclosing(lines) as written:
                async for line in written:
                    await response.write(_log_line(line, stamps))
        return response

    async def _watch(self, request: web.Request, place: _Place) -> web.StreamResponse:
        query = request.query
        asked = int(query.get("resourceVersion") or 0)
        lasts_s = int(query.get("timeoutSeconds") or WATCH_DEFAULT_S)
        watch = _Watch(self._api, self._resources, place, query.get("labelSelector", ""))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        with suppress(OSError):  # the client has gone
            try:
                after = asked or await watch.tell_all(response)
                if after > self._api.version:
                    # As after this program was started again: only a new reading helps.
                    raise ExpiredError("a version of the future")
                await watch.tell(response, after, lasts_s)
            except ExpiredError as error:
                status = refusal_of(error).status()
                await response.write(_encode({"type": "ERROR", "object": status}) + b"\n")
        return response


class _Watch:
    """The events for one listener."""

    def __init__(
        self, api: SimulatedApi, resources: Resources, place: _Place, selector: str
    ) -> None:
        self._api = api
        self._resources = resources
        self._place = place
        self._chosen = chooser(selector)

    async def tell_all(self, response: web.StreamResponse) -> int:
        """What is there; and of which version that is."""
        version = self._api.version
        for key, record in list(self._api.listed(self._place.kind, self._place.namespace)):
            await self._tell(response, ObjectEvent.ADDED, self._resources.shown(key, record))
        return version

    async def tell(self, response: web.StreamResponse, after: int, lasts_s: float) -> None:
        """What happens, for so long; and now and then that nothing did."""
        loop = asyncio.get_running_loop()
        end = loop.time() + lasts_s
        while (left_s := end - loop.time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, BOOKMARK_S)):
                    async with aclosing(self._api.happened(after)) as events:
                        async for key, change, record in events:
                            # What was handed over counts as sent, even if the end comes meanwhile.
                            after = record.version
                            if key[0] == self._place.kind and self._place.namespace in ("", key[1]):
                                document = self._resources.shown(key, record)
                                await self._tell(response, change, document)
            metadata = {"resourceVersion": str(after)}
            kind = self._place.kind
            mark = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}
            await response.write(_encode({"type": "BOOKMARK", "object": mark}) + b"\n")

    async def _tell(
        self, response: web.StreamResponse, change: ObjectEvent, document: Json
    ) -> None:
        if self._chosen(document):
            await response.write(_encode({"type": change.value, "object": document}) + b"\n")


def _place(path: tuple[str, ...]) -> _Place:
    core = path[:1] == ("api",)
    version, rest = ("/".join(path[1:2]), path[2:]) if core else ("/".join(path[1:3]), path[3:])
    namespace = ""
    if rest[:1] == ("namespaces",) and len(rest) >= 3:
        namespace, rest = rest[1], rest[2:]
    kind = PLURALS.get((version, rest[0])) if rest else None
    if kind is None or path[:1] not in (("api",), ("apis",)):
        raise RefusalError(404, "the server could not find the requested resource")
    return _Place(kind, namespace, rest[1] if len(rest) > 1 else "", rest[2:])


def _namespace(name: str) -> Json:
    metadata = {"name": name, "uid": f"namespace-{name}"}
    status = {"phase": "Active"}
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata, "status": status}


def _log_line(line: LogLine, stamped: bool) -> bytes:
    stamp = f"{format_instant(line.at)} " if stamped else ""
    return f"{stamp}{line.text}\n".encode()


def _json(document: Mapping[str, object], code: int = 200) -> web.Response:
    return web.Response(status=code, body=_encode(document), content_type="application/json")
