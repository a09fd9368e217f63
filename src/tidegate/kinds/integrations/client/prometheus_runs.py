"""How the runs of pods ended, from a Prometheus: for pods that cannot be read directly."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tidegate.kinds.integrations.core.waves.trial import ShardRun
from tidegate.kinds.integrations.wire.run_numbers import NAMES, run_of
from tidegate.kubernetes.port import Cluster, Object
from tidegate.model.errors import OutsideError
from tidegate.prometheus.client.source import PrometheusSource

_LABELS = ("namespace", "pod")


class PrometheusRuns:
    """One question a namespace; a pod is identified by the labels of its series."""

    def __init__(
        self, source: PrometheusSource, server: str | None = None, cluster_label: str = ""
    ) -> None:
        self._source = source
        self._server = server
        # Which label tells clusters apart, where one Prometheus has the numbers of several.
        self._cluster_label = cluster_label
        # Why there was no answer last; empty: there was one.
        self.trouble = ""

    async def read(self, cluster: Cluster, pods: Sequence[Object]) -> Mapping[str, ShardRun]:
        """By the pod's uid; pods without series are left out."""
        namespaces = sorted({pod.namespace for pod in pods})
        stated = await asyncio.gather(*(self._numbers(cluster.name, each) for each in namespaces))
        by_pod = {(space, name): run for space, runs in zip(namespaces, stated, strict=True)
                  for name, run in runs.items()}  # fmt: skip
        found = ((pod.uid, by_pod.get((pod.namespace, pod.name))) for pod in pods)
        return {uid: run for uid, run in found if run is not None}

    async def close(self) -> None:
        """Close the connections."""
        await self._source.close()

    async def _numbers(self, cluster: str, namespace: str) -> dict[str, ShardRun]:
        space, pod = _LABELS
        # The name of a namespace has no character that means anything in a query.
        query = f'__name__=~"{NAMES}", {space}="{namespace}"'
        if self._cluster_label:
            query += f", {self._cluster_label}={json.dumps(cluster)}"
        query = f"{{{query}}}"
        try:
            reading = await self._source.look(self._server, query)
        except OutsideError as error:
            self.trouble = str(error)
            return {}
        self.trouble = ""
        samples: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for series in reading.series:
            for sample in series.samples[-1:]:
                name = series.labels.get("__name__", "")
                samples[series.labels.get(pod, "")].append((name, sample.value))
        runs = {name: run_of(some) for name, some in samples.items() if name}
        return {name: run for name, run in runs.items() if run is not None}
