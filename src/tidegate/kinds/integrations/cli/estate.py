"""What commands on integrations share: the bundle, the part that is asked about, the clusters."""

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.prompt import sure
from tidegate.cli.render.causes import cause_lines
from tidegate.cli.render.unanswered import Unanswered, told
from tidegate.cli.setting_options import settings_options
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.bundle.section import Bundle
    from tidegate.git.tree_port import Tree
    from tidegate.kinds.integrations.app.estate import EstateView, FindCluster
    from tidegate.kinds.integrations.core.sharding.selection import Selection
    from tidegate.kinds.integrations.core.workloads.estate import Estate

Function = Callable[..., Any]

SETTINGS = (
    "bundle", "revision", "image", "parameters", "overlay", "kubeconfig", "contexts", "pods",
    "registry", "registryAuth", "limits.concurrency", "limits.removals", "color",
    "database", "brakes", "holdFiles", "prometheus",
)  # fmt: skip
FORMATS = ("table", "wide", "json", "yaml", "name")
# What a command does first.
READING = "reading clusters"
# So many problems of a bundle are shown; `validate` shows all.
PROBLEMS_SHOWN = 10

_FILTERS = (
    ("--integration", "integrations", "Only this integration"),
    ("--shard", "shards", "Only this shard: its name, INTEGRATION/SHARD, or its workload"),
    ("--environment", "environments", "Only this environment"),
    ("--cluster", "clusters", "Only this cluster"),
)


verbose_option = click.option(
    "--verbose",
    is_flag=True,
    help="List every item, instead of grouping those with the same cause.",
)


def estate_options(*more: str, in_folder: bool = True) -> Callable[[Function], Function]:
    """`[DIR]`, filters and settings; the command gets all that as `asked`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(*, merged: Merged, folder: Path | None = None, **kwargs: Any) -> Any:
            chosen = {field: kwargs.pop(field) for _, field, _ in _FILTERS}
            verbose = kwargs.pop("verbose")
            return function(asked=EstateQuery(folder, merged, chosen, verbose=verbose), **kwargs)

        flagged: Function = settings_options(*SETTINGS, *more)(command)
        flagged = verbose_option(flagged)
        for flag, field, text in reversed(_FILTERS):
            words = f"{text}; may be repeated."
            flagged = click.option(flag, field, multiple=True, metavar="NAME", help=words)(flagged)
        path = click.Path(path_type=Path)
        if not in_folder:
            return flagged
        return click.argument("folder", metavar="[DIR]", type=path, required=False)(flagged)

    return decorate


class EstateQuery:
    """A bundle, the part of it that is asked about, and settings."""

    def __init__(
        self,
        folder: Path | None,
        merged: Merged,
        chosen: Mapping[str, tuple[str, ...]],
        *,
        verbose: bool = False,
    ) -> None:
        self.settings: Settings = merged.settings()
        # Whether everything is shown that has the same cause.
        self.verbose = verbose
        # The clusters that were asked.
        self.unanswered = Unanswered()
        for warning in merged.warnings:
            click.echo(f"warning: {warning}", err=True)
        self.folder = self._folder(folder)
        self.view = self._read(chosen)
        for warning in self.view.warnings:
            click.echo(f"warning: {warning}", err=True)
        if self.view.unknown:
            # A name may be missing because of an error in the bundle.
            self.tell_problems()
        self.view.check()

    def _folder(self, folder: Path | None) -> Path:
        from tidegate.kinds.integrations.cli.site import bundle_folder

        return bundle_folder(self.settings, folder)

    def _read(self, chosen: Mapping[str, tuple[str, ...]]) -> "EstateView":
        import asyncio

        from tidegate.cli.render.progress import Progress
        from tidegate.kinds.integrations.app.estate import read_estate
        from tidegate.kinds.integrations.cli.site import site_of
        from tidegate.kinds.integrations.core.sharding.selection import Selection
        from tidegate.wiring import bundles, outside, repositories

        site = site_of(self.settings)
        tree = repositories.open_tree(self.folder, self.settings.revision or None)
        registry = outside.registry(self.settings.registry, self.settings.registry_auth)
        with Progress("reading files", quiet_s=1.0) as progress:
            bundle = bundles.read_live_bundle(tree, bundles.bundle_cache(), progress.tell)
        return asyncio.run(read_estate(tree, lambda _: bundle, site, registry, Selection(**chosen)))

    @property
    def tree(self) -> "Tree":
        """The files of the bundle."""
        return self.view.tree

    @property
    def bundle(self) -> "Bundle":
        """The bundle."""
        return self.view.bundle

    @property
    def estate(self) -> "Estate":
        """The estate of the bundle."""
        return self.view.estate

    @property
    def selection(self) -> "Selection":
        """The part that is asked about."""
        return self.view.selection

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the bundle."""
        return self.view.sound

    def tell_problems(self, follows: str = "what depends on it is not known") -> None:
        """Print what is wrong with the bundle, and what follows from it."""
        problems = list(cause_lines(self.view.problems))
        for line in problems[:PROBLEMS_SHOWN]:
            click.echo(f"Error: {line}", err=True)
        if problems:
            more = len(problems) - PROBLEMS_SHOWN
            rest = f"and {more} more; " if more > 0 else ""
            click.echo(
                f"{rest}{follows}; `tidegate validate` shows every problem of its files", err=True
            )

    @asynccontextmanager
    async def clusters(self) -> "AsyncIterator[FindCluster]":
        """Access to clusters by name; closed at the end."""
        from tidegate.kinds.integrations.cli.site import Clusters

        clusters = Clusters(self.settings, self.unanswered.asking)
        try:
            yield clusters.find
        finally:
            await clusters.close()

    @asynccontextmanager
    async def reading(self) -> "AsyncIterator[FindCluster]":
        """The same for a command that only reads; clusters that do not answer are named."""
        async with self.clusters() as find:
            with told(self.unanswered, READING):
                yield find


class Phases:
    """A bar of progress for each phase of an act, one after the other; it names who is silent."""

    def __init__(self, unanswered: Unanswered) -> None:
        self._unanswered = unanswered
        self._open = ExitStack()

    def __call__(self, words: str, total: int) -> Callable[[int], None]:
        """Begin a phase; called back with how many more are done."""
        from tidegate.cli.render.progress import Progress

        self._open.close()
        return self._open.enter_context(Progress(words, total, also=self._unanswered.words)).tell

    def __enter__(self) -> "Phases":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._unanswered.tell_end()


def tell_troubles(troubles: Iterable[str], *, verbose: bool = False) -> None:
    """What could not be read, a line for each cause."""
    for trouble in cause_lines(troubles, verbose=verbose):
        click.echo(f"Error: {trouble}", err=True)


def end_with(troubles: Sequence[str], *, verbose: bool = False) -> None:
    """The same, if there is any, and exit 1."""
    tell_troubles(troubles, verbose=verbose)
    if troubles:
        raise click.exceptions.Exit(FAILURE)


def confirm(question: str, yes: bool) -> None:
    """Ask before going on; without a terminal, `--yes` is required."""
    sure(question, yes)
