"""Where a rehearsal takes place: a hub that people write to, and clusters that behave."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tidegate.kinds.policies.core.revision import Fields
from tidegate.kinds.policies.simulated.hub import SimulatedHub
from tidegate.kinds.policies.simulated.scenario import AgentManner
from tidegate.kubernetes.port import ResourceKind
from tidegate.machine.clock import Clock


class RehearsalStage(Protocol):
    """A hub and its clusters, in the hands of a rehearsal."""

    async def write(self, kind: ResourceKind, namespace: str, name: str, **fields: Any) -> None:
        """A person writes an object; its status stays."""
        ...

    async def document(self, kind: ResourceKind, namespace: str, name: str) -> Fields:
        """An object as the hub has it; empty: there is none."""
        ...

    async def register(self, cluster: str, labels: Mapping[str, str]) -> None:
        """A cluster is registered, and its agent is well."""
        ...

    async def unregister(self, cluster: str) -> None:
        """A cluster is no longer registered."""
        ...

    async def reach(self, cluster: str, labels: Mapping[str, str], *, reachable: bool) -> None:
        """The hub loses a cluster, or has it back."""
        ...

    async def behave(self, cluster: str, manner: AgentManner) -> None:
        """The agent of a cluster behaves so from now on, and looks at everything again."""
        ...

    def applied(self, cluster: str) -> Sequence[Any]:
        """Every content that any object of a cluster had, in order."""
        ...


class SimulatedStage:
    """A simulated hub."""

    def __init__(self, hub: SimulatedHub, clock: Clock) -> None:
        self._hub = hub
        self._clock = clock

    async def write(self, kind: ResourceKind, namespace: str, name: str, **fields: Any) -> None:
        """A person writes an object; its status stays."""
        self._hub.put(kind, namespace, name, **fields)

    async def document(self, kind: ResourceKind, namespace: str, name: str) -> Fields:
        """An object as the hub has it; empty: there is none."""
        found = await self._hub.client().get(kind, namespace, name)
        return {} if found is None else found.document

    async def register(self, cluster: str, labels: Mapping[str, str]) -> None:
        """A cluster is registered, and its agent is well."""
        self._hub.add(cluster, labels)

    async def unregister(self, cluster: str) -> None:
        """A cluster is no longer registered."""
        self._hub.drop_cluster(cluster)

    async def reach(self, cluster: str, labels: Mapping[str, str], *, reachable: bool) -> None:
        """The hub loses a cluster, or has it back; it taints one that it does not reach."""
        taint = "" if reachable else "unreachable"
        self._hub.put_cluster(cluster, labels, taint=taint, available=reachable)

    async def behave(self, cluster: str, manner: AgentManner) -> None:
        """The agent of a cluster behaves so from now on, and looks at everything again."""
        agent = self._hub.agents[cluster]
        agent.delay, agent.silent = manner.answer_min, manner.silent
        agent.fails, agent.broken = dict(manner.fails), manner.broken
        agent.recheck(self._clock.now())

    def applied(self, cluster: str) -> Sequence[Any]:
        """Every content that any object of a cluster had, in order."""
        return [content for _, _, content in self._hub.agents[cluster].applied]
