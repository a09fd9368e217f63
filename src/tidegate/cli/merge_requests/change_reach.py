"""Which shards a change of a bundle reaches: a port of promotions, on integrations."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from tidegate.bundle.section import Bundle
from tidegate.edit.edited_tree import EditedTree
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.check.comparison import new_errors
from tidegate.kinds.integrations.app.estates import estate_in
from tidegate.kinds.integrations.app.waves.wave_holds import held_back
from tidegate.kinds.integrations.cli.site import site_of
from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.kinds.promotions.app.ports import ChangeReach, PinnedShards, ReachedShards
from tidegate.settings.settings import Settings
from tidegate.wiring import bundles, repositories


class IntegrationReach:
    """Compares the shards of a bundle before and after a change of its files."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        # By commit: the tree, the bundle and its shards without the change.
        self._before: dict[str, tuple[Tree, Bundle, Estate]] = {}

    def __call__(self, commit: str, files: Mapping[str, bytes]) -> ChangeReach:
        """The reach of new contents of files on a commit of the bundle."""
        tree, before, estate = self._read(commit)
        found = ChangeReach(pinned=_located(tree, _pinned(estate)), errors_before=before.errors)
        if not files:
            return found
        after = _read(EditedTree(tree, dict(files)))
        return msgspec.structs.replace(
            found,
            reached=_reached(tree, estate, estate_in(after, site_of(self._settings))),
            new_errors=new_errors(before, after),
        )

    def _read(self, commit: str) -> tuple[Tree, Bundle, Estate]:
        if commit not in self._before:
            self._before.clear()  # a worker reads many commits, one after the other
            tree = repositories.open_tree(self._folder, commit)
            bundle = _read(tree)
            self._before[commit] = tree, bundle, estate_in(bundle, site_of(self._settings))
        return self._before[commit]


class IntegrationHolds:
    """Holds shards back whose images move through Git, while a change moves their default."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings

    def __call__(self, commit: str, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The change on a commit of the bundle, with an override for each shard held back."""
        tree, site = repositories.open_tree(self._folder, commit), site_of(self._settings)
        return held_back(tree, _read, site, files)


def _read(tree: Tree) -> Bundle:
    return bundles.read_live_bundle(tree, bundles.bundle_cache())


def _reached(tree: Tree, before: Estate, after: Estate) -> tuple[ReachedShards, ...]:
    """The shards that get another image, by environment, and those that keep their own."""
    found: list[ReachedShards] = []
    for environment, some in effects_of(before, after).environments.items():
        moving = [each for each in some if each.unit]
        if moving:
            one = ReachedShards(
                environment=environment,
                shards=tuple(dict.fromkeys(each.unit for each in moving)),
                clusters=tuple(dict.fromkeys(each.cluster for each in moving)),
                pinned=_located(tree, _pinned(after, environment)),
            )
            found.append(one)
    return tuple(found)


def _pinned(estate: Estate, environment: str = "") -> PinnedShards:
    """Shards with an image of their own, and where it is written; of one environment, or all."""
    return tuple(
        (unit.name, unit.pinned_by)
        for place in estate.places
        if not environment or place.managed.namespace.environment == environment
        for unit in place.units
        if unit.pinned_by
    )


def _located(tree: Tree, pinned: Iterable[tuple[str, str]]) -> PinnedShards:
    """With paths from the root of the repository, like all other paths of a plan."""
    return tuple((name, f"{tree.prefix}{where}") for name, where in pinned)
