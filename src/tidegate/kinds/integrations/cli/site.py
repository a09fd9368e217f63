"""What a site's settings say of integrations: parameters, overlay, clusters, registries."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import click

from tidegate.documents.files import read_document
from tidegate.kinds.integrations.core.workloads.estate import Site
from tidegate.kubernetes.port import Cluster
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.limit import Limit, parse_limit
from tidegate.settings.settings import Settings
from tidegate.wiring import outside


def site_of(settings: Settings) -> Site:
    """What is laid over everything, and what is said by hand."""
    given = dict(_pairs("--parameter", settings.parameters, "NAME=VALUE"))
    if settings.image:
        given["IMAGE"] = settings.image
    overlay = None
    if settings.overlay:
        overlay = read_document(settings.overlay).data
        if not isinstance(overlay, dict):
            raise click.UsageError(f"{settings.overlay}: a patch is a mapping: spec: …")
    return Site(parameters=given, overlay=overlay)


class Clusters:
    """The clusters of a bundle by their names, each opened when it is needed."""

    def __init__(
        self,
        settings: Settings,
        asking: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext(),
    ) -> None:
        # Entered with a cluster's name for every request to it.
        self._asking = asking
        self._contexts = dict(_pairs("--context-of", settings.contexts, "CLUSTER=CONTEXT"))
        self._kubeconfig = settings.kubeconfig or None
        self._inside = settings.pods == "direct"
        self._opened: dict[str, Cluster] = {}

    def find(self, name: str) -> Cluster:
        """A cluster by its name; OutsideError if there is no way to it."""
        if name not in self._opened:
            context = self._contexts.get(name, name)
            try:
                opened = outside.cluster(
                    context, self._kubeconfig, partial(self._asking, name), inside=self._inside
                )
            except UserError as error:
                message = f"{name}: {error}; or write --context-of {name}=CONTEXT"
                raise OutsideError(message) from None
            self._opened[name] = opened
        return self._opened[name]

    async def close(self) -> None:
        """Let go of all of them."""
        for cluster in self._opened.values():
            await cluster.close()
        self._opened.clear()


def removals_of(settings: Settings) -> Limit:
    """How many objects may be removed at once."""
    written = settings.limits_removals
    return parse_limit(int(written) if written.isascii() and written.isdigit() else written)


def bundle_folder(settings: Settings, folder: Path | None = None) -> Path:
    """Where the bundle is."""
    return folder or Path(settings.bundle)


def _pairs(flag: str, texts: Iterable[str], form: str) -> list[tuple[str, str]]:
    found = []
    for text in texts:
        name, joint, value = text.partition("=")
        if not name or not joint:
            raise click.UsageError(f'{flag} "{text}": write {form}')
        found.append((name, value))
    return found
