"""What the shards of a promotion's environments run: a port of promotions, on integrations."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TypeVar

from tidegate.edit.edited_tree import EditedTree
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.app.estate import EstateView, FindCluster, read_estate
from tidegate.kinds.integrations.app.estates import estate_in, with_heads
from tidegate.kinds.integrations.app.execution import ShardExecutions
from tidegate.kinds.integrations.app.shards import Units, chosen_units
from tidegate.kinds.integrations.app.verification import Verification, VerifiedShard, verify_once
from tidegate.kinds.integrations.cli.shard_fleet import runs_of as runs_of_settings
from tidegate.kinds.integrations.cli.site import Clusters, site_of
from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.waves.execution import ShardExecution
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.kinds.promotions.app.ports import TrialFiles
from tidegate.kinds.promotions.core.verification import EnvironmentRuns
from tidegate.settings.settings import Settings
from tidegate.wiring import bundles, outside, repositories

T = TypeVar("T")
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
        # The units that a trial moves, as other files promise them, by the files of both.
        self._promised: dict[tuple[str, bytes, bytes], Units] = {}
        # None: no runs were asked for.
        self._executions: ShardExecutions | None = None

    async def __call__(
        self, commit: str, trials: TrialFiles, promised: TrialFiles | None = None
    ) -> Mapping[str, EnvironmentRuns]:
        """What the shards run that each trial would move."""
        units = await self._units(commit, trials, promised or {})
        async with self._clusters() as find:
            found = await verify_once(_flat(units), find)
        return {name: _runs(name, some) for name, some in _by_name(units, found.items).items()}

    async def executed(
        self, commit: str, trials: TrialFiles, promised: TrialFiles, needed: int
    ) -> Mapping[str, Sequence[ShardExecution]]:
        """How the shards ran what they are promised; those that are to run nothing are left out."""
        if self._executions is None:
            self._executions = ShardExecutions(runs_of_settings(self._settings))
        units = await self._units(commit, trials, promised)
        async with self._clusters() as find:
            found = await self._executions.read(_flat(units), find, needed)
        return {
            name: [each for each in some if each is not None]
            for name, some in _by_name(units, found).items()
        }

    async def close(self) -> None:
        """Close what runs are read from."""
        if self._executions is not None:
            await self._executions.close()

    @asynccontextmanager
    async def _clusters(self) -> AsyncIterator[FindCluster]:
        clusters = Clusters(self._settings)
        try:
            yield clusters.find
        finally:
            await clusters.close()

    async def _units(
        self, commit: str, trials: TrialFiles, promised: TrialFiles
    ) -> dict[str, Units]:
        """The units that each trial would move, as the commit or the given files promise them.

        Where one of them is not promised anything, the whole environment is left out.
        """
        if not trials:
            return {}
        view = await self._read(commit)
        depending = await asyncio.to_thread(self._all_depending, commit, view.tree, trials)
        every = chosen_units(view)
        found: dict[str, Units] = {}
        for name, keys in depending.items():
            if not keys or name not in promised:
                found[name] = [each for each in every if _key(each) in keys]
                continue
            key = (commit, _digest(trials[name]), _digest(promised[name]))
            if key not in self._promised:
                if len(self._promised) >= _KEPT_MAX:
                    self._promised.clear()
                other = await self._estate(EditedTree(view.tree, dict(promised[name])))
                some = [each for each in chosen_units(other) if _key(each) in keys]
                self._promised[key] = some
            found[name] = self._promised[key]
        return {name: some for name, some in found.items() if len(some) == len(depending[name])}

    async def _read(self, commit: str) -> EstateView:
        """The estate of a commit, worked out again where a branch that it follows has moved."""
        if self._view is not None and self._view[0] == commit:
            view = self._view[1]
            if (
                await asyncio.to_thread(with_heads, view.bundle, repositories.read_head)
                is view.bundle
            ):
                return view
        self._depending.clear()
        self._view = commit, await self._estate(repositories.open_tree(self._folder, commit))
        return self._view[1]

    async def _estate(self, tree: Tree) -> EstateView:
        bundle = await asyncio.to_thread(bundles.read_live_bundle, tree, bundles.bundle_cache())
        settings = self._settings
        registry = outside.registry(settings.registry, settings.registry_auth)
        return await read_estate(tree, lambda _: bundle, site_of(settings), registry)

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


def _flat(units: Mapping[str, Units]) -> Units:
    return [each for some in units.values() for each in some]


def _by_name(units: Mapping[str, Units], found: Sequence[T]) -> dict[str, list[T]]:
    """What was found of all units, one after the other, by the name that they are under."""
    rest = iter(found)
    return {name: list(islice(rest, len(some))) for name, some in units.items()}


def depending_shards(
    tree: Tree, trials: TrialFiles, settings: Settings
) -> dict[str, frozenset[ShardKey]]:
    """The shards that would get another image with the files of each trial."""
    site, cache = site_of(settings), bundles.bundle_cache()
    before = estate_in(bundles.read_live_bundle(tree, cache), site)
    found: dict[str, frozenset[ShardKey]] = {}
    for name, files in trials.items():
        after = estate_in(bundles.read_live_bundle(EditedTree(tree, dict(files)), cache), site)
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
