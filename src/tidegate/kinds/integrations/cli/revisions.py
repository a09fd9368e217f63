"""A bundle before and after a change: what both revisions come to, and what is newly wrong.

The base is the commit where the head left it, so that what others merged meanwhile is nobody's
change; a working tree left it where its own commit did.
"""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tidegate.cli.setting_options import settings_options
from tidegate.git.history import SHORT
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.git.tree_port import Tree
    from tidegate.kinds.integrations.bundle.finding import Finding
    from tidegate.kinds.integrations.bundle.joining import Bundle
    from tidegate.kinds.integrations.core.review.effect import Effects
    from tidegate.kinds.integrations.core.workloads.estate import Estate
    from tidegate.model.problem import Problem

Function = Callable[..., Any]

SETTINGS = ("bundle", "image", "parameters", "overlay", "registry", "registryAuth", "color")
WORKING_TREE = "the working tree"
# Where a bundle has its data if it has other folders beside them; one has what they name.
DATA, RESOURCES = "data/", "resources/"
# A place in a file within what a finding says.
_LINE = re.compile(r"(\.ya?ml):\d+(:\d+)?")


def revision_options(*more: str) -> Callable[[Function], Function]:
    """`[DIR] --base --head` and settings; the command is handed what they name as `compared`."""

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
        told = "Compare with this revision of the bundle, as it was where the head left it."
        after = "This revision, instead of the working tree."
        flagged = click.option("--head", metavar="REF", help=after)(flagged)
        flagged = click.option("--base", metavar="REF", required=True, help=told)(flagged)
        path = click.Path(path_type=Path)
        return click.argument("folder", metavar="[DIR]", type=path, required=False)(flagged)

    return decorate


class Side(msgspec.Struct, frozen=True):
    """A bundle as one of two revisions has it."""

    # None: of no commit, but the working tree.
    commit: str | None
    tree: "Tree"
    # The identity of each file.
    files: Mapping[str, str]
    bundle: "Bundle"
    estate: "Estate"
    # What a registry could not say about its images.
    troubles: tuple["Problem", ...]

    @property
    def name(self) -> str:
        """What people call it."""
        return WORKING_TREE if self.commit is None else self.commit[:SHORT]


