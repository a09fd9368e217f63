"""What a preview says, in words that its table and its Markdown share.

Names that come from a bundle are marked for where they are shown (`Mark`): a terminal takes them as
they are, a forge must not take them for anything else.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from tidegate.kinds.integrations.app.preview.parts import (
    PreviewImages,
    PreviewWorkload,
    counted_images,
)
from tidegate.kinds.integrations.app.preview.report import (
    Preview,
    PreviewCollision,
    PreviewGroup,
    PreviewPlace,
    PreviewRollout,
)
from tidegate.kinds.integrations.core.review.effect import Fate
from tidegate.kinds.integrations.core.workloads.difference import difference_text
from tidegate.model.time import SECOND, Instant, format_age, parse_duration, parse_instant

Mark = Callable[[str], str]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# So near, the name of the day tells which one.
_NEAR = 6 * 86_400 * SECOND
# So many pairs of images are named on one line.
IMAGES_SHOWN = 3
AT_ONCE = "at once"
ALL_AT_ONCE = "all at once"
_TEMPLATE = "spec.template."


def bare(text: str) -> str:
    """A name as it is."""
    return text


def many(count: int, noun: str) -> str:
    """`1 shard`, `2 shards`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def day(moment: Instant) -> str:
    """A moment in full: `Sun 2026-11-15 18:10`."""
    at = _EPOCH + timedelta(seconds=moment // SECOND)
    return f"{_DAYS[at.weekday()]} {at:%Y-%m-%d %H:%M}"


def date(moment: Instant, now: Instant) -> str:
    """A moment as seen from another one: at once, `Mon 09:10`, or in full where that is far."""
    if moment <= now:
        return AT_ONCE
    full = day(moment)
    return f"{full[:3]} {full[-5:]}" if moment - now < _NEAR else full


def verdict(preview: Preview, mark: Mark = bare) -> str:
    """The effect of the change, on one line."""
    parts = [_workloads(preview, mark)]
    parts += _order(preview, mark)
    if preview.summary.new_errors:
        parts.insert(0, many(preview.summary.new_errors, "new error"))
    return "; ".join(part for part in parts if part)


def _workloads(preview: Preview, mark: Mark) -> str:
    summary = preview.summary
    if not preview.workloads and not summary.unknown:
        return "nothing changes"
    moved = [each for each in preview.workloads if each.moves_image]
    parts = []
    if moved:
        parts.append(f"{_verb(len(moved), 'change')} image {_moved(moved, mark)}")
    if summary.changed > len(moved):
        parts.append(_verb(summary.changed - len(moved), "change") + " otherwise")
    parts.append(f"{summary.created:,} created")
    parts.append(f"{summary.deleted:,} deleted")
    if summary.unknown:
        parts.append(f"{summary.unknown:,} unknown")
    return ", ".join(parts)


def _verb(count: int, verb: str) -> str:
    return f"{many(count, 'workload')} {verb}" + ("s" if count == 1 else "")


def _moved(moved: Sequence[PreviewWorkload], mark: Mark) -> str:
    """Which images where; counts alone where there are too many."""
    places: dict[str, list[PreviewWorkload]] = {}
    for each in moved:
        places.setdefault(each.environment, []).append(each)
    pairs = {name: images_of(some) for name, some in places.items()}
    if sum(map(len, pairs.values())) > IMAGES_SHOWN:
        return f"in {many(len(places), 'environment')}"
    every = images_of(moved)
    if len(every) == 1:
        return f"{arrow(every[0], mark)} in {' and '.join(map(mark, pairs))}"
    return ", ".join(f"{images(some, mark)} in {mark(name)}" for name, some in pairs.items())


def arrow(images: PreviewImages, mark: Mark = bare) -> str:
    """`a → b`."""
    return f"{mark(images.before)} → {mark(images.after)}"


def images(some: Iterable[PreviewImages], mark: Mark = bare) -> str:
    """`a → b (24)`, the most first; of very many, how many more."""
    every = [f"{arrow(one, mark)} ({one.workloads:,})" for one in some]
    more = len(every) - IMAGES_SHOWN
    return ", ".join([*every[:IMAGES_SHOWN], *([f"{more} more"] if more > 0 else [])])


def from_to(before: int, after: int | None) -> str:
    """A count that changes, or does not, or is not known."""
    if after is None:
        return f"{before:,} → ?"
    return f"{after:,}" if before == after else f"{before:,} → {after:,}"


def _order(preview: Preview, mark: Mark) -> list[str]:
    """Who goes when."""
    parts, now = [], parse_instant(preview.at)
    if len(preview.rollouts) == 1:
        parts.append(_stages(preview.rollouts[0], now, mark))
    elif preview.rollouts:
        parts.append(_all_stages(preview.rollouts, now))
    shards = sum(len(each.shards) for each in preview.applied)
    if shards:
        few = f"{many(shards, 'shard')} at once"
        parts.append(few if preview.rollouts else ALL_AT_ONCE)
    return parts


def _stages(rollout: PreviewRollout, now: Instant, mark: Mark) -> str:
    said = []
    for i, stage in enumerate(rollout.groups):
        if stage.starts_at is None:
            said.append(f"{mark(stage.name)} has no date: {mark(stage.held_by or '')}")
            break
        starts = "starts " if i == 0 else ""
        said.append(f"{mark(stage.name)} {starts}{_date(stage.starts_at, now)}")
    if rollout.done_at is not None:
        said.append(f"done {_date(rollout.done_at, now)}")
    return ", ".join(said)


def _all_stages(rollouts: Sequence[PreviewRollout], now: Instant) -> str:
    starts = [parse_instant(e.starts_at) for e in rollouts if e.starts_at is not None]
    ends = [parse_instant(e.done_at) for e in rollouts if e.done_at is not None]
    said = [many(len(rollouts), "rollout")]
    if starts:
        said.append(f"the first starts {date(min(starts), now)}")
    if len(ends) == len(rollouts):
        said.append(f"the last is done {date(max(ends), now)}")
    else:
        said.append(f"{len(rollouts) - len(ends)} without a date")
    return ", ".join(said)


def _date(at: str | None, now: Instant) -> str:
    """A moment of a document; no date if it is not known."""
    return date(parse_instant(at), now) if at is not None else "no date"


def waits(stage: PreviewGroup, now: Instant, mark: Mark = bare) -> str:
    """What is on when its turn has come, and what has no end."""
    said = [_clash(each, stage, now, mark) for each in stage.collisions]
    known = any(each.text == stage.held_by for each in stage.collisions)
    if stage.held_by and not known:
        said.append(mark(stage.held_by))
    return "; ".join(said)


def _clash(one: PreviewCollision, stage: PreviewGroup, now: Instant, mark: Mark) -> str:
    some = f"{len(one.shards):,} " if len(one.shards) < len(stage.shards) else ""
    end = f" until {_date(one.until, now)}" if one.until is not None else ""
    return f"{some}would start {_date(one.would_start_at, now)}, {mark(one.text)}{end}"


def rules(rollout: PreviewRollout) -> str:
    """Under which rules a place moves, in short."""
    soak = parse_duration(rollout.soak)
    said = [f"soak {format_age(soak)}"] if soak else []
    if rollout.max_concurrency is not None:
        said.append(f"at most {rollout.max_concurrency} at once")
    if rollout.max_failures is not None:
        said.append(f"{rollout.max_failures} failures allowed")
    if rollout.clean_runs:
        said.append(f"{many(rollout.clean_runs, 'clean run')} each")
    return ", ".join([rollout.type, *said])


def where(one: PreviewPlace | PreviewWorkload) -> str:
    """`production · cluster/namespace`."""
    return f"{one.environment} · {one.cluster}/{one.namespace}"


def what(one: PreviewWorkload, mark: Mark = bare) -> str:
    """What becomes of a workload: its image, then whatever else differs."""
    before, after = one.image_before, one.image_after
    if one.fate == Fate.CREATED.value:
        return f"with {mark(after)}" if after else ""
    if one.fate == Fate.DELETED.value:
        return f"had {mark(before)}" if before else ""
    image = arrow(PreviewImages(before, after, 1), mark) if one.moves_image else ""
    fields = (difference_text(each, cut=True).replace(_TEMPLATE, "", 1) for each in one.others)
    return ", ".join(filter(None, [image, *map(mark, fields)]))


def alike(workloads: Iterable[PreviewWorkload]) -> dict[tuple[str, ...], list[PreviewWorkload]]:
    """Workloads of which the same becomes, by whose they are and what becomes of them."""
    found: dict[tuple[str, ...], list[PreviewWorkload]] = {}
    for each in workloads:
        key = each.integration or each.kind, each.fate, what(each)
        found.setdefault(key, []).append(each)
    return found


def notes(preview: Preview, mark: Mark = bare) -> list[str]:
    """What the dates rest on: the rules, the pace, what goes first; once each."""
    stated: dict[str, list[str]] = {}
    for each in preview.rollouts:
        at = mark(preview.prefix + each.rules)
        takes = format_age(parse_duration(each.apply_time))
        note = f"{at}: {rules(each)}; a change takes {takes} ({each.apply_time_from})"
        if each.health_gates:
            note += f"; as long as {', '.join(map(mark, each.health_gates))} allow it"
        if each.under_way:
            note += f"; {mark(each.under_way)} is under way and goes first"
        stated.setdefault(note, []).append(each.integration)
    alone = len(stated) == 1
    return [
        note if alone else f"{', '.join(map(mark, dict.fromkeys(names)))}: {note}"
        for note, names in stated.items()
    ]


def rollout_rows(
    preview: Preview, mark: Mark = bare
) -> Iterator[tuple[PreviewPlace, list[tuple[str, ...]]]]:
    """Group, shards, starts, done, brakes: a row a stage, by the place it is of."""
    now = parse_instant(preview.at)
    places: dict[str, PreviewPlace] = {}
    rows: dict[str, list[tuple[str, ...]]] = {}
    for rollout in preview.rollouts:
        places.setdefault(rollout.name, rollout)
        for stage in rollout.groups:
            dates = _date(stage.starts_at, now), _date(stage.done_at, now), waits(stage, now, mark)
            row = (mark(stage.name), f"{len(stage.shards):,}", *dates)
            rows.setdefault(rollout.name, []).append(row)
    for applied in preview.applied:
        places.setdefault(applied.name, applied)
        common, alone = len(applied.shards) - len(applied.alone), len(applied.alone)
        for name, count in (("all", common), ("own image", alone)):
            if count:
                row = (name, f"{count:,}", ALL_AT_ONCE, "", "")
                rows.setdefault(applied.name, []).append(row)
    for name, mine in rows.items():
        yield places[name], mine


def image(place: PreviewPlace, mark: Mark = bare) -> str:
    """What a place was to run, and is to run."""
    if place.before == place.after:
        return mark(place.after)
    return f"{mark(place.before) or 'new'} → {mark(place.after)}"


def images_of(workloads: Iterable[PreviewWorkload]) -> tuple[PreviewImages, ...]:
    """Which images take the place of which, those of most workloads first."""
    return counted_images(
        (each.image_before, each.image_after) for each in workloads if each.moves_image
    )
