"""Small estates and simulated clusters to have them on, for tests of plans and of applying them."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from tidegate.kinds.integrations.app.executor import ObjectExecutor, ObjectResult, apply, preview
from tidegate.kinds.integrations.app.survey import ClusterSurvey, read_clusters
from tidegate.kinds.integrations.core.objects.changes import changes_of
from tidegate.kinds.integrations.core.sharding.model import (
    Integration,
    Managed,
    Namespace,
    Override,
    Sharding,
    ShardKey,
)
from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.core.workloads.change import ObjectAction, PlannedChange
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest
from tidegate.kinds.integrations.core.workloads.estate import Estate, Site, estate_of
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kubernetes.port import MANAGER, Cluster, Take
from tidegate.kubernetes.simulated.api import SimulatedApi
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.model.problem import Problems

REPOSITORY = "quay.io/app-sre/qontract-reconcile"
RESOURCES = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
SOMEBODY = "somebody"
Where = tuple[str, str, str, str]


def key(name: str) -> ShardKey:
    """One account."""
    return ShardKey(name=name, key=name, suffix=f"-{name}", argument=name)


def namespace(cluster: str = "c1", name: str = "ns", environment: str = "production") -> Namespace:
    """Where things run."""
    path = f"/{cluster}/{name}.yml"
    return Namespace(path=path, name=name, cluster=cluster, environment=environment)


def staged() -> ImageRules:
    """Images move step by step."""
    return ImageRules(strategy=Strategy(StrategyType.PROGRESSIVE))


def managed(
    image: str = "aaaaaaa",
    where: Namespace | None = None,
    *,
    shards: int | None = None,
    accounts: bool = False,
    overrides: Iterable[Override] = (),
    rollout: ImageRules | None = None,
    overlap: bool = False,
    **spec: Any,
) -> Managed:
    """One place an integration runs in."""
    sharding = Sharding(
        strategy="per-aws-account" if accounts else "static",
        shards=shards,
        overrides=tuple(overrides),
        overlap=overlap,
    )
    return Managed(
        namespace=where or namespace(),
        spec={"imageRef": image, "resources": RESOURCES, **spec},
        sharding=sharding,
        rollout=rollout,
        where="integrations/it.yml:9",
    )


def integration(name: str, *places: Managed) -> Integration:
    """An integration and where it runs."""
    return Integration(name=name, managed=places, where=f"integrations/{name}.yml:1")


def estate(
    *integrations: Integration, accounts: Iterable[str] = ("one", "two", "three"), **given: str
) -> Estate:
    """What some integrations result in."""
    problems = Problems()
    inventories = {"aws_accounts": tuple(map(key, accounts))}
    site = Site(parameters=dict(given))
    return estate_of(integrations, inventories, problems, site=site)


class Land:
    """Simulated clusters, as we and another person see them."""

    def __init__(self, *names: str, namespaces: Iterable[str] = ("ns", "other")) -> None:
        self.apis = {name: SimulatedApi(name) for name in names or ("c1",)}
        for api in self.apis.values():
            api.namespaces |= set(namespaces)

    def clusters(self, manager: str = MANAGER) -> dict[str, Cluster]:
        """All of them, as seen by a person."""
        return {name: SimulatedCluster(api, manager) for name, api in self.apis.items()}

    def records(self) -> dict[Where, Any]:
        """Everything there is, by any author; a record is never changed, only replaced."""
        return {
            (name, place, kind.name, called): record
            for name, api in self.apis.items()
            for (kind, place, called), record in api.records.items()
        }

    def ours(self) -> set[Where]:
        """What of it is ours, by the server's book."""
        return {where for where, record in self.records().items() if MANAGER in record.owners}

    def read(self, wanted: Estate) -> dict[str, ClusterSurvey]:
        """What there is, for a plan."""
        spaces: dict[str, set[str]] = {}
        for piece in wanted.pieces():
            spaces.setdefault(piece.cluster, set()).add(piece.namespace)
        return asyncio.run(read_clusters(self.clusters(), spaces))

    def plan(self, wanted: Estate, **wishes: Any) -> tuple[PlannedChange, ...]:
        """What would be done, by our own account."""
        sights = self.read(wanted)
        return changes_of(wanted, {n: s.seen for n, s in sights.items()}, ChangeRequest(**wishes))

    def foreseen(self, wanted: Estate, **wishes: Any) -> tuple[PlannedChange, ...]:
        """What would be done, by the servers' account."""
        changes, executor = self._executor(wanted, wishes)
        return asyncio.run(preview(changes, executor))[0]

    def apply(self, wanted: Estate, **wishes: Any) -> tuple[ObjectResult, ...]:
        """Do it."""
        changes, executor = self._executor(wanted, wishes)
        return asyncio.run(apply(changes, executor))

    def somebody_applies(self, document: Mapping[str, Any], cluster: str = "c1") -> None:
        """Another owner writes."""
        theirs = self.clusters(SOMEBODY)[cluster]
        asyncio.run(theirs.apply(document, take=Take.OVER))

    def _executor(
        self, wanted: Estate, wishes: Mapping[str, Any]
    ) -> tuple[tuple[PlannedChange, ...], ObjectExecutor]:
        sights = self.read(wanted)
        seen = {name: sight.seen for name, sight in sights.items()}
        changes = changes_of(wanted, seen, ChangeRequest(**wishes))
        objects = {key: each for sight in sights.values() for key, each in sight.objects.items()}
        consent = bool(wishes.get("adopt"))
        return changes, ObjectExecutor(clusters=self.clusters(), objects=objects, consent=consent)


def verbs(changes: Iterable[PlannedChange]) -> dict[str, ObjectAction]:
    """What becomes of each object, by its name."""
    return {change.name: change.verb for change in changes}
