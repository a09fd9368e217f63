"""Promotions, started from settings: those of a bundle, offered at the forge of its remote.

Promotions that people declare by environment and pipelines are two kinds of partitions; they share
the clone of the bundle and the forge.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.engine.started import Started
from tidegate.kinds.promotions.core.channels.pipeline import KIND as CHANNELS
from tidegate.kinds.promotions.core.decide import KIND
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.forge.port import Forge
    from tidegate.git.port import Repository
    from tidegate.kinds.promotions.app.pipelines.ports import (
        DeploymentSource,
        PipelinePorts,
        PipelineRequests,
        ShardRunSource,
        SloSource,
    )
    from tidegate.kinds.promotions.app.ports import PromotionPorts
    from tidegate.prometheus.server import PrometheusServer


def start(settings: Settings, _seed: int) -> list[Started]:
    """The promotions and pipelines of the bundle that is set; none: `kinds` does not name them.

    They have to be named (`--kind promotions`): a worker for another kind need not have a bundle,
    a clone or a token of a forge.
    """
    named = {each.partition("/")[0] for each in settings.kinds}
    if named.isdisjoint((KIND, CHANNELS)):
        return []
    from tidegate.cli.merge_requests.proposal_options import forge_of
    from tidegate.kinds.promotions.cli.ports import ports_of
    from tidegate.kinds.promotions.kind import PromotionKind
    from tidegate.kinds.promotions.telemetry.observer import PromotionTelemetry
    from tidegate.settings.picture_key import picture_links
    from tidegate.wiring import clock

    ports = ports_of(settings, worker=True)
    forge = forge_of(settings, ports.bundle.url)
    kind = PromotionKind(ports, forge, clock(), pictures=picture_links(settings))
    promotions = Started(kind, PromotionTelemetry(), forge.close, (KIND,))
    return [promotions, _pipelines(settings, ports, forge)]


def _pipelines(settings: Settings, offers: "PromotionPorts", forge: "Forge") -> Started:
    from tidegate.kinds.promotions.app.pipelines.forge_requests import ForgeRequests
    from tidegate.kinds.promotions.app.pipelines.observation import PipelineSurvey
    from tidegate.kinds.promotions.channel_kind import PipelineKind
    from tidegate.kinds.promotions.telemetry.pipelines import PipelineTelemetry
    from tidegate.settings.picture_key import picture_links
    from tidegate.wiring import clock, warn

    ports = pipeline_ports(settings, offers, ForgeRequests(offers, forge))
    adopt = settings.promotion_requests == "adopt"
    survey, links = PipelineSurvey(ports, warn), picture_links(settings)
    kind = PipelineKind(survey, ports.requests, clock(), adopt=adopt, pictures=links)
    return Started(kind, PipelineTelemetry(), ports.close, (CHANNELS,))


def pipeline_ports(
    settings: Settings, offers: "PromotionPorts", requests: "PipelineRequests | None" = None
) -> "PipelinePorts":
    """What pipelines read, as the settings say."""
    from tidegate.kinds.promotions.app.pipelines.ports import PipelinePorts
    from tidegate.kinds.promotions.client.commit_ranges import CommitRanges
    from tidegate.kinds.promotions.client.state_folder import StateFolder
    from tidegate.settings.prometheus_file import read_servers
    from tidegate.wiring import repositories

    def open_mirror(url: str) -> "Repository":
        found = repositories.mirror(settings.source or url)
        found.fetch()
        return found

    servers = [each for name in settings.prometheus for each in read_servers(Path(name))]
    deployments: list[DeploymentSource] = []
    if settings.promotion_state:
        deployments.append(StateFolder(Path(settings.promotion_state)))
    runs: ShardRunSource | None = None
    if offers.running is not None:
        from tidegate.cli.merge_requests.publisher_shards import PublisherRuns, PublisherShards
        from tidegate.cli.merge_requests.running_shards import IntegrationRunning

        shards = IntegrationRunning(Path(settings.bundle), settings)
        deployments.append(PublisherShards(offers.bundle, shards))
        runs = PublisherRuns(offers.bundle, shards)
    return PipelinePorts(
        bundle=offers.bundle,
        read_head=lambda url, branch: repositories.read_head(settings.source or url, branch),
        commits=CommitRanges(open_mirror),
        deployments=tuple(deployments),
        runs=runs,
        slos=_slos(servers) if servers else None,
        requests=requests,
    )


def _slos(servers: "list[PrometheusServer]") -> "SloSource":
    """Whether SLOs are met, as these servers have it; no request is sent yet."""
    from tidegate.kinds.promotions.client.prometheus_slos import PrometheusSlos
    from tidegate.prometheus.client.source import PrometheusSource

    return PrometheusSlos(PrometheusSource(servers), servers)
