"""Puts the parts together; the only module that knows every adapter.

Each is imported when it is asked for: a command imports what it uses.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

if TYPE_CHECKING:
    from tidegate.bundle.file_reader import Progress
    from tidegate.bundle.section import Bundle, Sections
    from tidegate.forge.place import ForgeKind
    from tidegate.forge.port import Forge
    from tidegate.git.client.remote_heads import RemoteHeads
    from tidegate.git.port import Contents, Repository
    from tidegate.git.tree_port import Tree
    from tidegate.kinds.integrations.dry_runs_port import Runner
    from tidegate.kinds.integrations.runs_port import Runs
    from tidegate.kinds.rollouts.client.remote_fleet import RemoteFleet
    from tidegate.kinds.upgrades.health_port import ClusterHealth
    from tidegate.kinds.upgrades.ocm.port import ManagedClusters
    from tidegate.kubernetes.client.server import Waiting
    from tidegate.kubernetes.port import Cluster
    from tidegate.kubernetes.review_port import TokenReviews
    from tidegate.machine.cache import Cache
    from tidegate.machine.clock import Clock
    from tidegate.net.picture_links import PictureLinks
    from tidegate.notify.port import Notifier
    from tidegate.prometheus.port import EvidenceSource
    from tidegate.prometheus.server import PrometheusServer
    from tidegate.registry.port import Registry
    from tidegate.store.archive_port import Archive


def bundle_sections() -> "Sections":
    """What each kind reads of a bundle."""
    from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
    from tidegate.kinds.policies.bundle import POLICIES_SECTION
    from tidegate.kinds.promotions.bundle import PROMOTIONS_SECTION
    from tidegate.kinds.upgrades.bundle import UPGRADES_SECTION

    return (INTEGRATIONS, POLICIES_SECTION, PROMOTIONS_SECTION, UPGRADES_SECTION)


def bundle_rules() -> dict[str, str]:
    """What findings in a bundle are about, by the word that names it."""
    from tidegate.bundle.finding import RULES

    return RULES | {name: text for each in bundle_sections() for name, text in each.rules.items()}


def read_bundle(tree: "Tree", cache: "Cache", progress: "Progress | None" = None) -> "Bundle":
    """The bundle in a tree, read for every kind."""
    from tidegate.bundle.reader import read_bundle

    return read_bundle(tree, cache, bundle_sections(), progress)


def clock() -> "Clock":
    """The clock of the machine."""
    from tidegate.machine.system_clock import SystemClock

    return SystemClock()


def warn(text: str) -> None:
    """A warning on stderr."""
    sys.stderr.write(f"warning: {text}\n")


def open_store(database: str, *, writes: bool = True, creates: bool | None = None) -> "Archive":
    """The journal in a file, at `postgresql://…`, or in `memory:`; one only read is not changed.

    NoJournalError where there is none, unless one may be made: `creates`, or else `writes`.
    """
    # Commands without a database do not import one.
    from tidegate.kind_table import fact_tags as load_facts
    from tidegate.store.client.database_address import open_archive

    load_facts()
    return open_archive(database, writes=writes, creates=creates)


def webhook(url: str, template: str, timeout_s: float, pictures: "PictureLinks") -> "Notifier":
    """The notifier that posts to a webhook."""
    from tidegate.notify.webhook import Webhook

    return Webhook(url, template, timeout_s, pictures)


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


async def published(url: str) -> bytes:
    """What is published at an address; OutsideError if it cannot be fetched."""
    from tidegate.kinds.upgrades.client.published import fetch

    return await fetch(url)


def token_reviews(context: str | None = None, kubeconfig: str | None = None) -> "TokenReviews":
    """Reviews of the tokens of service accounts, by the cluster of a context."""
    from tidegate.kubernetes.client.access import read_access
    from tidegate.kubernetes.client.reviews import KubernetesReviews

    return KubernetesReviews(read_access(context, kubeconfig))


def is_database(path: Path) -> bool:
    """Whether a file is a database, and not a journal's lines."""
    from tidegate.store.client.database_address import is_sqlite

    return is_sqlite(path)


