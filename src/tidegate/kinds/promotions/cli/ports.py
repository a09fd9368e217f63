"""The ports of promotions as the settings and flags of a command say."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.model.errors import OutsideError
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.git.port import Repository
    from tidegate.kinds.promotions.app.ports import PromotionPorts
    from tidegate.kinds.promotions.core.world import ImageState

SETTINGS = (
    "bundle", "source", "schemasSource", "registry", "registryAuth", "image", "parameters",
    "overlay", "database", "brakes", "holdFiles", "prometheus", "color",
    "forge", "forgeUrl", "forgeToken",
)  # fmt: skip


def ports_of(settings: Settings, *, fetch: bool = True, worker: bool = False) -> "PromotionPorts":
    """The ports; the repository of the bundle is opened and, if wanted, fetched.

    `worker`: it is fetched by every reading, and so are the other repositories, without a word.
    """
    from tidegate.cli.merge_requests.change_reach import IntegrationHolds, IntegrationReach
    from tidegate.cli.merge_requests.running_shards import IntegrationRunning
    from tidegate.kinds.promotions.app.ports import PromotionPorts
    from tidegate.wiring import repositories

    folder = Path(settings.bundle)
    bundle = repositories.repository(folder)
    if fetch and not worker:
        with _or("--no-fetch uses what was fetched before"):
            _fetch(bundle, "the bundle's repository")
    reads_clusters = bool(settings.kubeconfig or settings.contexts)
    return PromotionPorts(
        bundle=bundle,
        folder=str(folder),
        repositories=SourceRepositories(fetch, quiet=worker),
        images=_Images(settings),
        reach=IntegrationReach(folder, settings),
        hold_back=IntegrationHolds(folder, settings),
        artifact_address=settings.source,
        schemas_address=settings.schemas_source,
        running=IntegrationRunning(folder, settings) if reads_clusters else None,
    )


class SourceRepositories:
    """Clones and mirrors; each option names another address where one does not answer."""

    def __init__(self, fetch: bool, *, quiet: bool = False) -> None:
        self._fetch, self._quiet = fetch, quiet

    def artifact(self, address: str) -> "Repository":
        return self._open(address, "--source")

    def schemas(self, address: str) -> "Repository":
        return self._open(address, "--schemas-source")

    def _open(self, address: str, option: str) -> "Repository":
        """A repository by the path of a clone or by its address."""
        from tidegate.wiring import repositories

        place = Path(address)
        with _or(f"{option} names a clone or another address"):
            if place.is_dir() and not (place / "objects").is_dir():
                found = repositories.repository(place)
            else:
                # A bare repository is a remote: what is offered there is pushed to it.
                found = repositories.mirror(str(place.resolve()) if place.is_dir() else address)
            if self._fetch and self._quiet:
                found.fetch()
            elif self._fetch:
                _fetch(found, found.url or address)
        return found


class _Images:
    """ImageLookup in the registries of the settings, or in the one that an image names."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def state(self, image: str) -> "ImageState":
        from tidegate.kinds.promotions.app.survey import RegistryImages
        from tidegate.wiring import outside

        auth = self._settings.registry_auth
        registry = outside.registry(self._settings.registry, auth)
        if registry is None or not registry.asks(image):
            registry = outside.registry((image.partition("/")[0],), auth)
            assert registry is not None
        return await RegistryImages(registry).state(image)


@contextmanager
def _or(remedy: str) -> Iterator[None]:
    """Add a remedy to the error of a system that does not answer."""
    try:
        yield
    except OutsideError as error:
        raise OutsideError(f"{error}; {remedy}") from None


def _fetch(repository: "Repository", what: str) -> None:
    from tidegate.cli.render.progress import Waiting

    with Waiting(f"fetching {what}"):
        repository.fetch()
