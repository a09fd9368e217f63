"""What commands on promotions share: the bundle's repository, what stands where, and the source."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tidegate.model.errors import OutsideError
from tidegate.settings.settings import Settings

if TYPE_CHECKING:
    from tidegate.forge.port import Forge
    from tidegate.git.port import Repository
    from tidegate.kinds.promotions.core.decide import Built
    from tidegate.kinds.promotions.core.model import Promotion

SETTINGS = (
    "bundle", "source", "schemasSource", "registry", "registryAuth", "image", "parameters",
    "overlay", "database", "brakes", "holdFiles", "prometheus", "color",
    "forge", "forgeUrl", "forgeToken",
)  # fmt: skip
DATA = "data/"


class Ground:
    """A bundle at one commit, and the promotion that is meant."""

    def __init__(
        self,
        settings: Settings,
        name: str | None = None,
        base: str = "",
        *,
        to: tuple[str, ...] = (),
        fetch: bool = True,
        of_schemas: bool = False,
        repository: "Repository | None" = None,
        files: "Files | None" = None,
    ) -> None:
        """`repository`: the bundle's, if it is open and fetched already; `files`: at its base."""
        from tidegate.kinds.integrations.cli.site import bundle_folder
        from tidegate.kinds.promotions.files.reading import named, promotions

        self.settings = settings
        self.folder = bundle_folder(settings)
        self.repository = repository or bundle_repository(settings, fetch=fetch)
        self.fetches, self._of_schemas = fetch, of_schemas
        self.base = self.repository.resolve(base) if base else self.repository.tip()
        self.root = root_in(self.repository.prefix)
        self.files = files or self.files_at(self.base)
        self.promotion = named(promotions(self.files), name, to)
        if of_schemas:
            self._turn_to_schemas()
        self.standing = self.standing_in(self.promotion)

    def _turn_to_schemas(self) -> None:
        from tidegate.kinds.promotions.core.model import promotion_of_schemas

        found = promotion_of_schemas(self.promotion)
        if found is None:
            what = f"the promotion {self.promotion.name} names no schemas"
            raise click.UsageError(f"{what}; write schemas: {{repository, places}} in its document")
        self.promotion = found
        self.settings = msgspec.structs.replace(self.settings, source=self.settings.schemas_source)

    def files_at(self, commit: str) -> "Files":
        """The files of another commit of the same bundle."""
        from tidegate.kinds.promotions.files.files import Files

        return Files(self.repository, commit, self.root)

    def standing_in(self, promotion: "Promotion") -> "Standing":
        """Where its versions stand."""
        from tidegate.kinds.promotions.core.model import SHORT
        from tidegate.kinds.promotions.files.finding import standing

        found = standing(self.files, promotion)
        if not found.spots:
            what = f"{self.folder}: no place of {promotion.name} is in {self.base[:SHORT]}"
            remedy = "name the folder of a bundle (--bundle), or declare a Promotion document"
            raise click.UsageError(f"{what}; {remedy}")
        return found

    @property
    def unseen(self) -> dict[str, tuple[str, ...]]:
        """Places that should have a version and have none, by environment.

        The ready-made promotion has places that a bundle need not have.
        """
        declared, unread = bool(self.promotion.where), self.standing.unread
        missing = self.standing.missing
        return {name: some for name, some in missing.items() if declared or name in unread}

    @property
    def source_address(self) -> str:
        """Where the artifact's repository is; a usage error if nobody says."""
        artifact = self.promotion.artifact.repository
        known = [artifact] if artifact else list(self.standing.repositories)
        if self.settings.source:
            return self.settings.source
        if len(known) == 1:
            return known[0]
        what = (
            "several repositories are deployed: " + ", ".join(known) if known else "none is named"
        )
        raise click.UsageError(f"the artifact's repository: {what}; write --source")

    @property
    def public_address(self) -> str:
        """Where people look at the artifact's repository."""
        known = self.standing.repositories
        return self.promotion.artifact.repository or (known[0] if len(known) == 1 else "")

    def source(self) -> "Repository":
        """The artifact's repository, as it is now."""
        option = "--schemas-source" if self._of_schemas else "--source"
        return opened(self.source_address, option, fetch=self.fetches)

    def branch(self, *, here: bool) -> str:
        """What changes are merged into: of the bundle, or of the artifact."""
        return "" if here else self.promotion.artifact.branch

    def schemas(self) -> "tuple[Repository, str] | None":
        """The schemas' repository and the commit of them the bundle has; None: there are none."""
        from tidegate.kinds.promotions.core.model import SCHEMAS
        from tidegate.kinds.promotions.files.finding import spots_at

        declared = self.promotion.schemas
        if declared is None:
            return None
        held = [each.value for each in spots_at(self.files, SCHEMAS, declared.places).held]
        if not held:
            return None
        address = self.settings.schemas_source or declared.repository
        return opened(address, "--schemas-source", fetch=self.fetches), held[0]

    def forge(self) -> "Forge":
        """Where the bundle's merge requests are; UserError if nobody can tell."""
        from tidegate.cli.proposing import forge_of

        return forge_of(self.settings, self.repository.url)

    def needed(self, source: "Repository", version: str) -> str:
        """The commit of the schemas that a version of the artifact names; empty: it names none."""
        from tidegate.kinds.promotions.core.model import SCHEMAS
        from tidegate.kinds.promotions.files.files import Files
        from tidegate.kinds.promotions.files.finding import spots_at

        declared = self.promotion.schemas
        if declared is None or declared.needed is None:
            return ""
        found = spots_at(Files(source, version), SCHEMAS, (declared.needed,)).held
        return found[0].value if found else ""

    def built(self, image: str) -> "Built":
        """Whether an image is there, as its registry says."""
        from tidegate import wiring
        from tidegate.kinds.promotions.app.looking import is_built

        registry = wiring.registry(self.settings.registry, self.settings.registry_auth)
        if registry is None or not registry.asks(image):
            registry = wiring.registry((image.partition("/")[0],), self.settings.registry_auth)
            assert registry is not None
        return asyncio.run(is_built(registry, image))