def evidence_source(servers: "Iterable[PrometheusServer]" = ()) -> "EvidenceSource":
    """Prometheus servers to query for health; no request is sent yet."""
    # Commands that send no request do not import an HTTP client.
    from tidegate.prometheus.client.source import PrometheusSource

    return PrometheusSource(servers)


def registry(hosts: Iterable[str], auth_file: str = "") -> "Registry | None":
    """Registries to be asked for digests; None if there is none, and tags stay tags.

    UserError if one is not a registry's host. No request is sent yet.
    """
    if not (written := tuple(hosts)):
        return None
    from tidegate.registry.client.registry import OciRegistry
    from tidegate.registry.document import server

    return OciRegistry(map(server, written), Path(auth_file) if auth_file else None)


def prometheus_runs(
    servers: "Iterable[PrometheusServer]", server: str = "", cluster_label: str = ""
) -> "Runs":
    """How runs of pods ended, as a Prometheus has it."""
    from tidegate.kinds.integrations.client.prometheus_runs import PrometheusRuns
    from tidegate.prometheus.client.source import PrometheusSource

    return PrometheusRuns(PrometheusSource(servers), server or None, cluster_label)


def cluster_health(servers: "Iterable[PrometheusServer]", server: str) -> "ClusterHealth":
    """How clusters are, as one of the Prometheus servers reports it; no request is sent yet."""
    from tidegate.kinds.upgrades.client.prometheus_health import PrometheusHealth
    from tidegate.prometheus.client.source import PrometheusSource

    return PrometheusHealth(PrometheusSource(servers), server)


def remote_fleet(url: str) -> "RemoteFleet":
    """A fleet in another process."""
    from tidegate.kinds.rollouts.client.remote_fleet import RemoteFleet

    return RemoteFleet(url)


def open_tree(
    folder: Path, revision: str | None = None, *, must_exist: bool = True, only: Sequence[Path] = ()
) -> "Tree":
    """The files of a bundle: in a directory, or in a revision of its repository; or some alone.

    A revision that does not have the directory has no files, if it need not exist.
    """
    from tidegate.git.client.tree.directory import DirectoryTree, FilesTree
    from tidegate.git.client.tree.git import GitTree

    if revision is not None:
        return GitTree(folder, revision, must_exist=must_exist)
    return FilesTree(only) if only else DirectoryTree(folder)


def parting(folder: Path, base: str, head: str | None) -> str:
    """The commit where a head left its base; a working tree left it where its commit did."""
    from tidegate.git.client.tree.git import merge_base

    return merge_base(folder, base, head or "HEAD")


def root_file(folder: Path, revision: str | None, name: str) -> bytes | None:
    """A file at the root of the repository of a bundle, read or not; None: there is no such."""
    from tidegate.git.client.tree.git import file_at, root_of

    if revision is not None:
        return file_at(folder, revision, name)
    path = (root_of(folder) or folder) / name
    return path.read_bytes() if path.is_file() else None


def branch_here(folder: Path) -> str:
    """The branch that is checked out in a directory; empty: none is."""
    from tidegate.git.client.tree.git import branch_of

    return branch_of(folder)


def repository(folder: Path) -> "Repository":
    """The Git repository that a folder is in, with its remote; UserError if it is in none."""
    from tidegate.git.client.repository import open_repository

    return open_repository(folder)


def working_tree(folder: Path) -> Path | None:
    """Where the repository that a folder is in has its files; None: it has none, or is none."""
    from tidegate.git.client.tree.git import root_of

    return root_of(folder)


def working_files(folder: Path, committed: "Contents") -> "Contents":
    """What commits of a repository have, with what is changed in the working tree of a folder."""
    from tidegate.git.client.working_files import WorkingFiles

    return WorkingFiles(folder, working_tree(folder) or folder, committed)


def write_files(root: Path, old: Mapping[str, bytes], new: Mapping[str, bytes | None]) -> None:
    """Change files below a folder that have still what was read; else StaleError, and none is."""
    from tidegate.git.client.tree.file_writer import write_files

    write_files(root, old, new)


