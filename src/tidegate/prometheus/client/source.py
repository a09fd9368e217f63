"""Queries Prometheus servers for evidence: all requests of a probe at once, each server by itself.

`questions.py` and `testimony.py` decide what is requested and what follows from the answers; this
module only transports them, within limits: concurrent calls, tries, time, size.
"""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from time import monotonic_ns
from types import MappingProxyType

import aiohttp
import msgspec

from tidegate.documents.probe import PrometheusProbe
from tidegate.gates.health import Evidence
from tidegate.model.errors import OutsideError
from tidegate.model.problem import nearest, shorten, shown
from tidegate.model.time import Duration, Instant
from tidegate.net.http_request import (
    PASSING,
    PassingError,
    bounded,
    passing,
    plain_session,
    tries,
    trusted_by,
)
from tidegate.prometheus.answer import QueryResult, read_now, refusal
from tidegate.prometheus.client.secrets import headers
from tidegate.prometheus.questions import ProbeQuestion, PrometheusRequest, questions
from tidegate.prometheus.server import PrometheusServer
from tidegate.prometheus.testimony import Answers, weigh


class PrometheusLimits(msgspec.Struct, frozen=True):
    """Limits on concurrency, tries, time and size of requests to one server."""

    concurrency_max: int = 4
    # One try of one question.
    timeout_s: float = 10.0
    # All tries of one question.
    total_s: float = 20.0
    tries_max: int = 3
    # The first pause between two tries; later ones grow, with jitter.
    pause_s: float = 0.2
    # 25 shards with two counters, scraped every 15 s for 6 h, are 1.3 MB.
    bytes_max: int = 32 * 1024 * 1024


class PrometheusSource:
    """Evidence from Prometheus servers, by name or by address."""

    def __init__(
        self, servers: Iterable[PrometheusServer] = (), limits: PrometheusLimits | None = None
    ) -> None:
        self._servers: Mapping[str, PrometheusServer] = MappingProxyType(
            {server.name: server for server in servers}
        )
        self._limits = limits or PrometheusLimits()
        self._session: aiohttp.ClientSession | None = None
        # By address: a slow server does not delay requests to another.
        self._slots: dict[str, asyncio.Semaphore] = {}

    async def gather(
        self, probe: PrometheusProbe, revision: str | None, since: Instant, now: Instant
    ) -> Evidence:
        """The evidence of a server on a revision; OutsideError names the server and its error."""
        begun = monotonic_ns()
        server = self._server(probe)
        try:
            asked = questions(probe, revision, since, now)
            head, tls = await asyncio.to_thread(_credentials, server)
            asked_after = Duration(monotonic_ns() - begun)
            bodies = await self._ask_all(server, asked, head, tls)
            answers = Answers(bodies, asked_after, Duration(monotonic_ns() - begun))
            return await asyncio.to_thread(weigh, probe, revision, since, now, answers)
        except OutsideError as error:
            raise OutsideError(f"{server.name}: {error}") from None

    async def look(self, name: str | None, query: str) -> QueryResult:
        """The current result of a query; OutsideError names the server and its error."""
        server = self._named(name)
        try:
            head, tls = await asyncio.to_thread(_credentials, server)
            question = PrometheusRequest("api/v1/query", {"query": query})
            return read_now(await self._ask(server, question, head, tls))
        except OutsideError as error:
            raise OutsideError(f"{server.name}: {error}") from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _server(self, probe: PrometheusProbe) -> PrometheusServer:
        """The server of a probe; a bare address is queried without credentials."""
        if probe.url is not None:
            return PrometheusServer(name=probe.url, url=probe.url)
        return self._named(probe.server)

    def _named(self, name: str | None) -> PrometheusServer:
        """The server of a name; the only one, if none is named."""
        if name is not None:
            if name not in self._servers:
                hint = nearest(name, self._servers) or "name it in the settings"
                raise OutsideError(f"no Prometheus is called {shown(name)}; {hint}")
            return self._servers[name]
        if len(self._servers) != 1:
            known = ", ".join(self._servers) or "none"
            raise OutsideError(f"the probe names no Prometheus; known: {known}")
        return next(iter(self._servers.values()))

    async def _ask_all(
        self,
        server: PrometheusServer,
        asked: Mapping[ProbeQuestion, PrometheusRequest],
        head: Mapping[str, str],
        tls: ssl.SSLContext | bool,
    ) -> dict[ProbeQuestion, bytes]:
        """All answers, or the first error."""
        tasks: dict[ProbeQuestion, asyncio.Task[bytes]] = {}
        try:
            async with asyncio.TaskGroup() as group:
                for ask, question in asked.items():
                    tasks[ask] = group.create_task(self._ask(server, question, head, tls))
        except* OutsideError:
            pass
        for task in tasks.values():
            if not task.cancelled() and isinstance(error := task.exception(), OutsideError):
                raise error
        return {ask: task.result() for ask, task in tasks.items()}

    async def _ask(
        self,
        server: PrometheusServer,
        question: PrometheusRequest,
        head: Mapping[str, str],
        tls: ssl.SSLContext | bool,
    ) -> bytes:
        """One request with all its tries; its slot is taken until it ends."""
        limits = self._limits
        slots = self._slots.setdefault(server.url, asyncio.Semaphore(limits.concurrency_max))
        try:
            async with slots, asyncio.timeout(limits.total_s):
                async for attempt in tries(limits):
                    with attempt:
                        return await self._try(server, question, head, tls)
        except PassingError as error:
            raise OutsideError(f"{error} ({limits.tries_max} tries)") from None
        except TimeoutError:
            raise OutsideError(f"no answer in {limits.total_s:g} s") from None
        raise AssertionError("a retry context returns or raises")

    async def _try(
        self,
        server: PrometheusServer,
        question: PrometheusRequest,
        head: Mapping[str, str],
        tls: ssl.SSLContext | bool,
    ) -> bytes:
        url = f"{server.url.rstrip('/')}/{question.path}"
        form = question.form
        session, limits = self._open(), self._limits
        with passing(limits.timeout_s):
            # A redirect could lead our credentials elsewhere: it is an answer, and the wrong one.
            async with session.request(
                "POST" if question.posts else "GET",
                url,
                data=form if question.posts else None,
                params=None if question.posts else form,
                headers=head,
                ssl=tls,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=limits.timeout_s),
            ) as response:
                body = await bounded(response, limits.bytes_max, "; ask for less")
                return self._judge(response.status, body, question)

    @staticmethod
    def _judge(status: int, body: bytes, question: PrometheusRequest) -> bytes:
        if status == 200:
            return body
        reason = refusal(body) or "no reason given"
        if status in PASSING:
            raise PassingError(f"HTTP {status}: {reason}")
        query = question.form.get("query", question.path)
        raise OutsideError(f"HTTP {status}: {reason}; asked: {shorten(query)}")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = plain_session()
        return self._session


def _credentials(server: PrometheusServer) -> tuple[dict[str, str], ssl.SSLContext | bool]:
    return headers(server), _tls(server)


def _tls(server: PrometheusServer) -> ssl.SSLContext | bool:
    """The trusted certificates; True: those of the machine."""
    try:
        return trusted_by(server.ca_file or "")
    except OutsideError as error:
        raise OutsideError(f"its caFile cannot be used: {error}") from None
