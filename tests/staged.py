"""A small estate that a person edits: accounts in tiers, rules for images, one set of shards."""

from pathlib import Path
from typing import Any

import yaml

from tests.bundles import MemoryTree, read_uncached
from tidegate.kinds.integrations.app.estates import BundleEstates
from tidegate.kinds.integrations.fleet.fleet import IntegrationsFleet
from tidegate.kinds.integrations.fleet.runs import PodRuns
from tidegate.kinds.integrations.fleet.snapshot import Find
from tidegate.machine.clock import Clock

INTEGRATION, NUMBERED = "terraform-resources", "gitlab-housekeeping"
TIERS = {
    "ter-int-dev": "canary",
    "stage-1": "stage",
    "stage-2": "stage",
    "prod-1": "prod",
    "prod-2": "prod",
    "prod-3": "prod",
}


def rules(soak: str, deadline: str) -> str:
    """Canary, stage and the rest, two at a time, back where it fails."""
    return f"""
rollout:
  type: ProgressivePerGroup
  progressivePerGroup:
    minSuccessTime: {soak}
    progressDeadline: {deadline}
    maxConcurrency: 2
  onFailure: rollback
  runs: 3
  failingRuns: 2
  groups:
  - {{name: canary, matchLabels: {{tier: canary}}}}
  - {{name: stage, matchLabels: {{tier: stage}}}}
"""


# In real time.
RULES = rules(soak="500ms", deadline="60s")


class Declared:
    """A bundle in memory that a person edits."""

    def __init__(self, namespace: str, cluster: str = "one", rules: str = RULES) -> None:
        self.namespace, self.cluster = namespace, cluster
        self.image = "good-1"
        self.rules = rules
        self.sharding = "strategy: per-aws-account"
        self.overrides: list[dict[str, Any]] = []
        self.accounts = dict(TIERS)
        # Of the environment, for what has no image of its own; empty: there is none.
        self.tag = "c0ffee0"
        # Of every shard; empty: none.
        self.arguments = ""
        # Other fields of the spec, each with a comma behind it.
        self.fields = ""
        # Of another integration, which is split by number; 0: there is none.
        self.numbered = 0
        self.estates = BundleEstates(lambda: MemoryTree(self.files()), read_uncached, fresh_s=0)

    @property
    def partition(self) -> str:
        """The rollout of its only place."""
        return f"integrations/{INTEGRATION}@{self.cluster}.{self.namespace}"

    def files(self) -> dict[str, str]:
        """The bundle as it is now."""
        said = {"shardSpecOverrides": self.overrides}
        overrides = yaml.dump(said, Dumper=yaml.CSafeDumper) if self.overrides else ""
        sharding = "".join(f"    {line}\n" for line in f"{self.sharding}\n{overrides}".splitlines())
        numbered = {
            f"integrations/{NUMBERED}.yml": self._integration(
                NUMBERED, f"    strategy: static\n    shards: {self.numbered}\n"
            )
        }
        return {
            **(numbered if self.numbered else {}),
            "environment.yml": (
                "$schema: /app-sre/environment-1.yml\nname: production\n"
                + (f"parameters: {{IMAGE_TAG: {self.tag}}}\n" if self.tag else "")
            ),
            "cluster.yml": f"$schema: /openshift/cluster-1.yml\nname: {self.cluster}\n",
            "namespace.yml": (
                f"$schema: /openshift/namespace-1.yml\nname: {self.namespace}\n"
                "cluster: {$ref: /cluster.yml}\nenvironment: {$ref: /environment.yml}\n"
            ),
            **{
                f"aws/{name}.yml": (
                    f"$schema: /aws/account-1.yml\nname: {name}\nlabels: {{tier: {tier}}}\n"
                )
                for name, tier in self.accounts.items()
            },
            f"integrations/{INTEGRATION}.yml": self._integration(INTEGRATION, sharding),
        }

    def _integration(self, name: str, sharding: str) -> str:
        image = f"imageRef: {self.image}, " if self.image else ""
        image += f"extraArgs: {self.arguments}, " if self.arguments else ""
        return (
            f"$schema: /app-sre/integration-1.yml\nname: {name}\n{self.rules}"
            f"managed:\n- namespace: {{$ref: /namespace.yml}}\n"
            f"  spec: {{{image}{self.fields}"
            "resources: {requests: {cpu: 100m, memory: 100Mi}}}\n"
            f"  sharding:\n{sharding}"
        )

    def fleet(self, find: Find, clock: Clock, *, port: int, look_s: float) -> IntegrationsFleet:
        """The estate as a fleet that has seen nothing yet."""
        return IntegrationsFleet(
            self.estates, find, PodRuns(port), clock, fresh_s=0.05, look_s=look_s
        )

    def write(self, folder: Path) -> None:
        """The same as files."""
        for path, text in self.files().items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
