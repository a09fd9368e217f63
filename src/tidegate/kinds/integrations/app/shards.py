"""What every shard wants and runs, and why the two differ."""

import asyncio
import re
from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.integrations.app.estate import EstateView, FindCluster, open_clusters
from tidegate.kinds.integrations.core.sharding.inventory import (
    Past,
    ShardRow,
    resharded,
    row_of,
)
from tidegate.kinds.integrations.core.waves.reshape import Reshape, reshapes_of
from tidegate.kinds.integrations.core.waves.trial import ShardRun
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit, kind_of, pieces_of
from tidegate.kinds.integrations.fleet.reshard import owners_in
from tidegate.kinds.integrations.fleet.snapshot import (
    NamespaceSnapshot,
    NamespaceSnapshots,
    Where,
    where_of,
)
from tidegate.kinds.integrations.runs_port import Runs
from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared
from tidegate.kubernetes.port import Cluster
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError, OutsideError
from tidegate.model.problem import nearest
from tidegate.model.target import bare
from tidegate.model.time import Instant, format_second
from tidegate.store.port import Store

# Units, each in its place.
Units = list[tuple[ManagedPlace, Unit]]
# Of a shard whose cluster gives no answer.
UNREAD = "unknown: its cluster cannot be read"


class LastRun(Part, frozen=True, kw_only=True):
    """How the last run of a shard ended, and how many there were."""

    ok: bool
    completed: int


class ShardReport(Part, frozen=True, kw_only=True):
    """One shard: what it wants, and what it runs."""

    shard: str
    integration: str
    environment: str
    cluster: str
    namespace: str
    kind: str
    wants: str
    runs: str | None
    digest: str | None
    since: str | None
    pinned_by: str | None
    # None: not known, for its cluster cannot be read.
    ready: int | None
    of: int
    last_run: LastRun | None
    # How many images newer than the one it runs there are, and since when.
    # None: not known: its cluster cannot be read, or its place never had its image.
    behind: int | None
    behind_since: str | None
    note: str | None
    # Where it is turned off; None: it is to run.
    disabled_by: str | None = None


class ShardList(Document, frozen=True, kw_only=True):
    """What `get shards` and `show shard/…` answer."""

    items: tuple[ShardReport, ...]
    # What could not be read, a line each.
    troubles: tuple[str, ...] = ()


class NamespaceReadings(msgspec.Struct, frozen=True):
    """What namespaces of some units hold, and what could not be read."""

    clusters: Mapping[str, Cluster]
    snapshots: Mapping[Where, NamespaceSnapshot]
    troubles: tuple[str, ...]


def chosen_units(view: EstateView) -> Units:
    """Every unit that is asked about, place by place, in natural order."""
    return [
        (place, unit)
        for place in view.estate.every_place
        for unit in sorted(place.units, key=lambda unit: in_order(unit.name))
        if any(
            view.selection.takes(piece, place.managed.namespace.environment)
            for piece in pieces_of(place, unit)
        )
    ]


def find_units(view: EstateView, target: str) -> Units:
    """The units of a name, among those that are asked about; NotFoundError names the nearest."""
    name = bare(target)
    found = [(place, unit) for place, unit in chosen_units(view) if unit.name == name]
    if not found:
        names = [unit.name for place in view.estate.every_place for unit in place.units]
        hint = nearest(name, names) or "`tidegate get shards -o name` lists them"
        raise NotFoundError("shard", name, hint)
    return found