def bundle_repository(settings: Settings, *, fetch: bool = True) -> "Repository":
    """The repository a bundle is in, as it is now."""
    from tidegate import wiring
    from tidegate.kinds.integrations.cli.site import bundle_folder

    found = wiring.repository(bundle_folder(settings))
    if fetch:
        with _or("--no-fetch goes by what was fetched before"):
            _fetched(found, "the bundle's repository")
    return found


def every_ground(
    settings: Settings,
    name: str | None = None,
    base: str = "",
    *,
    to: tuple[str, ...] = (),
    fetch: bool = True,
) -> "list[Ground]":
    """One for the promotion that is named, or for each that is declared."""
    from tidegate.kinds.promotions.files.files import Files
    from tidegate.kinds.promotions.files.reading import promotions

    repository = bundle_repository(settings, fetch=fetch)
    commit = repository.resolve(base) if base else repository.tip()
    files = Files(repository, commit, root_in(repository.prefix))
    names: list[str | None] = [name]
    if name is None and not to:
        names = [each.name for each in promotions(files)]
    opened: dict[str, Any] = {"repository": repository, "files": files}
    return [Ground(settings, each, commit, to=to, fetch=fetch, **opened) for each in names]


def opened(address: str, option: str, *, fetch: bool = True) -> "Repository":
    """A repository by the path of a clone or by its address, as it is now; an option names it."""
    from tidegate import wiring

    place = Path(address)
    with _or(f"{option} names a clone or another address"):
        if place.is_dir() and not (place / "objects").is_dir():
            found = wiring.repository(place)
        else:
            # A bare repository is somebody's remote: what is offered there is pushed to it.
            found = wiring.mirror(str(place.resolve()) if place.is_dir() else address)
        if fetch:
            _fetched(found, found.url or address)
    return found


@contextmanager
def _or(remedy: str) -> Iterator[None]:
    """Whoever gets no answer is told what to do without it."""
    try:
        yield
    except OutsideError as error:
        raise OutsideError(f"{error}; {remedy}") from None


def _fetched(repository: "Repository", what: str) -> None:
    from tidegate.cli.progress import Waiting

    with Waiting(f"fetching {what}"):
        repository.fetch()


def root_in(prefix: str) -> str:
    """Where the files of a repository are that belong to a bundle: `data` is a part of it."""
    return prefix.removesuffix(DATA) if prefix == DATA or prefix.endswith(f"/{DATA}") else prefix


if TYPE_CHECKING:
    from tidegate.kinds.promotions.files.files import Files
    from tidegate.kinds.promotions.files.finding import Standing
