"""The fleet of `--fleet bundle`: images of integrations, on the clusters a bundle names."""

from collections.abc import Callable
from pathlib import Path

from tidegate import wiring
from tidegate.cli.site import Clusters, bundle_folder, site_of
from tidegate.config.estate_source import BundleEstates
from tidegate.config.prometheus_file import read_servers
from tidegate.config.settings import Settings
from tidegate.core.model.problem import Problem
from tidegate.engine.integrations.digests import Digests, SettledEstates
from tidegate.engine.integrations.fleet import IntegrationsFleet
from tidegate.engine.integrations.runs import PodRuns
from tidegate.ports.runs import Runs


class ShardFleet(IntegrationsFleet):
    """The same with what it holds open."""

    def __init__(self, settings: Settings, tell: Callable[[Problem], None] | None = None) -> None:
        folder, revision = bundle_folder(settings), settings.revision or None
        plain = BundleEstates(
            lambda: wiring.open_tree(folder, revision), wiring.bundle_cache(), site_of(settings)
        )
        registry = wiring.registry(settings.registry, settings.registry_auth)
        self._clusters = Clusters(settings)
        self._settled = SettledEstates(plain, Digests(registry), tell)
        self._runs = runs_of(settings)
        super().__init__(self._settled, self._clusters.find, self._runs, wiring.clock())

    async def close(self) -> None:
        """Let go of clusters, registries and whoever tells of runs."""
        await self._clusters.close()
        await self._runs.close()
        await self._settled.close()


def runs_of(settings: Settings) -> Runs:
    """Whoever tells how runs ended: the pods, or a Prometheus that asked them."""
    if settings.runs_through == "pods":
        return PodRuns(settings.runs_port)
    servers = [each for name in settings.prometheus for each in read_servers(Path(name))]
    return wiring.prometheus_runs(servers, settings.runs_prometheus, settings.runs_cluster_label)
