"""How pods are asked through a server that breaks off: nothing twice, nothing left out, bounds."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.patience import patiently
from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.pods import PodLimits, PodReach
from tidegate.kubernetes.port import POD, NotAllowedError, Object
from tidegate.model.errors import OutsideError

QUICK = PodLimits(timeout_s=0.5, bytes_max=1000, pause_s=0.001, pause_max_s=0.01, failures_max=3)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def pod(address: str = "") -> Object:
    """A pod at an address."""
    document = {"metadata": {"name": "p"}, "status": {"podIP": address}}
    return Object(POD, "ns", "p", "u", "1", False, document)


class LogServer:
    """Has a log, and breaks off after so many lines each time it is asked; then the pod is gone."""

    def __init__(self, lines: list[str], breaks: list[int]) -> None:
        self._lines = lines
        self._breaks = breaks
        self.asked: list[dict[str, str]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The log from the second that is asked for, or whether there still is a pod."""
        if not request.path.endswith("/log"):
            there = bool(self._breaks)
            return web.json_response({"status": {"phase": "Running"}}, status=200 if there else 404)
        self.asked.append(dict(request.query))
        since = request.query.get("sinceTime", "")
        lines = [line for line in self._lines if line[:19] >= since[:19]]
        response = web.StreamResponse()
        await response.prepare(request)
        count = self._breaks.pop(0)
        await response.write("".join(f"{line}\n" for line in lines[:count]).encode())
        if self._breaks:
            # Without the end that belongs to a whole answer.
            await response.write(b"half a l")
            assert request.transport is not None
            request.transport.abort()
        return response


def play(answer: Answer, story: Callable[[str], Awaitable[None]]) -> None:
    """A story played on a server; its address is handed over."""

    async def played() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        async with TestServer(app, host="127.0.0.1") as server, asyncio.timeout(30):
            await story(str(server.make_url("")).rstrip("/"))

    patiently(played())


def cluster(
    url: str, reach: PodReach = PodReach.PROXY, asking: PodLimits = QUICK
) -> KubernetesCluster:
    """A cluster at an address."""
    access = ClusterAccess(name="c", server=url, token="secret")
    return KubernetesCluster(access, reach=reach, asking=asking)


def test_a_followed_log_goes_on_where_it_broke_off() -> None:
    """Lines of one moment are reported as often as they were written, and none twice."""
    second = "2026-11-15T10:00:0"
    lines = [
        *(f"{second}1.{digit}Z line {digit}" for digit in ("1", "12", "2")),
        *(f"{second}2.5Z same" for _ in range(4)),
        f"{second}2.75Z last",
        f"{second}3Z end",
    ]
    server = LogServer(lines, breaks=[2, 3, 3, 6, 99])

    async def story(url: str) -> None:
        found = cluster(url)
        told = [line async for line in found.logs("ns", "p", "int", follow=True, tail=100)]
        await found.close()
        assert told == [line.partition(" ")[2] for line in lines]

    play(server.answer, story)
    assert server.asked[0]["tailLines"] == "100"
    assert all("tailLines" not in query for query in server.asked[1:])
    assert len(server.asked) == 5


def test_a_log_that_is_not_followed_is_read_once() -> None:
    """If it breaks off, that is an error: no one takes half a log for a whole one."""
    server = LogServer(["2026-11-15T10:00:01Z a", "2026-11-15T10:00:02Z b"], breaks=[1, 2])

    async def story(url: str) -> None:
        found = cluster(url)
        with pytest.raises(OutsideError, match="c: pod/ns/p: the connection broke"):
            _ = [line async for line in found.logs("ns", "p")]
        await found.close()

    play(server.answer, story)


def test_a_server_that_breaks_off_for_ever_is_given_up() -> None:
    """After as many failures in a row as are borne."""
    server = LogServer([], breaks=[0] * 100)

    async def story(url: str) -> None:
        found = cluster(url)
        with pytest.raises(OutsideError, match="the connection broke"):
            _ = [line async for line in found.logs("ns", "p", follow=True)]
        await found.close()

    play(server.answer, story)
    assert len(server.asked) == QUICK.failures_max + 1


def test_a_pod_is_asked_through_the_api_server_or_at_its_address() -> None:
    """Our token goes to the API server, and never to a pod."""
    asked: list[tuple[str, str | None]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append((request.path, request.headers.get("Authorization")))
        return web.Response(text="up 1\n")

    async def story(url: str) -> None:
        port = int(url.rpartition(":")[2])
        for reach in PodReach:
            found = cluster(url, reach)
            assert await found.fetch(pod("127.0.0.1"), port, "/metrics") == "up 1\n"
            await found.close()
        proxied = f"/api/v1/namespaces/ns/pods/p:{port}/proxy/metrics"
        assert asked == [(proxied, "Bearer secret"), ("/metrics", None)]

    play(answer, story)


@pytest.mark.parametrize("reach", list(PodReach))
def test_what_a_pod_answers_is_bounded(reach: PodReach) -> None:
    """In size and in time; and whatever is not 200 is an error that names the pod."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("large"):
            return web.Response(text="x" * 2000)
        if request.path.endswith("slow"):
            await asyncio.sleep(5)
        return web.Response(status=409 if request.path.endswith("odd") else 404)

    async def story(url: str) -> None:
        port = int(url.rpartition(":")[2])
        for path, why in (
            ("large", "an answer of more than 1000 bytes"),
            ("slow", "no answer in 0.5 s"),
            ("none", "HTTP 404"),
            ("odd", "409"),
        ):
            found = cluster(url, reach)
            with pytest.raises(OutsideError, match=f"c: pod/ns/p: port {port}: .*{why}"):
                await found.fetch(pod("127.0.0.1"), port, path)
            await found.close()

    play(answer, story)


def test_a_pod_without_an_address_is_no_use_to_ask() -> None:
    """And neither is one where nothing listens; a refusal of the API server stays one."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=403)

    async def story(url: str) -> None:
        direct, proxied = cluster(url, PodReach.DIRECT), cluster(url)
        with pytest.raises(OutsideError, match="no address yet"):
            await direct.fetch(pod(), 9090, "metrics")
        with pytest.raises(OutsideError, match="does not answer"):
            await direct.fetch(pod("127.0.0.1"), 1, "metrics")
        with pytest.raises(NotAllowedError, match="403"):
            await proxied.fetch(pod(), 9090, "metrics")
        await direct.close()
        await proxied.close()

    play(answer, story)