class Revisions:
    """Both sides of a change, each read when somebody asks for it."""

    def __init__(self, settings: Settings, folder: Path | None, base: str, head: str | None):
        from tidegate.kinds.integrations.cli.site import bundle_folder

        self.settings = settings
        self.folder = bundle_folder(settings, folder)
        # As they were asked for.
        self.asked = base, head

    @functools.cached_property
    def base(self) -> Side:
        """The bundle before the change."""
        from tidegate import wiring

        return self._side(wiring.parting(self.folder, *self.asked), must_exist=False)

    @functools.cached_property
    def head(self) -> Side:
        """The bundle with the change."""
        side = self._side(self.asked[1])
        if not side.bundle.files:
            raise click.UsageError(f"{self.folder}: no YAML file; name the directory of a bundle")
        return side

    def check_folder(self) -> None:
        """A usage error where nothing can be affected: "nothing is" would be green for ever."""
        if any(side.bundle.kinds.get("integration") for side in (self.head, self.base)):
            return
        what = "no integration is declared, before or after"
        raise click.UsageError(f"{self.folder}: {what}; name the directory of a bundle")

    def _side(self, revision: str | None, *, must_exist: bool = True) -> Side:
        from tidegate import wiring
        from tidegate.cli.progress import Progress
        from tidegate.kinds.integrations.app.estate_source import estate_in
        from tidegate.kinds.integrations.bundle.reading import read_bundle
        from tidegate.kinds.integrations.cli.site import settled, site_of
        from tidegate.model.problem import Problems

        tree = wiring.open_tree(self.folder, revision, must_exist=must_exist)
        with Progress("reading files", quiet_s=1.0) as progress:
            bundle = read_bundle(tree, wiring.bundle_cache(), progress.tell)
        problems = Problems()
        estate = settled(self.settings, estate_in(bundle, site_of(self.settings)), problems)
        commit = None if revision is None else str(getattr(tree, "commit", revision))
        return Side(commit, tree, tree.files(), bundle, estate, tuple(problems.errors))

    @property
    def told(self) -> str:
        """Which commits are compared."""
        base, head = self.asked
        other = head or "HEAD"
        return f"{self.base.name} (where {other} left {base}) … {self.head.name}"

    @functools.cached_property
    def effects(self) -> "Effects":
        """What becomes of every workload."""
        from tidegate.kinds.integrations.core.review.effect import effects_of

        return effects_of(self.base.estate, self.head.estate)

    @functools.cached_property
    def changed(self) -> tuple[str, ...]:
        """The files of the bundle that differ, by their path from its root, in order."""
        old, new = self.base.files, self.head.files
        return tuple(sorted(path for path in {**old, **new} if old.get(path) != new.get(path)))

    @functools.cached_property
    def changed_schemas(self) -> dict[str, frozenset[str]]:
        """Those files, each with the schemas of its documents before and after.

        And the files beside the bundle that files in it name, each with the schemas of those.
        """
        from tidegate.kinds.integrations.bundle.leaf import schemas_in

        found: dict[str, frozenset[str]] = dict.fromkeys(self.changed, frozenset())
        for side in (self.base, self.head):
            there = [path for path in self.changed if path in side.files]
            for path, raw in side.tree.read(there):
                found[path] |= schemas_in(raw)
        beside = {name: name.removeprefix(RESOURCES[:-1]).encode() for name in self._resources()}
        for side in (self.base, self.head) if beside else ():
            for _, raw in side.tree.read(side.files):
                for name in (name for name, named in beside.items() if named in raw):
                    found[name] = found.get(name, frozenset()) | schemas_in(raw)
        return found

    def _resources(self) -> tuple[str, ...]:
        """Files beside the data of the bundle that differ: `resources/terraform/bucket.tf`."""
        from tidegate import wiring

        root = self.base.tree.prefix
        if not root.endswith(DATA):
            return ()
        root = root.removesuffix(DATA)
        every = wiring.changed_files(self.folder, str(self.base.commit), self.head.commit)
        return tuple(
            path.removeprefix(root) for path in every if path.startswith(f"{root}{RESOURCES}")
        )

    @functools.cached_property
    def new_findings(self) -> tuple["Finding", ...]:
        """What is wrong, or looks so, only since this change."""
        return unmatched(self.head.bundle.findings, self.base.bundle.findings)

    @functools.cached_property
    def mended_findings(self) -> tuple["Finding", ...]:
        """What this change puts right."""
        return unmatched(self.base.bundle.findings, self.head.bundle.findings)

    @property
    def new_errors(self) -> tuple["Finding", ...]:
        """Those that make a part of the bundle unusable."""
        return tuple(each for each in self.new_findings if each.severity == "error")

    @property
    def mixed(self) -> tuple[str, ...]:
        """Versions that must not move in one change, and do."""
        return self._mixing[0]

    @property
    def mixed_trouble(self) -> str:
        """Why nobody can tell which versions move; empty: it is known."""
        return self._mixing[1]

    @functools.cached_property
    def _mixing(self) -> tuple[tuple[str, ...], str]:
        from tidegate import wiring
        from tidegate.model.errors import UserError

        base, head = self.base.commit, self.head.commit
        assert base is not None, "the base is a commit"
        try:
            return wiring.mixed_versions(self.folder, base, head), ""
        except UserError as error:
            told = "; ".join(each.text() for each in error.problems)
            return (), f"which versions move cannot be told: {told}"

    def root_file(self, name: str) -> tuple[bytes | None, bytes | None]:
        """A file at the root of the repository, before and after; None: there was no such."""
        from tidegate import wiring

        old, new = (
            wiring.root_file(self.folder, side.commit, name) for side in (self.base, self.head)
        )
        return old, new


def new_errors(before: "Bundle", after: "Bundle") -> tuple["Problem", ...]:
    """What makes a part of a bundle unusable, and did not before."""
    from tidegate.model.problem import Problem

    return tuple(
        Problem(f"{each.file}:{each.line}", each.message, each.remedy)
        for each in unmatched(after.findings, before.findings)
        if each.severity == "error"
    )


def unmatched(some: Iterable["Finding"], others: Iterable["Finding"]) -> tuple["Finding", ...]:
    """Findings that others do not say as well, wherever in their file they stand."""
    known = Counter(map(_said, others))
    found: list[Finding] = []
    for each in some:
        said = _said(each)
        if known[said]:
            known[said] -= 1
        else:
            found.append(each)
    return tuple(found)


def _said(finding: "Finding") -> tuple[str, ...]:
    texts = finding.file, finding.severity, finding.rule, finding.message, finding.value
    return tuple(_LINE.sub(r"\1", text) for text in texts)
