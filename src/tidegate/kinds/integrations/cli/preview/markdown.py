"""A preview for a merge request: one line that says it, then tables, and long lists to unfold.

The same preview is the same text. Forges cut or refuse what is too long, so the tables are cut
first, and say so.
"""

from collections.abc import Iterator

from tidegate.cli.render.findings import said
from tidegate.explain.markup import code, folded, table
from tidegate.kinds.integrations.app.preview import words
from tidegate.kinds.integrations.app.preview.report import Preview
from tidegate.kinds.integrations.app.preview.words import many
from tidegate.model.time import parse_instant

# The shortest limit of any forge is 65,536 characters; what it adds itself must fit, too.
SIZE_MAX = 60_000
# How many rows a table has at most, from what is wanted down to what always fits.
ROWS = (400, 150, 60, 30, 10, 3)
# More rows than these are folded.
ROWS_OPEN = 15


def markdown(preview: Preview) -> str:
    """The whole text, as long as it may be."""
    text = ""
    for rows in ROWS:
        text = "\n".join(_lines(preview, rows)) + "\n"
        if len(text.encode()) <= SIZE_MAX:
            break
    return text


def _lines(preview: Preview, most: int) -> Iterator[str]:
    yield "### What this change does"
    yield ""
    yield f"**{_upper(words.verdict(preview, code))}.**"
    if preview.warnings:
        yield ""
        for each in preview.warnings[:most]:
            yield f"- **{each.kind}**: {code(each.text)}"
        if len(preview.warnings) > most:
            yield f"- and {len(preview.warnings) - most} more"
    for section in (_findings, _environments, _rollouts, _pinned, _workloads):
        found = list(section(preview, most))
        if found:
            yield ""
            yield from found
    yield ""
    files = many(len(preview.files), "file")
    yield f"<sub>{code(preview.words)}, {files}; `tidegate preview`</sub>"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _environments(preview: Preview, most: int) -> Iterator[str]:
    head = ("environment", ">shards", ">touched", ">created", ">changed", ">deleted", ">restarts")
    if preview.environments:
        yield from table(
            (*head, "images"),
            (
                (
                    code(each.name),
                    words.from_to(each.shards_before, each.shards_after),
                    f"{each.shards_touched:,}",
                    *(f"{n:,}" for n in (each.created, each.changed, each.deleted, each.restarts)),
                    words.images(each.images, code),
                )
                for each in preview.environments[:most]
            ),
            len(preview.environments) - most,
        )


def _rollouts(preview: Preview, most: int) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    above = ""
    for place, some in words.rollout_rows(preview, code):
        space = code(words.where(place))
        name = code(place.integration)
        first = name, "" if space == above else space, words.image(place, code)
        # What is the same as above is not said again.
        rows += [(*(first if not i else ("", "", "")), *row) for i, row in enumerate(some)]
        above = space
    if not rows:
        return
    head = ("integration", "where", "image", "group", ">shards", "starts", "done", "brakes")
    lines = table(head, rows[:most], len(rows) - most)
    notes = words.notes(preview, code)
    if notes:
        day = words.day(parse_instant(preview.at))
        merged = f"Dates are UTC, if all goes well and it is merged on {day}."
        lines += ["", merged, *(f"- {note}" for note in notes[:most])]
    yield "#### Order"
    yield ""
    wide = len(rows) > ROWS_OPEN
    yield from folded(many(len(rows), "step"), lines) if wide else lines


def _pinned(preview: Preview, most: int) -> Iterator[str]:
    every = preview.pinned
    if every:
        prefix = preview.prefix
        rows = ((code(e.shard), code(e.image), code(prefix + e.where)) for e in every[:most])
        lines = table(("shard", "stays on", "by"), rows, len(every) - most)
        stay = "stays" if len(every) == 1 else "stay"
        yield from folded(f"{many(len(every), 'pinned shard')} {stay} as before", lines)


def _workloads(preview: Preview, most: int) -> Iterator[str]:
    rows, before = [], ""
    every = preview.workloads
    for each in every[:most]:
        space = code(words.where(each))
        fate = each.fate + (", restarts" if each.restarts else "")
        same = "" if space == before else space
        rows.append((fate, code(each.where), same, words.what(each, code)))
        before = space
    if rows:
        lines = table(("", "workload", "where", "what"), rows, len(every) - most)
        yield from folded(many(len(every), "workload"), lines)


def _findings(preview: Preview, most: int) -> Iterator[str]:
    if preview.findings:
        rows = (
            (
                each.severity,
                code(f"{each.file}:{each.line}"),
                code(said(each)),
            )
            for each in preview.findings[:most]
        )
        yield f"#### New: {many(preview.summary.new_errors, 'error')}, {_warned(preview)}"
        yield ""
        yield from table(("", "where", "what"), rows, len(preview.findings) - most)
    if preview.summary.mended:
        yield ""
        yield f"{many(preview.summary.mended, 'finding')} fixed."


def _warned(preview: Preview) -> str:
    return many(preview.summary.new_warnings, "warning")
