"""`get shards` and `show shard/…`: what every shard wants and runs, and why the two differ."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import click
import msgspec

from tidegate.cli.main import FAILURE
from tidegate.cli.output import again, emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.explain.table import layout
from tidegate.kinds.integrations.app.sight import Sight, Sights, Where, where_of
from tidegate.kinds.integrations.cli.estate import (
    FORMATS,
    Asked,
    end_with,
    estate_options,
    tell_troubles,
)
from tidegate.kinds.integrations.cli.shard_fleet import runs_of
from tidegate.kinds.integrations.core.sharding.inventory import Past, Row, row_of
from tidegate.kinds.integrations.core.waves.trial import Run
from tidegate.kinds.integrations.core.workloads.estate import Place, Unit, kind_of, pieces_of
from tidegate.kubernetes.port import Cluster
from tidegate.model.errors import OutsideError
from tidegate.model.problem import nearest
from tidegate.model.target import bare
from tidegate.model.time import Instant, format_age, format_second
from tidegate.wiring import clock

# Units, each in its place.
Meant = list[tuple[Place, Unit]]

WATCH_S = 2.0
# Of a shard whose cluster gives no answer.
UNREAD = "unknown: its cluster cannot be read"
# Of a digest so much tells it from others.
DIGEST_SHOWN = len("sha256:") + 12
HEAD = ("SHARD", "ENVIRONMENT", "WANTS", "RUNS", "SINCE", "READY", "LAST RUN", "BEHIND", "NOTE")
WIDE = ("CLUSTER", "NAMESPACE", "KIND", "DIGEST", "PINNED BY")


@click.command(
    cls=Command,
    name="shards",
    examples="""
    tidegate get shards examples/app-interface
    tidegate get shards --integration terraform-resources -o wide
    tidegate get shards --environment app-interface-production --behind
    tidegate get shards -o json
    """,
)
@estate_options("runs.through", "runs.port", "runs.prometheus", "runs.clusterLabel")
@click.option("--behind", is_flag=True, help="Only those that do not run the newest image.")
@click.option("--no-runs", is_flag=True, help="Do not ask pods how their runs ended.")
@click.option("-w", "--watch", is_flag=True, help="Keep showing it.")
@click.option("--no-headers", is_flag=True, help="Leave the head of the table out.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def get_shards(
    asked: Asked, behind: bool, no_runs: bool, watch: bool, no_headers: bool, output: str
) -> None:
    """List every shard: declared and running image, since when, its pin, and its health.

    A cluster that cannot be read is reported, and the others are listed. Exits 1 then, and if
    the bundle has errors.
    """
    asked.tell_problems()
    colour = wants_colour(asked.settings.color)
    meant, troubles = meant_units(asked), list[str]()
    for _ in again(watch, WATCH_S):
        rows, troubles = asyncio.run(inventory(asked, meant, ask_runs=not no_runs))
        chosen = [row for row in rows if row.behind or not behind]
        for line in _listed(chosen, output, no_headers):
            say(line, colour)
        tell_troubles(troubles)
    if troubles or not asked.sound:
        raise click.exceptions.Exit(FAILURE)


def _listed(rows: Sequence[Row], output: str, no_headers: bool) -> list[str]:
    if output == "name":
        return [f"shard/{row.shard}" for row in rows]
    if output in ("json", "yaml"):
        emit({"kind": "ShardList", "items": [item_of(row) for row in rows]}, output)
        return []
    now = clock().now()
    head: tuple[str, ...] = HEAD
    cells = [_cells(row, now) for row in rows]
    if output == "wide":
        head = (*HEAD[:-1], *WIDE, HEAD[-1])
        cells = [(*one[:-1], *_wide(row), one[-1]) for one, row in zip(cells, rows, strict=True)]
    return layout(head, cells, terminal_width(), headed=not no_headers)


def _cells(row: Row, now: Instant) -> tuple[str, ...]:
    note = row.note or (f"pinned by {row.pinned_by}" if row.pinned_by else "")
    return (
        row.shard,
        row.environment,
        row.wants,
        row.runs or "-",
        _age(row.since, now),
        f"{row.ready}/{row.of}",
        _ended(row.last_run),
        _behind(row, now),
        note,
    )


def _wide(row: Row) -> tuple[str, ...]:
    return row.cluster, row.namespace, row.kind, row.digest[:DIGEST_SHOWN], row.pinned_by


def _age(since: Instant | None, now: Instant) -> str:
    return format_age(now - since) if since is not None else "-"


def _ended(run: Run | None) -> str:
    if run is None or run.completed == 0:
        return "-"
    return f"{'ok' if run.status == 0 else 'failed'} (run {run.completed})"


def _behind(row: Row, now: Instant) -> str:
    if not row.behind:
        return "-"
    noun = "image" if row.behind == 1 else "images"
    ago = f", {format_age(now - row.behind_since)}" if row.behind_since is not None else ""
    return f"{row.behind} {noun}{ago}"


def item_of(row: Row) -> dict[str, Any]:
    """A shard for programs; these names are API."""

    def when(at: Instant | None) -> str | None:
        return None if at is None else format_second(at)

    return {
        "shard": row.shard,
        "integration": row.integration,
        "environment": row.environment,
        "cluster": row.cluster,
        "namespace": row.namespace,
        "kind": row.kind,
        "wants": row.wants,
        "runs": row.runs or None,
        "digest": row.digest or None,
        "since": when(row.since),
        "pinnedBy": row.pinned_by or None,
        "ready": row.ready,
        "of": row.of,
        "lastRun": None
        if row.last_run is None
        else {"ok": row.last_run.status == 0, "completed": row.last_run.completed},
        "behind": row.behind,
        "behindSince": when(row.behind_since),
        "note": row.note or None,
    }


async def inventory(
    asked: Asked, meant: Meant, *, ask_runs: bool = True
) -> tuple[list[Row], list[str]]:
    """Every shard that is meant, and what could not be read."""
    partitions = {place.partition for place, _ in meant}
    known_pasts = await asyncio.to_thread(pasts, asked.settings.database, partitions)
    rows: list[Row] = []
    async with sighted(asked, meant) as (opened, seen, troubles):
        runs = await _runs(asked, meant, opened, seen) if ask_runs else {}
        for place, unit in meant:
            known, past = seen.get(where_of(place)), known_pasts.get(place.partition)
            rows.append(row_in(place, unit, known, runs, past))
    return rows, troubles


@asynccontextmanager
async def sighted(
    asked: Asked, meant: Meant
) -> AsyncIterator[tuple[Mapping[str, Cluster], dict[Where, Sight], list[str]]]:
    """The clusters of some units, what their namespaces hold, and what could not be read."""
    wheres = list(dict.fromkeys(where_of(place) for place, _ in meant))
    async with asked.clusters(dict.fromkeys(cluster for cluster, _ in wheres)) as (opened, shut):
        sights = Sights(lambda name: opened[name])
        read = [where for where in wheres if where[0] in opened]
        found = await asyncio.gather(*map(sights.of, read), return_exceptions=True)
        seen: dict[Where, Sight] = {}
        troubles = dict(shut)
        for where, sight in zip(read, found, strict=True):
            if isinstance(sight, Sight):
                seen[where] = sight
            elif isinstance(sight, (OutsideError, TimeoutError, OSError)):
                troubles[where[0]] = str(sight) or f"{where[0]}: no answer"
            else:
                raise sight
        yield opened, seen, list(troubles.values())


def meant_units(asked: Asked) -> Meant:
    """Every unit that the filters let through, place by place, as people sort names."""
    return [
        (place, unit)
        for place in asked.estate.places
        for unit in sorted(place.units, key=lambda unit: in_order(unit.name))
        if any(
            asked.selection.takes(piece, place.managed.namespace.environment)
            for piece in pieces_of(place, unit)
        )
    ]


def in_order(name: str) -> list[str | int]:
    """A name as people sort it: app-sre before app-sre-ci, shard 9 before shard 10."""
    parts = re.split(r"(\d+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def find_units(asked: Asked, target: str) -> Meant:
    """The units of a name, among those that are meant; UsageError says what there is."""
    name = bare(target)
    found = [(place, unit) for place, unit in meant_units(asked) if unit.name == name]
    if not found:
        names = [unit.name for place in asked.estate.places for unit in place.units]
        hint = nearest(name, names) or "`tidegate get shards -o name` lists them"
        asked.tell_problems()
        raise click.UsageError(f'no shard "{name}"; {hint}')
    return found


def row_in(
    place: Place,
    unit: Unit,
    sight: Sight | None,
    runs: Mapping[str, Run] | None = None,
    past: Past | None = None,
) -> Row:
    """A shard as its namespace has it; without a sight, that it could not be read."""
    kind = kind_of(place.managed)
    if sight is None:
        return msgspec.structs.replace(row_of(place, unit, kind, {}, {}, {}), note=UNREAD)
    names = [shard.workload for shard in unit.shards]
    ours = all(sight.objects[name].ours for name in names if name in sight.objects)
    moved_by = f"rollout {place.partition}" if place.managed.rollout is not None else ""
    return row_of(
        place,
        unit,
        kind,
        sight.workloads,
        sight.pods,
        runs or {},
        ours=ours,
        moved_by=moved_by,
        past=past,
    )


async def _runs(
    asked: Asked, meant: Meant, opened: Mapping[str, Cluster], seen: Mapping[Where, Sight]
) -> dict[str, Run]:
    source = runs_of(asked.settings)
    names = {shard.workload for _, unit in meant for shard in unit.shards}
    found: dict[str, Run] = {}
    try:
        for (cluster, _), sight in seen.items():
            pods = [
                sight.objects[pod.uid]
                for name in names
                for pod in sight.pods.get(name, ())
                if pod.ready and not pod.ending
            ]
            found |= await source.read(opened[cluster], pods)
    finally:
        await source.close()
    return found


def pasts(database: str, wanted: set[str]) -> dict[str, Past]:
    """What places were to run, as far as a journal tells; none where there is no journal."""
    from tidegate.cli.live import opened
    from tidegate.kinds.rollouts.core.journal.facts import Declared
    from tidegate.model.errors import TidegateError

    known: dict[str, Past] = {}
    try:
        with opened(database) as store:
            for partition in wanted & set(store.partitions()):
                revisions: list[tuple[str, Instant]] = []
                for entry in store.read(partition):
                    fact = entry.fact() if entry.kind == "declared" else None
                    if isinstance(fact, Declared) and fact.revision is not None:
                        if not revisions or revisions[-1][0] != fact.revision:
                            revisions.append((fact.revision, entry.at))
                known[partition] = Past(tuple(revisions))
    except TidegateError:
        return {}
    return known


def show_shard(asked: Asked, target: str, output: str, colour: bool) -> None:
    """Everything there is to say of one shard, wherever it runs."""
    rows, troubles = asyncio.run(inventory(asked, find_units(asked, target)))
    if output != "table":
        emit([item_of(row) for row in rows], output)
    else:
        now = clock().now()
        for row in rows:
            for line in _told(row, now):
                say(line, colour)
    end_with(troubles)


def _told(row: Row, now: Instant) -> list[str]:
    place = f"{row.cluster}/{row.namespace} ({row.environment})"
    facts = (
        ("where", f"{place}, {row.kind}"),
        ("wants", row.wants),
        ("runs", f"{row.runs or 'nothing'} {row.digest}".strip()),
        ("since", _age(row.since, now)),
        ("pinned by", row.pinned_by or "-"),
        ("ready", f"{row.ready} of {row.of}"),
        ("last run", _ended(row.last_run)),
        ("behind", _behind(row, now)),
        ("note", row.note or "-"),
    )
    return [f"shard/{row.shard}", *(f"  {name:10} {value}" for name, value in facts)]
