"""What the shards of a promotion's environments run: a port of promotions, on integrations."""

import asyncio
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from tidegate import wiring
from tidegate.edit.edited_tree import EditedTree
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.estate import EstateView, read_estate
from tidegate.kinds.integrations.app.estates import estate_in
from tidegate.kinds.integrations.app.shards import Units, chosen_units
from tidegate.kinds.integrations.app.verification import Verification, VerifiedShard, verify_once
from tidegate.kinds.integrations.cli.site import Clusters, site_of
from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.kinds.promotions.app.ports import TrialFiles
from tidegate.kinds.promotions.core.verification import EnvironmentRuns
from tidegate.settings.settings import Settings

# A shard by the name of its place and its own.
ShardKey = tuple[str, str]
# Results of trials that are kept: some for every environment of some promotions.
_KEPT_MAX = 256


class IntegrationRunning:
    """Compares what a commit of a bundle promises to shards with what their clusters run."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._view: tuple[str, EstateView] | None = None
        # By commit and trial.
        self._depending: dict[tuple[str, bytes], frozenset[ShardKey]] = {}

    async def __call__(self, commit: str, trials: TrialFiles) -> Mapping[str, EnvironmentRuns]:
        """What the shards run that each trial would move."""
        if not trials:
            return {}
        view = await self._read(commit)
        depending = await asyncio.to_thread(self._all_depending, commit, view.tree, trials)
        wanted = frozenset[ShardKey]().union(*depending.values())
        units: Units = [each for each in chosen_units(view) if _key(each) in wanted]
        clusters = Clusters(self._settings)
        try:
            found = await verify_once(units, clusters.find)
        finally:
            await clusters.close()
        return runs_of(units, found, depending)

    async def _read(self, commit: str) -> EstateView:
        if self._view is None or self._view[0] != commit:
            tree = wiring.open_tree(self._folder, commit)
            bundle = await asyncio.to_thread(wiring.read_live_bundle, tree, wiring.bundle_cache())
            settings = self._settings
            registry = wiring.registry(settings.registry, settings.registry_auth)
            site = site_of(settings)
            self._view = commit, await read_estate(tree, lambda _: bundle, site, registry)
        return self._view[1]

    def _all_depending(
        self, commit: str, tree: Tree, trials: TrialFiles
    ) -> dict[str, frozenset[ShardKey]]:
        keys = {name: (commit, _digest(files)) for name, files in trials.items()}
        new = {name: trials[name] for name, key in keys.items() if key not in self._depending}
        if len(self._depending) + len(new) > _KEPT_MAX:
            self._depending.clear()
            new = dict(trials)
        if new:
            found = depending_shards(tree, new, self._settings)
            self._depending |= {keys[name]: some for name, some in found.items()}
        return {name: self._depending[key] for name, key in keys.items()}


def depending_shards(
    tree: Tree, trials: TrialFiles, settings: Settings
) -> dict[str, frozenset[ShardKey]]:
    """The shards that would get another image with the files of each trial."""
    site, cache = site_of(settings), wiring.bundle_cache()
    before = estate_in(wiring.read_live_bundle(tree, cache), site)
    found: dict[str, frozenset[ShardKey]] = {}
    for name, files in trials.items():
        after = estate_in(wiring.read_live_bundle(EditedTree(tree, dict(files)), cache), site)
        effects = effects_of(before, after).effects
        moved = (each for each in effects if each.unit and each.moves_image)
        found[name] = frozenset((each.place, each.unit) for each in moved)
    return found


def runs_of(
    units: Units, found: Verification, depending: Mapping[str, frozenset[ShardKey]]
) -> dict[str, EnvironmentRuns]:
    """What was verified, by environment; those with a shard that was not verified are left out."""
    shards = {_key(each): item for each, item in zip(units, found.items, strict=True)}
    return {
        name: _runs(name, [shards[key] for key in sorted(keys)])
        for name, keys in depending.items()
        if keys <= shards.keys()
    }


def _runs(environment: str, shards: list[VerifiedShard]) -> EnvironmentRuns:
    return EnvironmentRuns(
        environment=environment,
        shards=len(shards),
        differing=tuple(f"{each.shard}: {each.why}" for each in shards if each.read and each.why),
        unread=tuple(
            f"{each.shard}: {f'{each.cluster} cannot be read' if each.promised else each.note}"
            for each in shards
            if not each.read
        ),
    )


def _key(each: tuple[ManagedPlace, Unit]) -> ShardKey:
    place, unit = each
    return place.name, unit.name


def _digest(files: Mapping[str, bytes]) -> bytes:
    found = blake2b(digest_size=16)
    for path, data in sorted(files.items()):
        found.update(b"%d|%b%d|%b" % (len(path.encode()), path.encode(), len(data), data))
    return found.digest()
