"""A stage for waves: a policy that informs everywhere, and a rollout that enforces it."""

from typing import Any

from tests.hub_stage import NAME, HubStage, strategy
from tests.policies import body, spec, template
from tidegate.kinds.policies.core.names import wave_name
from tidegate.kinds.policies.wire.hub_doc import decision_of, is_enforced
from tidegate.kubernetes.port import (
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    POLICY_SET,
    ROLLOUT,
)

OWN = wave_name("web")


class WaveStage(HubStage):
    """The author's policy is the root itself."""

    def declare(self, **rollout: Any) -> None:
        """A person writes the Rollout."""
        fields = {"policy": "web", "stage": "waves", "rolloutStrategy": strategy(), **rollout}
        self.hub.put(ROLLOUT, "policies", "web", spec=fields)

    def write(self, value: str, namespace: str = "policies", **more: Any) -> None:
        """The author writes the policy."""
        wanted = spec(template(spec=body(value)), **{"remediationAction": "inform", **more})
        self.hub.put(POLICY, namespace, "web", spec=wanted)

    def enforced(self, policy: str = NAME) -> set[str]:
        """The clusters whose replicas the hub has enforced."""
        found = set()
        for (_, cluster, name), record in self.hub.api.listed(POLICY, ""):
            spec_there = self.hub.api.document(record)["spec"]
            if name == policy and cluster in self.hub.agents and is_enforced(spec_there):
                found.add(cluster)
        return found

    def ours(self) -> set[str]:
        """What is ours on the hub, by kind."""
        kinds = (PLACEMENT, PLACEMENT_BINDING, PLACEMENT_DECISION)
        return {
            kind.name
            for kind in kinds
            for key, _ in self.hub.api.listed(kind, "policies")
            if key[2].startswith("tidegate.")
        }

    def decided(self) -> set[str]:
        """The clusters in our decisions."""
        return {
            cluster
            for key, record in self.hub.api.listed(PLACEMENT_DECISION, "policies")
            if key[2].startswith(OWN)
            for cluster in decision_of(self.hub.api.document(record)).clusters
        }


class BoundSet(HubStage):
    """Two policies in a set, which is bound as a whole."""

    def bind(self, placement: str, policy: str = "web") -> None:
        """The author binds the set."""
        self.members("web", "db")
        self.hub.put(
            PLACEMENT_BINDING,
            "policies",
            "all",
            placementRef={"kind": "Placement", "name": placement},
            subjects=[{"kind": "PolicySet", "name": "all"}],
        )

    def members(self, *names: str) -> None:
        """The author names the policies of the set."""
        self.hub.put(POLICY_SET, "policies", "all", spec={"policies": list(names)})


class StagedSetStage(BoundSet):
    """A set whose revisions go out; its author keeps both policies elsewhere."""

    def write(self, value: str, namespace: str = "web-source", **more: Any) -> None:
        """The author writes both policies; in `policies`, as the plain roots."""
        for name in ("web", "db"):
            self.write_member(name, value, namespace, **more)

    def write_member(
        self, name: str, value: str, namespace: str = "web-source", **more: Any
    ) -> None:
        """The author writes one policy of the set."""
        self.hub.put(POLICY, namespace, name, spec=spec(template(name, body(value, name)), **more))

    def declare(self, **rollout: Any) -> None:
        """A person writes the Rollout of the set."""
        source = {"namespace": "web-source"}
        fields = {"policySet": "all", "source": source, "rolloutStrategy": strategy(), **rollout}
        self.hub.put(ROLLOUT, "policies", "all", spec=fields)

    def all_values(self) -> dict[str, tuple[str, ...]]:
        """What every cluster has of web and of db; empty: nothing."""
        return {
            name: tuple(
                str(found.content["data"]["value"]) if found is not None else ""
                for found in (agent.objects.get(f"ConfigMap/{each}") for each in ("web", "db"))
            )
            for name, agent in self.hub.agents.items()
        }


class SetStage(BoundSet, WaveStage):
    """The same, whose policies inform and are enforced together."""

    def write(self, value: str, namespace: str = "policies", **more: Any) -> None:
        """The author writes both policies."""
        super().write(value, namespace, **more)
        self.write_member("db", value)

    def write_member(self, name: str, value: str) -> None:
        """The author writes another policy of the set."""
        content = spec(template(name, body(value, name)), remediationAction="inform")
        self.hub.put(POLICY, "policies", name, spec=content)

    def declare(self, **rollout: Any) -> None:
        """A person writes the Rollout of the set."""
        fields = {"policySet": "all", "stage": "waves", "rolloutStrategy": strategy(), **rollout}
        self.hub.put(ROLLOUT, "policies", "all", spec=fields)