def in_order(name: str) -> list[str | int]:
    """A key that sorts names as people do: shard 9 before shard 10."""
    parts = re.split(r"(\d+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def unknown_images(units: Units) -> tuple[str, ...]:
    """Why it is not known what some units are to run, a line for each."""
    return tuple(
        f"{unit.name} in {'/'.join(where_of(place))}: what it wants is unknown: {place.no_image}"
        for place, unit in units
        if place.no_image and not unit.pinned_by
    )


async def list_shards(
    units: Units,
    find: FindCluster,
    runs: Runs | None = None,
    pasts: Mapping[str, Past] | None = None,
) -> ShardList:
    """Every one of some shards; without `runs`, pods are not asked how their runs ended."""
    rows, troubles = await shard_rows(units, find, runs, pasts)
    return ShardList(items=tuple(map(shard_part, rows)), troubles=troubles)


async def shard_rows(
    units: Units,
    find: FindCluster,
    runs: Runs | None = None,
    pasts: Mapping[str, Past] | None = None,
) -> tuple[list[ShardRow], tuple[str, ...]]:
    """A row for each unit, and what could not be read."""
    readings = await read_namespaces(units, find)
    ended = await read_runs(units, readings, runs) if runs is not None else {}
    rows = [
        row_in(
            place,
            unit,
            readings.snapshots.get(where_of(place)),
            ended,
            (pasts or {}).get(place.partition),
        )
        for place, unit in units
    ]
    return rows, readings.troubles


async def read_namespaces(units: Units, find: FindCluster) -> NamespaceReadings:
    """Read the namespaces of some units; a cluster that cannot be read stops no other."""
    wheres = list(dict.fromkeys(where_of(place) for place, _ in units))
    opened, shut = open_clusters(dict.fromkeys(cluster for cluster, _ in wheres), find)
    snapshots = NamespaceSnapshots(lambda name: opened[name])
    read = [where for where in wheres if where[0] in opened]
    found = await asyncio.gather(*map(snapshots.of, read), return_exceptions=True)
    seen: dict[Where, NamespaceSnapshot] = {}
    troubles = dict(shut)
    for where, snapshot in zip(read, found, strict=True):
        if isinstance(snapshot, NamespaceSnapshot):
            seen[where] = snapshot
        elif isinstance(snapshot, (OutsideError, TimeoutError, OSError)):
            troubles[where[0]] = str(snapshot) or f"{where[0]}: no answer"
        else:
            raise snapshot
    return NamespaceReadings(opened, seen, tuple(troubles.values()))


def row_in(
    place: ManagedPlace,
    unit: Unit,
    snapshot: NamespaceSnapshot | None,
    runs: Mapping[str, ShardRun] | None = None,
    past: Past | None = None,
) -> ShardRow:
    """A shard as its namespace has it; without a snapshot, that it could not be read."""
    kind = kind_of(place.managed)
    if snapshot is None:
        bare_row = row_of(place, unit, kind, {}, {}, {})
        return msgspec.structs.replace(bare_row, ready=None, behind=None, note=UNREAD)
    names = [shard.workload for shard in unit.shards]
    ours = all(snapshot.objects[name].ours for name in names if name in snapshot.objects)
    moved_by = f"rollout {place.partition}" if place.managed.rollout is not None else ""
    row = row_of(
        place,
        unit,
        kind,
        snapshot.workloads,
        snapshot.pods,
        runs or {},
        ours=ours,
        moved_by=moved_by,
        past=past,
    )
    reshape = _reshape_of(place, unit, snapshot)
    return row if reshape is None else resharded(row, reshape)


def _reshape_of(place: ManagedPlace, unit: Unit, snapshot: NamespaceSnapshot) -> Reshape | None:
    """The resharding that a unit without all its workloads waits for; None: there is none."""
    if all(shard.workload in snapshot.workloads for shard in unit.shards):
        return None
    every = reshapes_of(place, owners_in(place, snapshot))
    return next((each for each in every if unit in each.units), None)


def pasts_in(store: Store, partitions: Iterable[str]) -> dict[str, Past]:
    """The images that places were to run, as the journal has them."""
    known: dict[str, Past] = {}
    for partition in set(partitions) & set(store.partitions()):
        revisions: list[tuple[str, Instant]] = []
        for entry in store.read(partition):
            fact = entry.fact() if entry.kind == "declared" else None
            if isinstance(fact, RolloutDeclared) and fact.revision is not None:
                if not revisions or revisions[-1][0] != fact.revision:
                    revisions.append((fact.revision, entry.at))
        known[partition] = Past(tuple(revisions))
    return known


def shard_part(row: ShardRow) -> ShardReport:
    """A shard as programs read it."""
    run = row.last_run
    return ShardReport(
        shard=row.shard,
        integration=row.integration,
        environment=row.environment,
        cluster=row.cluster,
        namespace=row.namespace,
        kind=row.kind,
        wants=row.wants,
        runs=row.runs or None,
        digest=row.digest or None,
        since=_text(row.since),
        pinned_by=row.pinned_by or None,
        ready=row.ready,
        of=row.of,
        last_run=None if run is None else LastRun(ok=run.status == 0, completed=run.completed),
        behind=row.behind,
        behind_since=_text(row.behind_since),
        note=row.note or None,
        disabled_by=row.disabled_by or None,
    )


def _text(at: Instant | None) -> str | None:
    return None if at is None else format_second(at)


async def read_runs(units: Units, readings: NamespaceReadings, source: Runs) -> dict[str, ShardRun]:
    """What the ready pods of some units say of their runs, by the pod's uid."""
    names = {shard.workload for _, unit in units for shard in unit.shards}
    found: dict[str, ShardRun] = {}
    for (cluster, _), snapshot in readings.snapshots.items():
        pods = [
            snapshot.objects[pod.uid]
            for name in names
            for pod in snapshot.pods.get(name, ())
            if pod.ready and not pod.ending
        ]
        found |= await source.read(readings.clusters[cluster], pods)
    return found
