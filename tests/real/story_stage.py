"""A real hub as the stage of a rehearsal: real scheduler and propagator, real and simulated agents.

The agents of most clusters are simulated ones that answer over the hub's API, as the framework
add-on does. A story names the clusters that need a real one: these are played by a real managed
cluster, on which an admission policy refuses what its agent is to fail at.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

from tests.real.hub import CLUSTERS, SETS, Hub, Managed, until
from tests.real.kube import ControlPlane
from tests.real.test_policies import asked
from tidegate.kinds.policies.core.names import OCM_CLUSTER, ROOT_POLICY
from tidegate.kinds.policies.core.revision import HASH_LENGTH, Fields
from tidegate.kinds.policies.simulated.agent import Agent
from tidegate.kinds.policies.simulated.scenario import AgentManner
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    POLICY,
    Object,
    ObjectEvent,
    ResourceKind,
    Take,
)
from tidegate.machine.system_clock import SystemClock
from tidegate.model.errors import StaleError

# How often simulated agents look whether an answer is due.
STEP_S = 0.1
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_AVAILABLE = "ManagedClusterConditionAvailable"


class SimulatedAgents:
    """Agents of declared clusters, which answer over the API of a real hub."""

    def __init__(self, hub: KubernetesCluster) -> None:
        self._hub = hub
        self._clock = SystemClock()
        self.agents: dict[str, Agent] = {}
        self._replicas: dict[tuple[str, str], Object] = {}

    async def run(self) -> None:
        """Answer until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._answer())

    def look(self, cluster: str) -> None:
        """Have an agent see everything that the hub has for it."""
        for (where, name), found in self._replicas.items():
            if where == cluster:
                self.agents[cluster].see(name, found.document["spec"], self._clock.now())

    async def _listen(self) -> None:
        while True:
            reading = await self._hub.read("", [POLICY], ROOT_POLICY)
            for found in reading.objects:
                self._hear(found, gone=False)
            with suppress(StaleError):
                version = reading.versions[POLICY.name]
                events = self._hub.watch("", POLICY, version, ROOT_POLICY)
                async with aclosing(events):
                    async for event in events:
                        self._hear(event.object, gone=event.change is ObjectEvent.DELETED)

    def _hear(self, found: Object, *, gone: bool) -> None:
        key = (found.namespace, found.name)
        if gone:
            self._replicas.pop(key, None)
        else:
            self._replicas[key] = found
        agent = self.agents.get(found.namespace)
        if agent is not None:
            agent.see(found.name, None if gone else found.document["spec"], self._clock.now())

    async def _answer(self) -> None:
        while True:
            now = self._clock.now()
            for agent in list(self.agents.values()):
                for policy, status in agent.evaluate(now).items():
                    found = self._replicas.get((agent.name, policy))
                    if found is not None:
                        # One that was replaced meanwhile is seen again.
                        with suppress(StaleError):
                            await self._hub.write_status(found, status)
            await asyncio.sleep(STEP_S)


class Witness:
    """What a real managed cluster has: every ConfigMap that its agent writes, as it is written."""

    def __init__(self, cluster: KubernetesCluster) -> None:
        self._cluster = cluster
        self.applied: list[Any] = []
        self.deleted: list[str] = []

    async def run(self) -> None:
        """Watch until cancelled."""
        reading = await self._cluster.read("default", [CONFIG_MAP])
        events = self._cluster.watch("default", CONFIG_MAP, reading.versions[CONFIG_MAP.name])
        async with aclosing(events):
            async for event in events:
                found = event.object
                if event.change is ObjectEvent.DELETED:
                    self.deleted.append(found.name)
                    continue
                self.applied.append(
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": found.name, "namespace": "default"},
                        "data": dict(found.document.get("data") or {}),
                    }
                )


