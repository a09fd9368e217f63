"""What OpenShift Cluster Managers showed, moment by moment: kept by a person who only looks.

Versions, labels, states and upgrade policies of every cluster as they were, with the moments at
which they changed. Nothing here is asked of a worker, or of the rules it goes by.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tidegate.kinds.upgrades.ocm.simulated.state import (
    ALL_CLUSTERS,
    ORGANIZATIONS,
    SUBSCRIPTIONS,
    OcmState,
)
from tidegate.model.time import Instant, parse_instant

T = TypeVar("T")

PREFIX = "sre-capabilities.aus."
LIVE = ("pending", "scheduled", "started", "delayed", "failed")
Labels = dict[str, str]


class History(Generic[T]):
    """What something was, and since when."""

    def __init__(self) -> None:
        self._since: list[Instant] = []
        self._values: list[T] = []

    def note(self, at: Instant, value: T) -> None:
        """It is so from now on."""
        if self._values and self._values[-1] == value:
            return
        if self._since and self._since[-1] == at:
            self._values[-1] = value
        else:
            self._since.append(at)
            self._values.append(value)

    def at(self, moment: int) -> T:
        """What it was at a moment; before the first that is known, what it was then."""
        return self._values[max(0, bisect_right(self._since, moment) - 1)]

    @property
    def now(self) -> T:
        """What it is."""
        return self._values[-1]

    @property
    def since(self) -> Instant:
        """Since when it is so."""
        return self._since[-1]

    def changes(self, since: int, until: int) -> list[Instant]:
        """When it changed, behind one moment and up to another; that it began is no change."""
        first = max(1, bisect_right(self._since, since))
        return self._since[first : bisect_right(self._since, until)]

    def stretches(self, until: Instant) -> Iterator[tuple[Instant, Instant, T]]:
        """From when to when it was what, up to a moment."""
        ends = [*self._since[1:], until]
        for start, end, value in zip(self._since, ends, self._values, strict=True):
            if start < until:
                yield start, min(end, until), value


@dataclass
class Policy:
    """One upgrade policy, from its beginning to its end."""

    id: str
    # Empty: of the cluster, or of its control plane.
    pool: str
    version: str
    automatic: bool
    next_run: Instant
    made_at: Instant
    ours: bool
    state: History[str] = field(default_factory=History)
    # None: it is still there.
    gone_at: Instant | None = None

    def is_live(self, at: int) -> bool:
        """Whether it was there at a moment, and not over."""
        if self.made_at > at or (self.gone_at is not None and self.gone_at <= at):
            return False
        return self.state.at(at) in LIVE


@dataclass
class Cluster:
    """One cluster, as it was seen."""

    id: str
    uuid: str
    name: str
    env: str
    org: str
    hosted: bool
    sts: bool
    policy_paths: dict[str, str]
    version: History[str] = field(default_factory=History)
    pools: dict[str, History[str]] = field(default_factory=dict)
    labels: History[Labels] = field(default_factory=History)
    state: History[str] = field(default_factory=History)
    channel: History[str] = field(default_factory=History)
    # Those it may be put on.
    channels: History[tuple[str, ...]] = field(default_factory=History)
    offers: History[tuple[str, ...]] = field(default_factory=History)
    agreed: History[tuple[str, ...]] = field(default_factory=History)
    alerts: History[tuple[str, ...]] = field(default_factory=History)
    policies: dict[str, Policy] = field(default_factory=dict)

    def live(self, at: int) -> list[Policy]:
        """Its policies that were not over at a moment."""
        return [each for each in self.policies.values() if each.is_live(at)]

    def versions(self, at: int) -> list[str]:
        """Of the cluster and all its node pools."""
        return [self.version.at(at), *(pool.at(at) for pool in self.pools.values())]

    def lags(self, at: int) -> list[str]:
        """Node pools that are not where the control plane is."""
        own = self.version.at(at)
        return [name for name, pool in self.pools.items() if pool.at(at) != own]


class Record:
    """Everything that was seen."""

    def __init__(self) -> None:
        self.clusters: dict[str, Cluster] = {}
        self.orgs: dict[str, History[Labels]] = {}
        # Whether what is written now is written by another client.
        self.by_others = False
        self._states: dict[str, OcmState] = {}

    def watch(self, env: str, state: OcmState) -> None:
        """Look whenever something changes."""
        self._states[env] = state
        for key, document in state.collections[ALL_CLUSTERS].items():
            self.clusters[key] = self._cluster(env, state, document)
        for key in state.collections[ORGANIZATIONS]:
            self.orgs[key] = History()
        touch = state.touch

        def touched() -> None:
            touch()
            self._look(state, state.now)

        self.by_others = True
        self._look(state, Instant(state.now - 1))  # a moment before anything happens
        self.by_others = False
        state.touch = touched  # type: ignore[method-assign]

    def members(self, org: str) -> list[Cluster]:
        """The clusters of an organisation."""
        return [each for each in self.clusters.values() if each.org == org]

    def env_of(self, org: str) -> str:
        """The environment an organisation is in."""
        return next(
            env for env, state in self._states.items() if org in state.collections[ORGANIZATIONS]
        )

    def named(self, uuid: str) -> Cluster:
        """A cluster by its external id."""
        return next(each for each in self.clusters.values() if each.uuid == uuid)

    def _cluster(self, env: str, state: OcmState, document: dict[str, Any]) -> Cluster:
        key = document["id"]
        subscription = state.collections[SUBSCRIPTIONS][document["subscription"]["id"]]
        hosted = bool(document["product"]["id"] == "rosa" and document["hypershift"]["enabled"])
        base = f"{ALL_CLUSTERS}/{key}"
        pools = sorted(state.collections[f"{base}/node_pools"])
        paths = {
            "": f"{base}/control_plane/upgrade_policies" if hosted else f"{base}/upgrade_policies"
        }
        paths |= {pool: f"{base}/node_pools/{pool}/upgrade_policies" for pool in pools}
        found = Cluster(
            id=key,
            uuid=document["external_id"],
            name=document["name"],
            env=env,
            org=subscription["organization_id"],
            hosted=hosted,
            sts="aws" in document,
            policy_paths=paths,
            pools={pool: History() for pool in pools},
        )
        found.alerts.note(Instant(state.now - 1), ())
        return found

    def _look(self, state: OcmState, now: Instant) -> None:
        for key, document in state.collections[ALL_CLUSTERS].items():
            self._look_at(state, self.clusters[key], document, now)
        for key in state.collections[ORGANIZATIONS]:
            self.orgs[key].note(now, _labels(state, f"{ORGANIZATIONS}/{key}"))

    def _look_at(
        self, state: OcmState, cluster: Cluster, document: dict[str, Any], now: Instant
    ) -> None:
        version, base = document["version"], f"{ALL_CLUSTERS}/{cluster.id}"
        cluster.version.note(now, version["raw_id"])
        cluster.offers.note(now, tuple(version["available_upgrades"]))
        cluster.state.note(now, document["state"])
        cluster.channel.note(now, document["channel"])
        cluster.channels.note(now, tuple(version["available_channels"]))
        agreements = state.collections[f"{base}/gate_agreements"].values()
        cluster.agreed.note(now, tuple(each["version_gate"]["id"] for each in agreements))
        subscription = document["subscription"]["id"]
        cluster.labels.note(now, _labels(state, f"{SUBSCRIPTIONS}/{subscription}"))
        for pool, history in cluster.pools.items():
            history.note(now, state.collections[f"{base}/node_pools"][pool]["version"]["raw_id"])
        there: set[str] = set()
        for pool, path in cluster.policy_paths.items():
            for each in state.collections[path].values():
                there.add(each["id"])
                self._look_at_policy(cluster, pool, each, now)
        for known in cluster.policies.values():
            if known.gone_at is None and known.id not in there:
                known.gone_at = now

    def _look_at_policy(
        self, cluster: Cluster, pool: str, document: dict[str, Any], now: Instant
    ) -> None:
        known = cluster.policies.get(document["id"])
        if known is None:
            known = cluster.policies[document["id"]] = Policy(
                id=document["id"],
                pool=pool,
                version=document["version"],
                automatic=document["schedule_type"] == "automatic",
                next_run=parse_instant(document["next_run"]),
                made_at=now,
                ours=not self.by_others,
            )
        known.next_run = parse_instant(document["next_run"])
        known.state.note(now, document.get("state", {}).get("value", "pending"))


def _labels(state: OcmState, owner: str) -> Labels:
    labels = state.collections[f"{owner}/labels"].values()
    return {each["key"].removeprefix(PREFIX): each["value"] for each in labels}
