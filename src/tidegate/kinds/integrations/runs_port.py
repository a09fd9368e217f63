"""What pods say of the runs of their loop."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidegate.kinds.integrations.core.waves.trial import ShardRun
from tidegate.kubernetes.port import Cluster, Object


class Runs(Protocol):
    """A source of the results of runs of pods."""

    async def read(self, cluster: Cluster, pods: Sequence[Object]) -> Mapping[str, ShardRun]:
        """By the pod's uid; one that gives no answer is left out. Never raises OutsideError."""
        ...

    async def close(self) -> None:
        """Let go of whatever it holds open."""
        ...
