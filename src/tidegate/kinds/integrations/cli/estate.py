"""What commands on integrations share: the bundle, which part of it is meant, and the clusters."""

import functools
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click

from tidegate.cli.asking import agreed
from tidegate.cli.main import FAILURE
from tidegate.cli.setting_options import settings_options
from tidegate.settings.settings import Merged, Settings

Function = Callable[..., Any]

SETTINGS = (
    "bundle", "revision", "image", "parameters", "overlay", "kubeconfig", "contexts", "pods",
    "registry", "registryAuth", "limits.concurrency", "color",
    "database", "brakes", "holdFiles", "prometheus",
)  # fmt: skip
FORMATS = ("table", "wide", "json", "yaml", "name")
# So many problems of a bundle are shown; `validate` shows all.
PROBLEMS_SHOWN = 10

_FILTERS = (
    ("--integration", "integrations", "Only this integration"),
    ("--shard", "shards", "Only this shard: its name, INTEGRATION/SHARD, or its workload"),
    ("--environment", "environments", "Only this environment"),
    ("--cluster", "clusters", "Only this cluster"),
)


def estate_options(*more: str, in_folder: bool = True) -> Callable[[Function], Function]:
    """`[DIR]`, what is meant, and settings; the command is handed all that as `asked`."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(*, merged: Merged, folder: Path | None = None, **kwargs: Any) -> Any:
            chosen = {field: kwargs.pop(field) for _, field, _ in _FILTERS}
            return function(asked=Asked(folder, merged, chosen), **kwargs)

        flagged: Function = settings_options(*SETTINGS, *more)(command)
        for flag, field, text in reversed(_FILTERS):
            told = f"{text}; may be repeated."
            flagged = click.option(flag, field, multiple=True, metavar="NAME", help=told)(flagged)
        path = click.Path(path_type=Path)
        if not in_folder:
            return flagged
        return click.argument("folder", metavar="[DIR]", type=path, required=False)(flagged)

    return decorate


class Asked:
    """What somebody asks about: a bundle, a part of it, and settings."""

    def __init__(
        self, folder: Path | None, merged: Merged, chosen: Mapping[str, tuple[str, ...]]
    ) -> None:
        from tidegate.kinds.integrations.core.sharding.selection import Selection

        self.settings: Settings = merged.settings()
        for warning in merged.warnings:
            click.echo(f"warning: {warning}", err=True)
        self.selection = Selection(**chosen)
        self._folder = folder
        # What is wrong with the bundle, a line each.
        self.problems: list[str] = []
        self._read()

    def _read(self) -> None:
        from tidegate import wiring
        from tidegate.cli.progress import Progress
        from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
        from tidegate.kinds.integrations.cli.site import bundle_folder, settled, site_of
        from tidegate.kinds.integrations.core.sharding.selection import check_names
        from tidegate.kinds.integrations.core.workloads.estate import estate_of
        from tidegate.model.errors import UserError
        from tidegate.model.problem import Problems

        site = site_of(self.settings)
        folder = bundle_folder(self.settings, self._folder)
        self.tree = tree = wiring.open_tree(folder, self.settings.revision or None)
        with Progress("reading files", quiet_s=1.0) as progress:
            bundle = wiring.read_bundle(tree, wiring.bundle_cache(), progress.tell)
        self.bundle = bundle
        if not bundle.files:
            raise click.UsageError(f"{folder}: no YAML file; name the directory of a bundle")
        found = [each for each in bundle.findings if each.severity == "error"]
        self.problems = [
            f"{tree.prefix}{each.file}:{each.line}: {each.message}; {each.remedy}".rstrip("; ")
            for each in found
        ]
        problems = Problems()
        declared = INTEGRATIONS.of(bundle)
        plain = estate_of(declared.integrations, declared.inventories, problems, site=site)
        self.estate = settled(self.settings, plain, problems)
        known = {each.message for each in found}
        self.problems += [p.text() for p in problems.errors if p.message not in known]
        wrong = Problems()
        check_names(self.selection, plain, wrong)
        if wrong.errors:
            # It may be called so, and be missing because of what is wrong with it.
            self.tell_problems()
            raise UserError(tuple(wrong.errors))

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the bundle."""
        return not self.problems

    def tell_problems(self) -> None:
        """What is wrong with the bundle, and what follows from it."""
        for line in self.problems[:PROBLEMS_SHOWN]:
            click.echo(f"Error: {line}", err=True)
        if self.problems:
            more = len(self.problems) - PROBLEMS_SHOWN
            rest = f"and {more} more; " if more > 0 else ""
            click.echo(
                f"{rest}what is sound is planned, and nothing is removed; "
                "`tidegate validate` shows every problem",
                err=True,
            )

    def namespaces(self) -> dict[str, set[str]]:
        """Where to look, by cluster: all namespaces of every cluster that is meant."""
        spaces: dict[str, set[str]] = {}
        meant: set[str] = set()
        environments = {
            (place.managed.namespace.cluster, place.managed.namespace.name): (
                place.managed.namespace.environment
            )
            for place in self.estate.places
        }
        for piece in self.estate.pieces():
            spaces.setdefault(piece.cluster, set()).add(piece.namespace)
            if self.selection.takes(piece, environments[piece.cluster, piece.namespace]):
                meant.add(piece.cluster)
        return {cluster: spaces[cluster] for cluster in sorted(meant)}

    @asynccontextmanager
    async def clusters(
        self, names: Iterable[str]
    ) -> AsyncIterator[tuple[dict[str, Any], dict[str, str]]]:
        """The clusters of these names, and why there is no way to some; closed at the end."""
        from tidegate.kinds.integrations.cli.site import Clusters
        from tidegate.model.errors import OutsideError

        clusters = Clusters(self.settings)
        opened: dict[str, Any] = {}
        shut: dict[str, str] = {}
        for name in names:
            try:
                opened[name] = clusters.find(name)
            except OutsideError as error:
                shut[name] = str(error)
        try:
            yield opened, shut
        finally:
            await clusters.close()


def tell_troubles(troubles: Iterable[str]) -> None:
    """What could not be read, a line each."""
    for trouble in troubles:
        click.echo(f"Error: {trouble}", err=True)


def end_with(troubles: Sequence[str]) -> None:
    """The same, if there is any, and exit 1."""
    tell_troubles(troubles)
    if troubles:
        raise click.exceptions.Exit(FAILURE)


def confirm(question: str, yes: bool) -> None:
    """Go on only if somebody says so; where nobody can be asked, say what to write."""
    if yes:
        return
    if not somebody_is_there():
        raise click.UsageError(f"{question} Nobody can be asked here; write --yes")
    agreed(question)


def somebody_is_there() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty()
