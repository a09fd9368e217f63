"""What a simulated pod is asked: its numbers, and its log as far as it is written and further."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from tidegate.kubernetes.port import POD, ObjectRefusedError
from tidegate.kubernetes.simulated.api import Key, LogLine, SimulatedApi
from tidegate.kubernetes.simulated.life.life import Life, PodPhase
from tidegate.kubernetes.simulated.life.words import (
    ContainerIdentity,
    first_kept,
    lines,
    numbers,
    worker_of,
)
from tidegate.machine.clock import Clock
from tidegate.model.errors import OutsideError
from tidegate.model.time import SECOND, Instant

METRICS = "/metrics"


class PodOutput:
    """What the pods of one cluster say; their lives are kept elsewhere."""

    def __init__(self, api: SimulatedApi, clock: Clock, lives: Mapping[Key, Life]) -> None:
        self._api = api
        self._clock = clock
        self._lives = lives
        # Set once a pod is gone, for those who follow its log.
        self._gone: dict[Key, asyncio.Event] = {}

    def answer(self, namespace: str, pod: str, port: int, path: str) -> str:
        """A pod's numbers, once it is ready and at its port."""
        life, spec = self._found(namespace, pod)
        worker, now = worker_of(spec), self._clock.now()
        if life.at(now).phase is not PodPhase.READY or port not in worker.ports:
            raise OutsideError("it does not answer: connection refused")
        if f"/{path.lstrip('/')}" != METRICS:
            raise OutsideError("HTTP 404")
        return numbers(life, worker, now)

    def lines(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        follow: bool = False,
        tail: int | None = None,
        since: Instant | None = None,
    ) -> AsyncGenerator[LogLine, None]:
        """A pod's log; followed, until it has ended or is gone. One that is not is sent at once."""
        life, spec = self._found(namespace, pod)
        name = _container(pod, container, spec)
        now, worker = self._clock.now(), worker_of(spec)
        if life.at(now).started_at is None:
            waits = f'container "{name}" in pod "{pod}" is waiting to start: ContainerCreating'
            raise ObjectRefusedError(waits)
        # Sidecars have nothing to say.
        return self._lines(life, worker if name == worker.container else None, follow, tail, since)

    async def _lines(
        self,
        life: Life,
        worker: ContainerIdentity | None,
        follow: bool,
        tail: int | None,
        since: Instant | None,
    ) -> AsyncGenerator[LogLine, None]:
        if worker is None:
            return
        now = self._clock.now()
        first = first_kept(life, now)
        written: list[LogLine] = []
        for _, line in lines(life, worker, first):
            if line.at > now:
                break
            written.append(line)
        stated = [line for line in written if since is None or line.at >= since]
        for line in stated if tail is None else stated[max(0, len(stated) - tail) :]:
            yield line
        if follow:
            async for line in self._further(life, worker, first, len(written)):
                yield line

    def gone(self, key: Key) -> None:
        """A pod is there no more."""
        if (event := self._gone.pop(key, None)) is not None:
            event.set()

    async def _further(
        self, life: Life, worker: ContainerIdentity, first: int, stated: int
    ) -> AsyncGenerator[LogLine, None]:
        """What is written from now on."""
        gone = self._gone.setdefault(life.key, asyncio.Event())
        for count, (_, line) in enumerate(lines(life, worker, first)):
            if count < stated:
                continue
            if not await self._comes(line.at, gone):
                return
            yield line
        if life.once:
            await self._comes(life.run(0).ends_at, gone)
        elif life.key in self._lives:
            await gone.wait()

    async def _comes(self, at: Instant, gone: asyncio.Event) -> bool:
        """Wait for a moment; False if the pod is gone before."""
        while (left := at - self._clock.now()) > 0 and not gone.is_set():
            try:
                async with asyncio.timeout(left / SECOND):
                    await gone.wait()
            except TimeoutError:
                pass
        return not gone.is_set()

    def _found(self, namespace: str, pod: str) -> tuple[Life, Mapping[str, Any]]:
        key = (POD, namespace, pod)
        life, record = self._lives.get(key), self._api.records.get(key)
        if life is None or record is None:
            raise OutsideError(f'HTTP 404: pods "{pod}" not found')
        spec: Mapping[str, Any] = self._api.document(record).get("spec") or {}
        return life, spec


def _container(pod: str, container: str, spec: Mapping[str, Any]) -> str:
    names = [str(each.get("name")) for each in spec.get("containers") or ()]
    if container and container not in names:
        raise ObjectRefusedError(f"container {container} is not valid for pod {pod}")
    if not container and len(names) != 1:
        choices = " ".join(names)
        raise ObjectRefusedError(
            f"a container name must be specified for pod {pod}, choose one of: [{choices}]"
        )
    return container or names[0]
