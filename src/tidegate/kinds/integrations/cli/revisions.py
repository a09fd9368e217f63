"""`--base` and `--head`: two revisions of a bundle, and settings."""

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.setting_options import settings_options
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.git.tree_port import Tree
    from tidegate.kinds.integrations.app.check.comparison import RevisionComparison

Function = Callable[..., Any]

SETTINGS = ("bundle", "image", "parameters", "overlay", "registry", "registryAuth", "color")


def revision_options(*more: str) -> Callable[[Function], Function]:
    """`[DIR] --base --head` and settings; the command gets what they name as `compared`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(
            *, merged: Merged, folder: Path | None, base: str, head: str | None, **kwargs: Any
        ) -> Any:
            settings = merged.settings()
            for warning in merged.warnings:
                click.echo(f"warning: {warning}", err=True)
            return function(compared=Revisions(settings, folder, base, head), **kwargs)

        flagged: Function = settings_options(*dict.fromkeys((*SETTINGS, *more)))(command)
        before = (
            "Compare with this revision of the bundle, as it was where the head branched from it."
        )
        after = "This revision, instead of the working tree."
        flagged = click.option("--head", metavar="REF", help=after)(flagged)
        flagged = click.option("--base", metavar="REF", required=True, help=before)(flagged)
        path = click.Path(path_type=Path)
        return click.argument("folder", metavar="[DIR]", type=path, required=False)(flagged)

    return decorate


class Revisions:
    """Two revisions as they are asked for; read when they are needed."""

    def __init__(self, settings: Settings, folder: Path | None, base: str, head: str | None):
        from tidegate.kinds.integrations.cli.site import bundle_folder

        self.settings = settings
        self.folder = bundle_folder(settings, folder)
        self.base, self.head = base, head

    @functools.cached_property
    def comparison(self) -> "RevisionComparison":
        """Both sides, read."""
        from tidegate.cli.render.progress import Progress
        from tidegate.kinds.integrations.app.check.comparison import compare
        from tidegate.kinds.integrations.cli.site import site_of
        from tidegate.wiring import bundles, outside

        registry = outside.registry(self.settings.registry, self.settings.registry_auth)
        with Progress("reading files", quiet_s=1.0) as progress:
            return asyncio.run(
                compare(
                    _Repository(self.folder),
                    self.base,
                    self.head,
                    lambda tree: bundles.read_bundle(tree, bundles.bundle_cache(), progress.tell),
                    site_of(self.settings),
                    registry,
                )
            )


class _Repository:
    """The repository that a directory is in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        """The directory of the bundle."""
        return str(self._folder)

    def parting(self, base: str, head: str | None) -> str:
        """The commit where a head left its base."""
        from tidegate.wiring import repositories

        return repositories.parting(self._folder, base, head)

    def tree(self, revision: str | None, *, must_exist: bool = True) -> "Tree":
        """The files of the bundle in a revision."""
        from tidegate.wiring import repositories

        return repositories.open_tree(self._folder, revision, must_exist=must_exist)

    def changed_files(self, base: str, head: str | None) -> tuple[str, ...]:
        """Every file of the repository that differs."""
        from tidegate.wiring import repositories

        return repositories.changed_files(self._folder, base, head)

    def root_file(self, revision: str | None, name: str) -> bytes | None:
        """A file at the root of the repository."""
        from tidegate.wiring import repositories

        return repositories.root_file(self._folder, revision, name)

    def mixed(self, base: str, head: str | None) -> tuple[tuple[str, ...], str]:
        """Versions that must not move in one change and do, and why that is not known."""
        from tidegate.model.errors import UserError
        from tidegate.wiring import bundles

        try:
            return bundles.mixed_versions(self._folder, base, head), ""
        except UserError as error:
            words = "; ".join(each.text() for each in error.problems)
            return (), f"which versions move cannot be read: {words}"
