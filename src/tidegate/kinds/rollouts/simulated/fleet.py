"""Simulated clusters: each takes a change in its own time, and succeeds, fails, or stays silent.

What is random is drawn from (seed, cluster, revision, attempt), never from a shared stream: adding
a cluster or an event changes no other cluster, and the same seed always gives the same run.
"""

import random

from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, TargetBehaviour
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Instant


class FleetCluster:
    """One cluster: what it runs, and what it reports."""

    def __init__(self, name: str, group: int, labels: dict[str, str]) -> None:
        self.name = name
        self.group = group
        self.labels = labels
        self.revision: str | None = None
        self.status = Status.ToApply
        self.since: Instant | None = None
        # When the change under way ends, and how; None: nothing is under way, or it stays silent.
        self.ends_at: Instant | None = None
        self.ends_as = Status.Succeeded
        self.said = ""
        self.attempts = 0


class FleetModel:
    """All clusters of a scenario."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._scenario = scenario
        self._seed = seed
        self._mended: set[str] = set()
        self.clusters: dict[str, FleetCluster] = {}
        for at, group in enumerate(scenario.groups):
            for name in group.clusters:
                self.join(name, at, settled=True)

    def join(self, name: str, group: int, *, settled: bool = False) -> None:
        """A cluster appears; one of the first day already runs the last good revision."""
        cluster = FleetCluster(name, group, dict(self._scenario.groups[group].labels))
        if settled and self._scenario.last_good is not None:
            cluster.revision, cluster.status = self._scenario.last_good, Status.Succeeded
            cluster.since = self._scenario.start
        self.clusters[name] = cluster

    def leave(self, name: str) -> None:
        """A cluster is gone from every group; what we remember of it stays until it is removed."""
        self.clusters[name].group = -1

    def remove(self, name: str) -> None:
        """Nothing of it is remembered any more."""
        del self.clusters[name]

    def mend(self, name: str) -> None:
        """From now on the cluster neither fails nor stays silent."""
        self._mended.add(name)

    def relapse(self) -> None:
        """Clusters fail and stay silent again as their scenario says."""
        self._mended.clear()

    def apply(self, name: str, revision: str, now: Instant) -> None:
        """Give a revision to a cluster; the change begins at once."""
        cluster = self.clusters[name]
        cluster.attempts += 1
        cluster.revision, cluster.status, cluster.since = revision, Status.Progressing, now
        temper, fate = self._fate(cluster)
        cluster.said = temper.fails or self._scenario.success
        cluster.ends_as = Status.Failed if fate == "fails" else Status.Succeeded
        takes = self._takes(cluster, temper)
        cluster.ends_at = None if fate == "silent" else Instant(now + takes)
        if fate != "fails":
            cluster.said = self._scenario.success

    def forget(self, name: str) -> None:
        """What it reported is void: it waits to be tried again."""
        cluster = self.clusters[name]
        cluster.status, cluster.since, cluster.ends_at = Status.ToApply, None, None

    def settle(self, now: Instant) -> None:
        """Let every change end whose time has come."""
        for cluster in self.clusters.values():
            if cluster.ends_at is not None and cluster.ends_at <= now:
                cluster.status, cluster.since = cluster.ends_as, cluster.ends_at
                cluster.ends_at = None

    def next_end(self) -> Instant | None:
        """When the next change ends."""
        ends = [each.ends_at for each in self.clusters.values() if each.ends_at is not None]
        return min(ends, default=None)

    def reports(self) -> list[Target]:
        """What the clusters report now."""
        return [
            Target(each.name, each.status, each.since, each.revision)
            for each in self.clusters.values()
            if each.revision is not None and each.status is not Status.ToApply
        ]

    def _fate(self, cluster: FleetCluster) -> tuple[TargetBehaviour, str]:
        temper = self._scenario.tempers.get(cluster.name, self._scenario.temper)
        # The last good revision is good: no cluster fails on the way back to it.
        if cluster.revision == self._scenario.last_good or cluster.name in self._mended:
            return temper, "succeeds"
        if temper.silent or self._happens(cluster, "silence", self._scenario.silence_percent):
            return temper, "silent"
        if temper.fails or self._happens(cluster, "failure", self._scenario.failure_percent):
            return temper, "fails"
        return temper, "succeeds"

    def _takes(self, cluster: FleetCluster, temper: TargetBehaviour) -> int:
        """How long it takes: whole minutes where the bounds are, else whole seconds."""
        low, high = temper.apply_min, temper.apply_max
        unit = 60 * SECOND if low % (60 * SECOND) == high % (60 * SECOND) == 0 else SECOND
        return low + unit * self._draw(cluster, "time").randint(0, (high - low) // unit)

    def _happens(self, cluster: FleetCluster, what: str, percent: int) -> bool:
        return percent > 0 and self._draw(cluster, what).randrange(100) < percent

    def _draw(self, cluster: FleetCluster, what: str) -> random.Random:
        key = (self._seed, cluster.name, cluster.revision, cluster.attempts, what)
        return random.Random(repr(key))
