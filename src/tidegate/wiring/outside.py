"""Systems that are asked and acted on: clusters, managers, Prometheus, registries, webhooks.

What is made here sends its first request when it is used; only `published` asks at once.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.kinds.integrations.dry_runs_port import Runner
    from tidegate.kinds.integrations.runs_port import Runs
    from tidegate.kinds.rollouts.client.remote_fleet import RemoteFleet
    from tidegate.kinds.upgrades.health_port import ClusterHealth
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters
    from tidegate.kubernetes.client.server import Waiting
    from tidegate.kubernetes.port import Cluster
    from tidegate.kubernetes.review_port import TokenReviews
    from tidegate.net.picture_links import PictureLinks
    from tidegate.notify.port import Notifier
    from tidegate.prometheus.port import EvidenceSource
    from tidegate.prometheus.server import PrometheusServer
    from tidegate.registry.port import Registry


def cluster(
    context: str | None, kubeconfig: str | None, waiting: "Waiting", *, inside: bool = False
) -> "Cluster":
    """The cluster of a context, or of the current one; UserError if that gives no access.

    Sends no request yet; `waiting` is entered for each. `inside`: we run in it.
    """
    from tidegate.kubernetes.client.access import read_access
    from tidegate.kubernetes.client.cluster import KubernetesCluster
    from tidegate.kubernetes.client.pods import PodReach

    reach = PodReach.DIRECT if inside else PodReach.PROXY
    return KubernetesCluster(read_access(context, kubeconfig), reach=reach, waiting=waiting)


def token_reviews(context: str | None = None, kubeconfig: str | None = None) -> "TokenReviews":
    """Reviews of the tokens of service accounts, by the cluster of a context."""
    from tidegate.kubernetes.client.access import read_access
    from tidegate.kubernetes.client.reviews import KubernetesReviews

    return KubernetesReviews(read_access(context, kubeconfig))


def cluster_manager(
    url: str,
    token_url: str = "",
    client_id: str = "",
    client_secret: str = "",
    token: str = "",
    addons: int = 2,
) -> "ManagedClusters":
    """An OpenShift Cluster Manager: with a service account's credentials, or a person's own token.

    A person's token is exchanged where there is an address to do so, and used as it is otherwise.
    """
    from tidegate.kinds.upgrades.ocm.client.client import ClusterManagerClient
    from tidegate.kinds.upgrades.ocm.client.token import (
        AccessToken,
        Credentials,
        OfflineToken,
        ServiceAccount,
    )

    credentials: Credentials = ServiceAccount(token_url, client_id, client_secret)
    if token:
        credentials = OfflineToken(token_url, token) if token_url else AccessToken(token)
    return ClusterManagerClient(url, credentials, addons=addons)


def cluster_health(servers: "Iterable[PrometheusServer]", server: str) -> "ClusterHealth":
    """How clusters are, as one of the Prometheus servers reports it; no request is sent yet."""
    from tidegate.kinds.upgrades.client.prometheus_health import PrometheusHealth
    from tidegate.prometheus.client.source import PrometheusSource

    return PrometheusHealth(PrometheusSource(servers), server)


async def published(url: str) -> bytes:
    """What is published at an address; OutsideError if it cannot be fetched."""
    from tidegate.kinds.upgrades.client.published import fetch

    return await fetch(url)


def evidence_source(servers: "Iterable[PrometheusServer]" = ()) -> "EvidenceSource":
    """Prometheus servers to query for health; no request is sent yet."""
    # Commands that send no request do not import an HTTP client.
    from tidegate.prometheus.client.source import PrometheusSource

    return PrometheusSource(servers)


def prometheus_runs(
    servers: "Iterable[PrometheusServer]", server: str = "", cluster_label: str = ""
) -> "Runs":
    """How runs of pods ended, as a Prometheus has it."""
    from tidegate.kinds.integrations.client.prometheus_runs import PrometheusRuns
    from tidegate.prometheus.client.source import PrometheusSource

    return PrometheusRuns(PrometheusSource(servers), server or None, cluster_label)


def registry(hosts: Iterable[str], auth_file: str = "") -> "Registry | None":
    """Registries to be asked for digests; None if there is none, and tags stay tags.

    UserError if one is not a registry's host. No request is sent yet.
    """
    if not (written := tuple(hosts)):
        return None
    from tidegate.registry.client.registry import OciRegistry
    from tidegate.registry.document import server

    return OciRegistry(map(server, written), Path(auth_file) if auth_file else None)


def remote_fleet(url: str) -> "RemoteFleet":
    """A fleet in another process."""
    from tidegate.kinds.rollouts.client.remote_fleet import RemoteFleet

    return RemoteFleet(url)


def runner(name: str, command: str = "", arguments: Iterable[str] = ()) -> "Runner":
    """What runs containers here: `command`, `podman`, `docker`, or the first of them there is.

    MissingError if there is none; UserError if the command cannot be used. Nothing runs yet.
    """
    from shutil import which

    from tidegate.kinds.integrations.client.runners.command import CommandRunner
    from tidegate.kinds.integrations.client.runners.container import ContainerRunner
    from tidegate.kinds.integrations.dry_runs_port import MissingError

    if name == "command" or (name == "auto" and command):
        return CommandRunner(command)
    programs = ("podman", "docker") if name == "auto" else (name,)
    found = next(filter(which, programs), None)
    if found is None:
        message = f"no {' and no '.join(programs)} here; write --command, or --plan to run nothing"
        raise MissingError(message)
    return ContainerRunner(found, tuple(arguments))


def webhook(url: str, template: str, timeout_s: float, pictures: "PictureLinks") -> "Notifier":
    """The notifier that posts to a webhook."""
    from tidegate.notify.webhook import Webhook

    return Webhook(url, template, timeout_s, pictures)
