"""The fleet of `--fleet bundle`: images of integrations, on the clusters a bundle names."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tidegate import wiring
from tidegate.forge.port import Forge
from tidegate.kinds.integrations.app.digests import Digests, SettledEstates
from tidegate.kinds.integrations.app.estates import BundleEstates
from tidegate.kinds.integrations.app.waves.wave_requests import ForgeWaveRequests
from tidegate.kinds.integrations.cli.site import Clusters, bundle_folder, site_of
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace
from tidegate.kinds.integrations.fleet.fleet import IntegrationsFleet
from tidegate.kinds.integrations.fleet.git_waves import GitWaves
from tidegate.kinds.integrations.fleet.runs import PodRuns
from tidegate.kinds.integrations.runs_port import Runs
from tidegate.kinds.integrations.wave_requests_port import WaveRequest
from tidegate.model.problem import Problem
from tidegate.settings.picture_key import picture_links
from tidegate.settings.prometheus_file import read_servers
from tidegate.settings.settings import Settings
from tidegate.wiring import bundles, outside, repositories


class ShardFleet(IntegrationsFleet):
    """The same with what it holds open."""

    def __init__(self, settings: Settings, tell: Callable[[Problem], None] | None = None) -> None:
        folder, revision = bundle_folder(settings), settings.revision or None
        plain = BundleEstates(
            lambda: repositories.open_tree(folder, revision),
            lambda tree: bundles.read_bundle(tree, bundles.bundle_cache()),
            site_of(settings),
            read_head=repositories.read_head,
        )
        registry = outside.registry(settings.registry, settings.registry_auth)
        self._clusters = Clusters(settings)
        self._settled = SettledEstates(plain, Digests(registry), tell)
        self._runs = runs_of(settings)
        self._waves = BundleWaves(folder, settings)
        super().__init__(
            self._settled,
            self._clusters.find,
            self._runs,
            wiring.clock(),
            waves=GitWaves(self._waves, picture_links(settings)),
        )

    async def close(self) -> None:
        """Close clusters, registries and the source of runs."""
        await self._clusters.close()
        await self._waves.close()
        await self._runs.close()
        await self._settled.close()


class BundleWaves:
    """Merge requests of waves at the forge of the bundle; opened where a place asks for them."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._opened: tuple[ForgeWaveRequests, Forge] | None = None

    def _requests(self) -> ForgeWaveRequests:
        if self._opened is None:
            from tidegate.cli.merge_requests.proposal_options import forge_of

            repository = repositories.repository(self._folder)
            forge = forge_of(self._settings, repository.url)
            requests = ForgeWaveRequests(
                repository,
                forge,
                lambda commit: repositories.open_tree(self._folder, commit),
                lambda tree: bundles.read_bundle(tree, bundles.bundle_cache()),
                site_of(self._settings),
            )
            self._opened = requests, forge
        return self._opened[0]

    async def newest(self, place: ManagedPlace) -> WaveRequest | None:
        """The merge request of a place that is open, or was refused."""
        return await self._requests().newest(place)

    async def offer(self, place: ManagedPlace, moves: Mapping[str, str], picture: str = "") -> str:
        """Offer images for some units of a place."""
        return await self._requests().offer(place, moves, picture)

    async def supersede(self, place: ManagedPlace) -> None:
        """Close what is open of a place for another default."""
        await self._requests().supersede(place)

    async def close(self) -> None:
        """Close the forge, if it was asked for anything."""
        if self._opened is not None:
            await self._opened[1].close()


def runs_of(settings: Settings) -> Runs:
    """The source of results of runs: the pods, or a Prometheus."""
    if settings.runs_through == "pods":
        return PodRuns(settings.runs_port)
    servers = [each for name in settings.prometheus for each in read_servers(Path(name))]
    return outside.prometheus_runs(servers, settings.runs_prometheus, settings.runs_cluster_label)
