"""A simulated hub: scheduler, propagator and agents, on the API that every simulated cluster has.

It does what a stock hub was seen to do. An edit of a root rewrites every replica at once; an edit
of a replica is undone; hub templates are resolved for each cluster, and one that cannot be is an
error in the replica; compliance stays as it was until an agent evaluates.
"""

from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any

from tidegate.documents.reader import Reader
from tidegate.kinds.policies.core.names import (
    DECISION_GROUP,
    DECISION_INDEX,
    DECISION_PLACEMENT,
    HUB_ERROR,
    OCM_CLUSTER,
    OCM_POLICY,
    ROOT_POLICY,
    SCHEDULING_OFF,
    full_name,
)
from tidegate.kinds.policies.core.placement import PlacementCluster, decisions, scheduler_groups
from tidegate.kinds.policies.core.revision import Fields
from tidegate.kinds.policies.simulated.agent import Agent
from tidegate.kinds.policies.simulated.overrides import Overrides
from tidegate.kinds.policies.simulated.template import HubTemplateError, resolve
from tidegate.kinds.policies.wire.hub_doc import BindingState, binding_of, decision_of, root_of
from tidegate.kinds.policies.wire.placement_line import read_placement
from tidegate.kubernetes.port import (
    CONFIG_MAP,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    POLICY_SET,
    ResourceKind,
)
from tidegate.kubernetes.simulated.api import Fault, Key, SimulatedApi
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.machine.clock import Clock
from tidegate.model.problem import Problems
from tidegate.model.time import Duration, Instant

# What the scheduler and the propagator look at; events and rollouts are nothing to them.
_LOOKED_AT = (
    CONFIG_MAP,
    MANAGED_CLUSTER,
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    POLICY_SET,
)