class RealStage:
    """One story's part of a real hub."""

    def __init__(
        self,
        hub: Hub,
        author: KubernetesCluster,
        agents: SimulatedAgents,
        real: Mapping[str, tuple[Managed, Witness]],
        prefix: str,
    ) -> None:
        self._hub = hub
        self._author = author
        self._agents = agents
        # Real managed clusters by name.
        self._real = real
        # In front of the names of all objects of the story.
        self._prefix = prefix
        self._refusals: set[tuple[str, str]] = set()

    def open(self, namespace: str, source: str) -> None:
        """The namespaces of a story; the clusters of the default set may be selected in one."""
        for name in (namespace, source):
            self._hub.plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        binding = {
            "apiVersion": f"{OCM_CLUSTER}/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "default"},
            "spec": {"clusterSet": "default"},
        }
        where = f"{SETS}/namespaces/{namespace}/managedclustersetbindings"
        self._hub.plane.ask("POST", where, binding)

    async def write(self, kind: ResourceKind, namespace: str, name: str, **fields: Any) -> None:
        """A person writes an object; its status stays."""
        metadata = {"namespace": namespace, "name": name, **fields.pop("metadata", {})}
        head = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        await self._author.apply({**head, **fields}, take=Take.OVER)

    async def document(self, kind: ResourceKind, namespace: str, name: str) -> Fields:
        """An object as the hub has it; empty: there is none."""
        found = await self._author.get(kind, namespace, name)
        return {} if found is None else found.document

    async def register(self, cluster: str, labels: Mapping[str, str]) -> None:
        """A cluster is registered; one that a real one plays gets the labels of the story."""
        if cluster not in self._real:
            self._agents.agents[cluster] = Agent(cluster)
            self._hub.declare(cluster, **labels)
            return
        found = self._managed(cluster)
        found["metadata"]["labels"] |= dict(labels)
        self._hub.plane.ask("PUT", self._path(cluster), found)

    async def unregister(self, cluster: str) -> None:
        """A cluster is no longer registered."""
        self._hub.plane.ask("DELETE", self._path(cluster))

    async def reach(self, cluster: str, labels: Mapping[str, str], *, reachable: bool) -> None:
        """The hub loses a cluster, or has it back, as its registration controller notes it."""
        assert labels.items() <= self._managed(cluster)["metadata"]["labels"].items()
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        found = self._managed(cluster)
        taint = {"key": f"{OCM_CLUSTER}/unreachable", "effect": "NoSelect", "timeAdded": now}
        found["spec"]["taints"] = [] if reachable else [taint]
        self._hub.plane.ask("PUT", self._path(cluster), found)
        found = self._managed(cluster)
        for each in found["status"]["conditions"]:
            if each["type"] == _AVAILABLE:
                each["status"] = "True" if reachable else "Unknown"
        self._hub.plane.ask("PUT", f"{self._path(cluster)}/status", found)

    async def behave(self, cluster: str, manner: AgentManner) -> None:
        """An agent behaves so from now on; a real one fails at what its cluster refuses."""
        if cluster in self._real:
            assert not manner.silent, "a real agent is what it is"
            assert not manner.broken, "a real agent is what it is"
            await self._refuse(cluster, manner.fails)
            return
        agent = self._agents.agents[cluster]
        agent.delay, agent.silent = manner.answer_min, manner.silent
        agent.fails, agent.broken = dict(manner.fails), manner.broken
        agent.recheck(SystemClock().now())
        self._agents.look(cluster)

    def applied(self, cluster: str) -> Sequence[Any]:
        """Every content that any object of a cluster had, in order."""
        if cluster in self._real:
            return self._real[cluster][1].applied
        return [content for _, _, content in self._agents.agents[cluster].applied]

    def has_evaluated(self, cluster: str, policy: str) -> bool:
        """Whether a simulated agent has evaluated a policy, by its full name."""
        return self._agents.agents[cluster].evaluated(policy) is not None

    def deleted(self, cluster: str) -> Sequence[str]:
        """Every object that was deleted on a cluster."""
        if cluster in self._real:
            every = self._real[cluster][1].deleted
            return [each for each in every if each.startswith(self._prefix)]
        return self._agents.agents[cluster].deleted

    async def _refuse(self, cluster: str, fails: Mapping[str, str]) -> None:
        """Have a real cluster refuse the ConfigMaps of this story with these values."""
        plane = self._real[cluster][0].plane
        if not fails:
            for where, name in [each for each in self._refusals if each[0] == cluster]:
                plane.ask("DELETE", f"{_ADMISSION}/validatingadmissionpolicybindings/{name}")
                self._refusals.discard((where, name))
        for value, why in fails.items():
            name = f"{self._prefix}{value}"
            # The name of the revision, which a simulated agent goes by.
            if len(value) == HASH_LENGTH or (cluster, name) in self._refusals:
                continue
            self._refusals.add((cluster, name))
            at = f"{_ADMISSION}/validatingadmissionpolicies"
            plane.ask("POST", at, {"metadata": {"name": name}, "spec": self._refusal(value, why)})
            bound = {"policyName": name, "validationActions": ["Deny"]}
            at = f"{_ADMISSION}/validatingadmissionpolicybindings"
            plane.ask("POST", at, {"metadata": {"name": name}, "spec": bound})
            probe = {"metadata": {"name": f"{self._prefix}probe"}, "data": {"value": value}}
            at = "/api/v1/namespaces/default/configmaps?dryRun=All"
            # Nothing waits for this story but itself, and it takes a second.
            until(partial(_is_refused, plane, at, probe), f"{value} is refused")

    def _refusal(self, value: str, why: str) -> dict[str, Any]:
        """The spec of an admission policy."""
        maps = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["configmaps"],
        }
        fine = (
            f"!object.metadata.name.startsWith('{self._prefix}') || !has(object.data) || "
            f"!('value' in object.data) || object.data['value'] != '{value}'"
        )
        return {
            "matchConstraints": {"resourceRules": [maps]},
            "validations": [{"expression": fine, "message": why}],
        }

    def _path(self, cluster: str) -> str:
        return f"{CLUSTERS}/managedclusters/{cluster}"

    def _managed(self, cluster: str) -> dict[str, Any]:
        found: dict[str, Any] = self._hub.plane.ask("GET", self._path(cluster))
        return found


def _is_refused(plane: ControlPlane, at: str, document: object) -> bool:
    return asked(plane, "POST", at, document)[0] != 200
