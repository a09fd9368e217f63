"""Shards as people read them: a table, or one shard in full."""

from collections.abc import Iterator

from tidegate.explain.table import layout
from tidegate.kinds.integrations.app.shards import LastRun, ShardList, ShardReport
from tidegate.model.time import Instant, format_age, parse_instant

# So much of a digest is shown.
DIGEST_SHOWN = len("sha256:") + 12
# Where it is not known what a shard is to run.
UNKNOWN = "?"
HEAD = ("SHARD", "ENVIRONMENT", "WANTS", "RUNS", "SINCE", "READY", "LAST RUN", "BEHIND", "NOTE")
WIDE = ("CLUSTER", "NAMESPACE", "KIND", "DIGEST", "PINNED BY")


def table_lines(
    shards: ShardList, now: Instant, width: int | None, *, wide: bool, headed: bool
) -> list[str]:
    """A row for each shard."""
    head: tuple[str, ...] = HEAD
    cells = [_cells(each, now) for each in shards.items]
    if wide:
        head = (*HEAD[:-1], *WIDE, HEAD[-1])
        pairs = zip(cells, shards.items, strict=True)
        cells = [(*one[:-1], *_wide(each), one[-1]) for one, each in pairs]
    return layout(head, cells, width, headed=headed)


def shard_lines(shards: ShardList, now: Instant) -> Iterator[str]:
    """Each shard in full."""
    for each in shards.items:
        place = f"{each.cluster}/{each.namespace} ({each.environment})"
        facts = (
            ("where", f"{place}, {each.kind}"),
            ("wants", each.wants or UNKNOWN),
            ("runs", f"{each.runs or _nothing(each, 'nothing')} {each.digest or ''}".strip()),
            ("since", _age(each.since, now)),
            ("pinned by", each.pinned_by or "-"),
            ("ready", f"{_ready(each)} of {each.of}"),
            ("last run", _ended(each.last_run)),
            ("behind", _behind(each, now)),
            ("note", _note(each) or "-"),
        )
        yield f"shard/{each.shard}"
        yield from (f"  {name:10} {value}" for name, value in facts)


def _note(shard: ShardReport) -> str:
    """Why it does not run what it wants, or runs nothing."""
    off = f"disabled by {shard.disabled_by}" if shard.disabled_by else ""
    return ", ".join(filter(None, (shard.note, off)))


def _cells(shard: ShardReport, now: Instant) -> tuple[str, ...]:
    note = _note(shard) or (f"pinned by {shard.pinned_by}" if shard.pinned_by else "")
    return (
        shard.shard,
        shard.environment,
        shard.wants or UNKNOWN,
        shard.runs or _nothing(shard, "-"),
        _age(shard.since, now),
        f"{_ready(shard)}/{shard.of}",
        _ended(shard.last_run),
        _behind(shard, now),
        note,
    )


def _nothing(shard: ShardReport, word: str) -> str:
    """The word for a shard that runs nothing; not where that is unknown."""
    return UNKNOWN if shard.ready is None else word


def _ready(shard: ShardReport) -> str:
    return UNKNOWN if shard.ready is None else str(shard.ready)


def _wide(shard: ShardReport) -> tuple[str, ...]:
    digest = (shard.digest or "")[:DIGEST_SHOWN]
    return shard.cluster, shard.namespace, shard.kind, digest, shard.pinned_by or ""


def _age(since: str | None, now: Instant) -> str:
    return format_age(now - parse_instant(since)) if since is not None else "-"


def _ended(run: LastRun | None) -> str:
    if run is None or run.completed == 0:
        return "-"
    return f"{'ok' if run.ok else 'failed'} (run {run.completed})"


def _behind(shard: ShardReport, now: Instant) -> str:
    if not shard.behind:
        return "-" if shard.behind == 0 else "?"
    noun = "image" if shard.behind == 1 else "images"
    ago = f", {_age(shard.behind_since, now)}" if shard.behind_since is not None else ""
    return f"{shard.behind} {noun}{ago}"