class SimulatedHub:
    """A hub and the clusters it manages."""

    def __init__(self, clock: Clock, fault: Fault | None = None) -> None:
        self.api = SimulatedApi("hub", fault, clock)
        self.agents: dict[str, Agent] = {}
        self._clock = clock
        self._overrides = Overrides()
        # The scheduler stops after the decisions of so many groups, before their status.
        self.stops_after: int | None = None
        # Whether the scheduler runs; if not, decisions stay as they were put.
        self.schedules = True
        # What the scheduler and the propagator acted on last; None: they have not yet.
        self._acted_on: object = None

    def client(self) -> SimulatedCluster:
        """The hub as Tidegate sees it."""
        return SimulatedCluster(self.api)

    def add(self, name: str, labels: Mapping[str, str], delay: Duration | None = None) -> Agent:
        """A cluster is registered."""
        agent = self.agents.setdefault(name, Agent(name))
        if delay is not None:
            agent.delay = delay
        self.api.namespaces.add(name)
        self.put_cluster(name, labels)
        return agent

    def put_cluster(
        self, name: str, labels: Mapping[str, str], *, taint: str = "", available: bool = True
    ) -> None:
        """A cluster as the hub sees it."""
        spec = (
            {"taints": [{"key": f"{OCM_CLUSTER}/{taint}"}]} if taint else {"hubAcceptsClient": True}
        )
        condition = {
            "type": "ManagedClusterConditionAvailable",
            "status": "True" if available else "Unknown",
            "message": "" if available else "its lease is old",
        }
        document = {
            "apiVersion": MANAGED_CLUSTER.api_version,
            "kind": MANAGED_CLUSTER.name,
            "metadata": {"name": name, "labels": dict(labels)},
            "spec": spec,
            "status": {"conditions": [condition]},
        }
        self.api.put((MANAGED_CLUSTER, "", name), document)

    def drop_cluster(self, name: str) -> None:
        """A cluster is no longer registered."""
        self.api.remove((MANAGED_CLUSTER, "", name))

    def put(self, kind: ResourceKind, namespace: str, name: str, **fields: Any) -> None:
        """A person writes an object; its status stays."""
        self.api.namespaces.add(namespace)
        key = (kind, namespace, name)
        old = self._document(key) or {}
        metadata = {"namespace": namespace, "name": name, **fields.pop("metadata", {})}
        head = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        status = {"status": old["status"]} if "status" in old else {}
        self.api.put(key, {**head, **fields, **status})

    def drop(self, kind: ResourceKind, namespace: str, name: str) -> None:
        """A person deletes an object."""
        self.api.remove((kind, namespace, name))

    def settle(self) -> None:
        """Let everything happen that is due by now."""
        seen = self._seen()
        if seen != self._acted_on:
            if self.schedules:
                self._schedule()
            self._propagate()
            self._acted_on = seen
        now = self._clock.now()
        for agent in self.agents.values():
            for policy, status in agent.evaluate(now).items():
                self.api.put_status((POLICY, agent.name, policy), status)

    def _seen(self) -> object:
        """All that the scheduler and the propagator go by: acting on it twice changes nothing."""
        versions = tuple(self.api.version_of.get(kind, 0) for kind in _LOOKED_AT)
        awake = tuple(name for name, agent in self.agents.items() if not agent.silent)
        return versions, self.schedules, self.stops_after, awake

    def next_at(self) -> Instant | None:
        """When an agent evaluates next."""
        moments = [agent.next_at() for agent in self.agents.values()]
        return min((each for each in moments if each is not None), default=None)

    def _schedule(self) -> None:
        """Decisions of every placement, group by group, and then its status."""
        clusters = [each for _, _, each in self._listed(MANAGED_CLUSTER)]
        ready = [
            PlacementCluster(each["metadata"]["name"], each["metadata"].get("labels") or {})
            for each in clusters
            if not (each["spec"].get("taints"))
        ]
        for namespace, name, document in self._listed(PLACEMENT):
            if SCHEDULING_OFF in (document["metadata"].get("annotations") or {}):
                continue
            placement = read_placement(Reader(document, "", Problems()))
            groups = scheduler_groups(placement, ready)
            made = decisions(placement, groups)
            stop = self.stops_after
            for decision in made if stop is None else made[:stop]:
                self._decide(namespace, name, decision)
            if stop is not None:
                continue
            wanted = {decision.name for decision in made}
            for where, other, found in self._listed(PLACEMENT_DECISION):
                mine = found["metadata"]["labels"][DECISION_PLACEMENT] == name
                if where == namespace and mine and other not in wanted:
                    self.api.remove((PLACEMENT_DECISION, where, other))
            status = {
                "numberOfSelectedClusters": sum(len(group.clusters) for group in groups),
                "decisionGroups": [
                    {
                        "decisionGroupIndex": group.index,
                        "decisionGroupName": group.name,
                        "decisions": [each.name for each in made if each.group == group],
                        "clusterCount": len(group.clusters),
                    }
                    for group in groups
                ],
            }
            self.api.put_status((PLACEMENT, namespace, name), status)

    def _decide(self, namespace: str, placement: str, decision: Any) -> None:
        labels = {
            DECISION_PLACEMENT: placement,
            DECISION_GROUP: decision.group.name,
            DECISION_INDEX: str(decision.group.index),
        }
        chosen = [{"clusterName": each, "reason": ""} for each in decision.clusters]
        document = {
            "apiVersion": PLACEMENT_DECISION.api_version,
            "kind": PLACEMENT_DECISION.name,
            "metadata": {"namespace": namespace, "name": decision.name, "labels": labels},
            "status": {"decisions": chosen},
        }
        self.api.put((PLACEMENT_DECISION, namespace, decision.name), document)

    def _propagate(self) -> None:
        """Replicas of every root in the namespace of every cluster it is bound to."""
        wanted: dict[tuple[str, str], tuple[str, Fields]] = {}
        for namespace, name, root in self._listed(POLICY):
            if root_of(root) or root["spec"].get("disabled"):
                continue
            enforced = self._overridden(namespace, name, root)
            stricter = {**root, "spec": {**root["spec"], "remediationAction": "enforce"}}
            for cluster in self._bound(namespace, name):
                found = stricter if cluster in enforced else root
                wanted[cluster, full_name(namespace, name)] = (namespace, found)
        for cluster, name, _ in self._listed(POLICY):
            if cluster in self.agents and (cluster, name) not in wanted:
                self.api.remove((POLICY, cluster, name))
        now = self._clock.now()
        for (cluster, name), (namespace, root_policy) in wanted.items():
            self._replicate(cluster, name, namespace, root_policy)
        for agent in self.agents.values():
            mine = {name for cluster, name in wanted if cluster == agent.name}
            for policy in agent.policies() | mine:
                replica = self._document((POLICY, agent.name, policy))
                agent.see(policy, replica["spec"] if replica is not None else None, now)

    def _bound(self, namespace: str, policy: str) -> Iterator[str]:
        """The clusters that a policy is bound to, by decisions alone: groups do not matter."""
        for binding in self._bindings(namespace, policy):
            if not binding.restricted:
                yield from self._decided(namespace, binding.bound_to)

    def _overridden(self, namespace: str, policy: str, root: Fields) -> Collection[str]:
        """The clusters on which bindings have a policy enforced, whatever it says itself."""
        wanted = {
            cluster: binding.bound_to
            for binding in self._bindings(namespace, policy)
            if binding.enforces
            for cluster in self._decided(namespace, binding.bound_to)
        }
        placements = {name for where, name, _ in self._listed(PLACEMENT) if where == namespace}
        name = full_name(namespace, policy)
        return self._overrides.follow(name, root["spec"], wanted, placements)

    def _bindings(self, namespace: str, policy: str) -> Iterator[BindingState]:
        """What binds a policy, itself or in a set."""
        sets = {
            f"PolicySet/{name}"
            for where, name, document in self._listed(POLICY_SET)
            if where == namespace and policy in (document["spec"].get("policies") or ())
        }
        for where, _, document in self._listed(PLACEMENT_BINDING):
            binding = binding_of(document)
            if where == namespace and not sets.union({f"Policy/{policy}"}).isdisjoint(
                binding.subjects
            ):
                yield binding

    def _decided(self, namespace: str, placement: str) -> Iterator[str]:
        """The clusters in decisions of a Placement; one that is not there has none."""
        if self._document((PLACEMENT, namespace, placement)) is None:
            return
        for there, _, found in self._listed(PLACEMENT_DECISION):
            if there == namespace and found["metadata"]["labels"][DECISION_PLACEMENT] == placement:
                yield from (c for c in decision_of(found).clusters if c in self.agents)

    def _replicate(self, cluster: str, name: str, namespace: str, root: Fields) -> None:
        labels = {
            ROOT_POLICY: name,
            f"{OCM_POLICY}/cluster-name": cluster,
            f"{OCM_POLICY}/cluster-namespace": cluster,
        }
        spec = deepcopy(dict(root["spec"]))
        for template in spec["policy-templates"]:
            self._resolve(template["objectDefinition"], cluster, namespace)
        old = self._document((POLICY, cluster, name)) or {}
        document = {
            "apiVersion": POLICY.api_version,
            "kind": POLICY.name,
            "metadata": {"namespace": cluster, "name": name, "labels": labels},
            "spec": spec,
            **({"status": old["status"]} if "status" in old else {}),
        }
        self.api.put((POLICY, cluster, name), document)

    def _resolve(self, definition: dict[str, Any], cluster: str, namespace: str) -> None:
        if not isinstance(definition.get("spec"), str):
            return

        def lookup(name: str, key: str) -> str:
            found = self._document((CONFIG_MAP, namespace, name))
            if found is None:
                raise HubTemplateError(f'configmaps "{name}" not found')
            if key not in (found.get("data") or {}):
                raise HubTemplateError(f'configmaps "{name}" has no key {key}')
            value: str = found["data"][key]
            return value

        try:
            definition["spec"] = resolve(definition["spec"], cluster, lookup)
        except HubTemplateError as error:
            notes = definition["metadata"].get("annotations") or {}
            definition["metadata"]["annotations"] = {**notes, HUB_ERROR: str(error)}

    def _listed(self, kind: ResourceKind) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for key, record in list(self.api.listed(kind, "")):
            yield key[1], key[2], self.api.document(record)

    def _document(self, key: Key) -> dict[str, Any] | None:
        record = self.api.records.get(key)
        return None if record is None else self.api.document(record)