def read_head(url: str, branch: str) -> str:
    """The newest commit of a branch of a repository elsewhere."""
    return _remote_heads()(url, branch)


@lru_cache(maxsize=1)
def _remote_heads() -> "RemoteHeads":
    from tidegate.git.client.remote_heads import RemoteHeads

    return RemoteHeads(Path.cwd())


def read_live_bundle(tree: "Tree", cache: "Cache", progress: "Progress | None" = None) -> "Bundle":
    """A bundle of our own, with the commits of the branches that it follows.

    Not for merge requests of strangers: the addresses of repositories are theirs to write.
    """
    from tidegate.kinds.integrations.app.estates import with_heads

    return with_heads(read_bundle(tree, cache, progress), read_head)


def mirror(url: str) -> "Repository":
    """A mirror of a Git repository, kept on this machine; the first time it is fetched whole.

    Commits and trees are kept, contents are fetched as they are asked for.
    """
    from tidegate.git.client.mirror import open_mirror
    from tidegate.machine.file_cache import cache_path

    return open_mirror(url, cache_path().parent / "mirrors")


def mixed_versions(folder: Path, base: str, head: str | None) -> tuple[str, ...]:
    """Versions that a change of a bundle moves together and must not; no head: the working tree."""
    from tidegate.kinds.promotions.app.mixed_versions import mixed_versions as mixed

    committed = repository(folder)
    if head is not None:
        return mixed(committed, committed, base, head, committed.prefix)
    return mixed(committed, working_files(folder, committed), base, base, committed.prefix)


def changed_files(folder: Path, base: str, head: str | None) -> tuple[str, ...]:
    """Every file of the repository of a bundle that differs, read or not, by its path in it."""
    from tidegate.git.client.tree.git import changed_files as changed

    return changed(folder, base, head)


def write_out(folder: Path, revision: str, into: Path) -> None:
    """Write what a revision has of a bundle's directory into another one."""
    from tidegate.git.client.tree.git import write_out as write

    write(folder, revision, into)


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


def bundle_cache(*, wanted: bool = True) -> "Cache":
    """Cached results of earlier bundle reads on this machine; or nothing."""
    from tidegate.machine.file_cache import FileCache, NoCache, cache_path

    return FileCache(cache_path()) if wanted else NoCache()


def forge(
    remote: str,
    kind: str = "auto",
    url: str = "",
    token: str = "",
    env: Mapping[str, str] | None = None,
) -> "Forge":
    """The forge a remote is at, as the settings `forge`, `forgeUrl` and `forgeToken` say.

    UserError names the setting to change. No request is sent yet.
    """
    from tidegate.forge.place import ForgeKind, forge_place
    from tidegate.git.remote_url import remote_of

    place = forge_place(remote_of(remote), kind, url)
    if place.kind is ForgeKind.LOCAL:
        from tidegate.forge.client.local import LocalForge

        return LocalForge(Path(place.api))
    from tidegate.forge.client.gitea import GiteaForge
    from tidegate.forge.client.github import GithubForge
    from tidegate.forge.client.gitlab import GitlabForge

    made: dict[ForgeKind, Callable[[str, str, str], Forge]] = {
        ForgeKind.GITLAB: GitlabForge,
        ForgeKind.GITHUB: GithubForge,
        ForgeKind.GITEA: GiteaForge,
    }
    secret = _forge_token(place.kind, token, os.environ if env is None else env)
    return made[place.kind](place.api, place.project, secret)


def _forge_token(kind: "ForgeKind", token: str, env: Mapping[str, str]) -> str:
    """The token for a forge: where the settings say, or where its own tools look for it."""
    from tidegate.forge.place import TOKEN_VARIABLES
    from tidegate.settings.settings import revealed

    usual = (env[name].strip() for name in TOKEN_VARIABLES[kind] if env.get(name, "").strip())
    found = revealed(token, env, "forgeToken") if token else next(usual, "")
    if not (found.isascii() and found.isprintable()) or " " in found:
        raise UserError((Problem("forgeToken", "what is there is no token", "write one word"),))
    return found
