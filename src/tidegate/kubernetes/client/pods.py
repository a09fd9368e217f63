"""Reads pods: their answers over HTTP, and their logs.

A pod is called once and for a short time: the next round calls it again. A log that is followed
outlives connections: every line is requested with its moment, so that after a break it continues
behind the last line, and passes none on twice.

Worked: `…:02.5 a`, `…:02.5 b` were passed on when the connection broke. The log is requested again
since second 2; two lines of that moment are skipped, and the third of it is new.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum

import aiohttp
import msgspec

from tidegate.kubernetes.client.documents import path_of, where_of
from tidegate.kubernetes.client.server import ApiServer
from tidegate.kubernetes.client.watch import split
from tidegate.kubernetes.port import POD, NotAllowedError, Object
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import shorten
from tidegate.model.time import Instant, format_second, parse_instant

_TEXT = "text/plain, */*"
_ENDED = frozenset({"Succeeded", "Failed"})


class PodReach(StrEnum):
    """The way to what a pod answers."""

    PROXY = "proxy"  # through the API server: from anywhere, if we may `get pods/proxy`
    DIRECT = "direct"  # at the pod's own address: from inside the cluster


class PodLimits(msgspec.Struct, frozen=True):
    """How long a pod may take, and how much it may say."""

    timeout_s: float = 10.0
    # The numbers of a busy process are some 100 kB.
    bytes_max: int = 8 * 1024 * 1024
    # At once, over all pods of a cluster.
    concurrency_max: int = 10
    # A line longer than that is no line.
    line_bytes_max: int = 1024 * 1024
    # A followed log that is silent so long is asked for anew: the connection may be dead.
    silence_s: float = 600.0
    # In a row: a server that is started anew takes some 10 s.
    failures_max: int = 10
    pause_s: float = 0.2
    pause_max_s: float = 5.0


class _LogPosition(msgspec.Struct):
    """How far a log was read."""

    # The moment of the last line; None: there was none.
    at: Instant | None = None
    # How many lines of that moment were passed on, and how many will be read again.
    count: int = 0
    skip: int = 0

    def fresh(self, line: str) -> str | None:
        """The text of a line that is new."""
        written, _, text = line.partition(" ")
        try:
            at = parse_instant(written)
        except ValueError:
            # The node's own words, where it has no log: they carry no moment.
            return line
        if self.at is not None and at < self.at:
            return None
        if at == self.at and self.skip:
            self.skip -= 1
            return None
        self.count = self.count + 1 if at == self.at else 1
        self.at, self.skip = at, 0
        return text


class Pods:
    """The pods of one cluster."""

    def __init__(self, server: ApiServer, reach: PodReach, asking: PodLimits | None = None) -> None:
        self._server = server
        self._reach = reach
        self._asking = asking or PodLimits()
        self._slots = asyncio.Semaphore(self._asking.concurrency_max)
        self._session: aiohttp.ClientSession | None = None

    async def fetch(self, pod: Object, port: int, path: str) -> str:
        """What a pod answers, asked once."""
        asking, where = self._asking, f"{self._server.name}: {pod.where}: port {port}"
        ask = self._proxied if self._reach is PodReach.PROXY else self._direct
        try:
            async with (
                self._slots,
                asyncio.timeout(asking.timeout_s),
                ask(pod, port, path) as stream,
            ):
                body = bytearray()
                async for chunk in stream.iter_any():
                    body += chunk
                    if len(body) > asking.bytes_max:
                        too_much = f"an answer of more than {asking.bytes_max} bytes"
                        raise OutsideError(f"{where}: {too_much}")
        except TimeoutError:
            raise OutsideError(f"{where}: no answer in {asking.timeout_s:g} s") from None
        except StaleError as error:
            # All refusals of a pod mean the same here.
            raise OutsideError(str(error)) from None
        return body.decode(errors="replace")

    async def logs(
        self, namespace: str, pod: str, container: str, follow: bool, tail: int | None
    ) -> AsyncGenerator[str, None]:
        """The lines of a log; followed, until the pod has ended or is gone."""
        asking, position, begun, failures = self._asking, _LogPosition(), False, 0
        path, where = f"{path_of(POD, namespace, pod)}/log", where_of(POD, namespace, pod)
        while True:
            params, since = (
                _params(container, follow, None if begun else tail, position),
                asyncio.get_running_loop().time(),
            )
            try:
                async with self._server.listen(
                    path, where, params, asking.silence_s, _TEXT
                ) as stream:
                    begun = True
                    async for line in split(stream, asking.line_bytes_max, rest=True):
                        text = position.fresh(line.decode(errors="replace"))
                        if text is not None:
                            failures = 0
                            yield text
                # Of a container that has ended, the same is sent at once, again and again: no
                # failure, but nothing to hurry for either.
                lasted = asyncio.get_running_loop().time() - since > asking.pause_max_s
                failures = 0 if lasted else min(failures + 1, asking.failures_max - 1)
            except NotAllowedError:
                raise
            except OutsideError:
                failures += 1
                if not follow or not begun or failures > asking.failures_max:
                    raise
            if not follow or await self._ended(namespace, pod):
                return
            pause_s = min(asking.pause_s * 2**failures, asking.pause_max_s)
            await asyncio.sleep(pause_s * (1 + random.random()))

    async def close(self) -> None:
        """Close the connections to pods."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    @asynccontextmanager
    async def _proxied(
        self, pod: Object, port: int, path: str
    ) -> AsyncIterator[aiohttp.StreamReader]:
        name = f"{path_of(POD, pod.namespace, pod.name)}:{port}/proxy/{path.lstrip('/')}"
        where = f"{pod.where}: port {port}"
        async with self._server.listen(name, where, {}, self._asking.timeout_s, _TEXT) as stream:
            yield stream

    @asynccontextmanager
    async def _direct(
        self, pod: Object, port: int, path: str
    ) -> AsyncIterator[aiohttp.StreamReader]:
        where = f"{self._server.name}: {pod.where}: port {port}"
        address = str((pod.document.get("status") or {}).get("podIP") or "")
        if not address:
            raise OutsideError(f"{where}: it has no address yet")
        if self._session is None:
            # No credentials of ours, no cookies, no proxy: it is a stranger in the next room.
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": "tidegate"}
            )
        host = f"[{address}]" if ":" in address else address
        url = f"http://{host}:{port}/{path.lstrip('/')}"
        try:
            async with self._session.get(url, allow_redirects=False) as response:
                if response.status != 200:
                    raise OutsideError(f"{where}: HTTP {response.status}")
                yield response.content
        except (aiohttp.ClientError, OSError) as error:
            why = shorten(str(error) or type(error).__name__)
            raise OutsideError(f"{where}: it does not answer: {why}") from None

    async def _ended(self, namespace: str, pod: str) -> bool:
        """Whether nothing more will be written."""
        path, where = path_of(POD, namespace, pod), where_of(POD, namespace, pod)
        answer = await self._server.ask("GET", path, where, fine=frozenset({404}))
        if answer.code == 404:
            return True
        phase = (decode_json(answer.body).get("status") or {}).get("phase")
        return phase in _ENDED


def _params(
    container: str, follow: bool, tail: int | None, position: _LogPosition
) -> dict[str, str]:
    params = {"timestamps": "true"}
    if container:
        params["container"] = container
    if follow:
        params["follow"] = "true"
    if tail is not None and position.at is None:
        params["tailLines"] = str(tail)
    if position.at is not None:
        # Whole seconds are all the server looks at.
        params["sinceTime"] = format_second(position.at)
        position.skip = position.count
    return params
