"""Asks pods themselves how the runs of their loop ended."""

import asyncio
from collections.abc import Mapping, Sequence

from tidegate.kinds.integrations.core.waves.trial import ShardRun
from tidegate.kinds.integrations.core.workloads.workloads import PORT
from tidegate.kinds.integrations.wire.run_numbers import read_run
from tidegate.kubernetes.port import Cluster, Object
from tidegate.model.errors import OutsideError, StaleError

PATH = "/metrics"
ASKED_AT_ONCE_MAX = 20


class PodRuns:
    """Every pod is asked by itself; one that gives no answer says nothing, for or against."""

    def __init__(self, port: int = PORT) -> None:
        self._port = port
        self._slots = asyncio.Semaphore(ASKED_AT_ONCE_MAX)

    async def read(self, cluster: Cluster, pods: Sequence[Object]) -> Mapping[str, ShardRun]:
        """By the pod's uid."""
        found = await asyncio.gather(*(self._one(cluster, pod) for pod in pods))
        return {pod.uid: run for pod, run in zip(pods, found, strict=True) if run is not None}

    async def close(self) -> None:
        """Clusters are closed where they were opened."""

    async def _one(self, cluster: Cluster, pod: Object) -> ShardRun | None:
        async with self._slots:
            try:
                return read_run(await cluster.fetch(pod, self._port, PATH))
            except (OutsideError, StaleError, TimeoutError, OSError):
                return None
