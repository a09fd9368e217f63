"""The fleet of `--fleet bundle`: images of integrations, on the clusters a bundle names."""

from collections.abc import Callable
from pathlib import Path

from tidegate import wiring
from tidegate.kinds.integrations.app.digests import Digests, SettledEstates
from tidegate.kinds.integrations.app.estates import BundleEstates
from tidegate.kinds.integrations.cli.site import Clusters, bundle_folder, site_of
from tidegate.kinds.integrations.fleet.fleet import IntegrationsFleet
from tidegate.kinds.integrations.fleet.runs import PodRuns
from tidegate.kinds.integrations.runs_port import Runs
from tidegate.model.problem import Problem
from tidegate.settings.prometheus_file import read_servers
from tidegate.settings.settings import Settings


class ShardFleet(IntegrationsFleet):
    """The same with what it holds open."""

    def __init__(self, settings: Settings, tell: Callable[[Problem], None] | None = None) -> None:
        folder, revision = bundle_folder(settings), settings.revision or None
        plain = BundleEstates(
            lambda: wiring.open_tree(folder, revision),
            lambda tree: wiring.read_bundle(tree, wiring.bundle_cache()),
            site_of(settings),
            read_head=wiring.read_head,
        )
        registry = wiring.registry(settings.registry, settings.registry_auth)
        self._clusters = Clusters(settings)
        self._settled = SettledEstates(plain, Digests(registry), tell)
        self._runs = runs_of(settings)
        super().__init__(self._settled, self._clusters.find, self._runs, wiring.clock())

    async def close(self) -> None:
        """Close clusters, registries and the source of runs."""
        await self._clusters.close()
        await self._runs.close()
        await self._settled.close()


def runs_of(settings: Settings) -> Runs:
    """The source of results of runs: the pods, or a Prometheus."""
    if settings.runs_through == "pods":
        return PodRuns(settings.runs_port)
    servers = [each for name in settings.prometheus for each in read_servers(Path(name))]
    return wiring.prometheus_runs(servers, settings.runs_prometheus, settings.runs_cluster_label)
