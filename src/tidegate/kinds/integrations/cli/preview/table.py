"""A preview for a terminal: a summary, then where, when and what in tables."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from tidegate.cli.render.findings import text as findings_text
from tidegate.explain.table import Row, layout
from tidegate.kinds.integrations.app.preview import words
from tidegate.kinds.integrations.app.preview.parts import PreviewWorkload
from tidegate.kinds.integrations.app.preview.report import Preview
from tidegate.kinds.integrations.app.preview.words import many
from tidegate.model.time import parse_instant

# So many of a kind are named; `-o wide` names all.
NAMED = 3


def lines(preview: Preview, width: int | None, *, wide: bool = False) -> Iterator[str]:
    """Everything, section by section; what is empty is left out."""
    yield f"{preview.words} · {many(len(preview.files), 'file')}"
    yield preview.verdict
    for each in preview.warnings:
        yield f"warning: {each.text}"
    room = None if wide else width
    yield from _table(_environments(preview), room)
    yield from _rollouts(preview, room)
    yield from _notes(preview)
    yield from _workloads(preview, room, wide)
    yield from _table(_pinned(preview), room)
    if preview.findings or preview.summary.mended:
        yield ""
        fixed = f", {preview.summary.mended} fixed" if preview.summary.mended else ""
        yield f"{many(len(preview.findings), 'new finding')}{fixed}"
    if preview.findings:
        yield findings_text(preview.findings, "")


Table = tuple[Row, Sequence[Row]]


def _table(table: Table, width: int | None) -> Iterator[str]:
    head, rows = table
    if rows:
        yield ""
        yield from layout(head, rows, width)


def _environments(preview: Preview) -> Table:
    counts = ("SHARDS", "TOUCHED", "CREATED", "CHANGED", "DELETED", "RESTARTS")
    head = ("ENVIRONMENT", *counts, "IMAGES")
    rows = [
        (
            each.name,
            words.from_to(each.shards_before, each.shards_after),
            str(each.shards_touched),
            *map(str, (each.created, each.changed, each.deleted, each.restarts)),
            words.images(each.images),
        )
        for each in preview.environments
    ]
    return head, rows


def _rollouts(preview: Preview, width: int | None) -> Iterator[str]:
    """A table a place: all of one place go by the same rules."""
    for place, rows in words.rollout_rows(preview):
        yield ""
        yield f"{place.integration} in {words.where(place)}: {words.image(place)}"
        yield from layout(("GROUP", "SHARDS", "STARTS", "DONE"), [row[:-1] for row in rows], width)
        # In full, whatever the width: it asks for an action.
        yield from (f"  {row[0]}: {row[-1]}" for row in rows if row[-1])


def _workloads(preview: Preview, width: int | None, wide: bool) -> Iterator[str]:
    """A table a namespace: alike ones together, or each by itself."""
    for space, some in groupby(preview.workloads, words.where):
        effects = list(some)
        yield ""
        yield space
        if wide:
            rows = [(e.fate, e.where, _restarts(e), words.what(e)) for e in effects]
            yield from layout(("BECOMES", "WORKLOAD", "RESTARTS", "WHAT"), rows)
        else:
            rows = list(map(_alike, words.alike(effects).values()))
            yield from layout(("BECOME", "WORKLOADS", "SHARDS", "WHAT"), rows, width)


def _restarts(effect: PreviewWorkload) -> str:
    return "yes" if effect.restarts else ""


def _alike(some: Sequence[PreviewWorkload]) -> tuple[str, str, str, str]:
    first = some[0]
    names = list(dict.fromkeys(each.shard.partition("/")[2] for each in some))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    whose = f"{len(some)} of {first.integration or first.kind}"
    return first.fate, whose, ", ".join(names[:NAMED]) + more, words.what(first)


def _pinned(preview: Preview) -> Table:
    head = ("PINNED", "STAYS ON", "BY")
    return head, [(e.shard, e.image, preview.prefix + e.where) for e in preview.pinned]


def _notes(preview: Preview) -> Iterator[str]:
    """What the dates rest on."""
    if not preview.rollouts:
        return
    yield ""
    day = words.day(parse_instant(preview.at))
    yield f"dates are UTC, if all goes well and it is merged on {day}"
    yield from words.notes(preview)
