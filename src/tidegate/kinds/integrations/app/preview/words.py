"""What a preview says, in words that its table and its Markdown share.

Names that come from a bundle are marked for where they are shown (`Mark`): a terminal takes them as
they are, a forge must not take them for anything else.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from tidegate.explain.sentence import sentence
from tidegate.kinds.integrations.app.preview.prospect import ImageMove, Prospect, images_of
from tidegate.kinds.integrations.app.preview.schedule import (
    BrakeMet,
    RolloutSchedule,
    ScheduledGroup,
)
from tidegate.kinds.integrations.core.review.effect import Effect, Fate
from tidegate.kinds.integrations.core.waves.outset import Move
from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.core.workloads.difference import difference_text
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.model.time import SECOND, Instant, format_age

Mark = Callable[[str], str]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# So near, the name of the day tells which one.
_NEAR = 6 * 86_400 * SECOND
# So many pairs of images are named on one line.
IMAGES_SHOWN = 3
AT_ONCE = "at once"
BY_APPLY = "all at once on `tidegate apply`"
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


def verdict(preview: Prospect, mark: Mark = bare) -> str:
    """The effect of the change, on one line."""
    parts = [_workloads(preview, mark)]
    parts += _order(preview, mark)
    if preview.errors:
        parts.insert(0, many(preview.errors, "new error"))
    return "; ".join(part for part in parts if part)


def _workloads(preview: Prospect, mark: Mark) -> str:
    effects = preview.effects
    if preview.is_idle:
        return "nothing changes"
    changed = effects.of(Fate.CHANGED)
    moved = [each for each in changed if each.moves_image]
    parts = []
    if moved:
        parts.append(f"{_verb(len(moved), 'change')} image {_moved(moved, mark)}")
    if len(changed) > len(moved):
        parts.append(_verb(len(changed) - len(moved), "change") + " otherwise")
    parts.append(f"{len(effects.of(Fate.CREATED)):,} created")
    parts.append(f"{len(effects.of(Fate.DELETED)):,} deleted")
    if effects.unknown:
        parts.append(f"{effects.unknown:,} unknown")
    return ", ".join(parts)


def _verb(count: int, verb: str) -> str:
    return f"{many(count, 'workload')} {verb}" + ("s" if count == 1 else "")


def _moved(moved: Sequence[Effect], mark: Mark) -> str:
    """Which images where; counts alone where there are too many."""
    places: dict[str, list[Effect]] = {}
    for each in moved:
        places.setdefault(each.environment, []).append(each)
    pairs = {name: images_of(some) for name, some in places.items()}
    if sum(map(len, pairs.values())) > IMAGES_SHOWN:
        return f"in {many(len(places), 'environment')}"
    every = images_of(moved)
    if len(every) == 1:
        return f"{arrow(every[0], mark)} in {' and '.join(map(mark, pairs))}"
    return ", ".join(f"{images(some, mark)} in {mark(name)}" for name, some in pairs.items())


def arrow(images: ImageMove, mark: Mark = bare) -> str:
    """`a → b`."""
    return f"{mark(images.before)} → {mark(images.after)}"


def images(some: Iterable[ImageMove], mark: Mark = bare) -> str:
    """`a → b (24)`, the most first; of very many, how many more."""
    every = [f"{arrow(one, mark)} ({one.workloads:,})" for one in some]
    more = len(every) - IMAGES_SHOWN
    return ", ".join([*every[:IMAGES_SHOWN], *([f"{more} more"] if more > 0 else [])])


def from_to(before: int, after: int | None) -> str:
    """A count that changes, or does not, or is not known."""
    if after is None:
        return f"{before:,} → ?"
    return f"{after:,}" if before == after else f"{before:,} → {after:,}"


def _order(preview: Prospect, mark: Mark) -> list[str]:
    """Who goes when."""
    parts = []
    if len(preview.schedules) == 1:
        parts.append(_stages(preview.schedules[0], preview.at, mark))
    elif preview.schedules:
        parts.append(_all_stages(preview.schedules, preview.at))
    loose = [each for each in preview.moves if each.alone or (each.units and not each.staged)]
    shards = sum(len(each.alone) + (0 if each.staged else len(each.units)) for each in loose)
    if shards:
        few = f"{many(shards, 'shard')} on `tidegate apply`"
        parts.append(few if preview.schedules else BY_APPLY)
    return parts


def _stages(schedule: RolloutSchedule, now: Instant, mark: Mark) -> str:
    said = []
    for i, stage in enumerate(schedule.stages):
        if stage.starts_at is None:
            said.append(f"{mark(stage.name)} has no date: {mark(stage.held_by)}")
            break
        starts = "starts " if i == 0 else ""
        said.append(f"{mark(stage.name)} {starts}{date(stage.starts_at, now)}")
    if schedule.done_at is not None:
        said.append(f"done {date(schedule.done_at, now)}")
    return ", ".join(said)


def _all_stages(schedules: Sequence[RolloutSchedule], now: Instant) -> str:
    starts = [each.starts_at for each in schedules if each.starts_at is not None]
    ends = [each.done_at for each in schedules if each.done_at is not None]
    said = [many(len(schedules), "rollout")]
    if starts:
        said.append(f"the first starts {date(min(starts), now)}")
    if len(ends) == len(schedules):
        said.append(f"the last is done {date(max(ends), now)}")
    else:
        said.append(f"{len(schedules) - len(ends)} without a date")
    return ", ".join(said)


def starts(stage: ScheduledGroup, now: Instant) -> str:
    """When a stage starts; no date if it is not known."""
    return date(stage.starts_at, now) if stage.starts_at is not None else "no date"


def done(stage: ScheduledGroup, now: Instant) -> str:
    """When a stage is done."""
    return date(stage.done_at, now) if stage.done_at is not None else "no date"


def waits(stage: ScheduledGroup, now: Instant, mark: Mark = bare) -> str:
    """What is on when its turn has come, and what has no end."""
    said = [_clash(each, stage, now, mark) for each in stage.clashes]
    known = any(sentence(each.verdict) == stage.held_by for each in stage.clashes)
    if stage.held_by and not known:
        said.append(mark(stage.held_by))
    return "; ".join(said)


def _clash(one: BrakeMet, stage: ScheduledGroup, now: Instant, mark: Mark) -> str:
    some = f"{len(one.shards):,} " if len(one.shards) < len(stage.shards) else ""
    until = one.verdict.until
    end = f" until {date(until, now)}" if until is not None else ""
    return f"{some}would start {date(one.at, now)}, {mark(sentence(one.verdict))}{end}"


def rules(place_rules: ImageRules) -> str:
    """Under which rules a place moves, in short."""
    strategy = place_rules.strategy
    said = [f"soak {format_age(strategy.soak)}"] if strategy.soak else []
    if strategy.max_concurrency is not None:
        said.append(f"at most {strategy.max_concurrency} at once")
    if strategy.max_failures is not None:
        said.append(f"{strategy.max_failures} failures allowed")
    if place_rules.runs:
        said.append(f"{many(place_rules.runs, 'clean run')} each")
    return ", ".join([strategy.type.value, *said])


def where(place: ManagedPlace) -> str:
    """`production · cluster/namespace`."""
    space = place.managed.namespace
    return f"{space.environment} · {space.cluster}/{space.name}"


def space(effect: Effect) -> str:
    """The same of a workload."""
    return f"{effect.environment} · {effect.cluster}/{effect.namespace}"


def what(effect: Effect, mark: Mark = bare) -> str:
    """What becomes of a workload: its image, then whatever else differs."""
    if effect.fate is Fate.CREATED:
        return f"with {mark(effect.after)}" if effect.after else ""
    if effect.fate is Fate.DELETED:
        return f"had {mark(effect.before)}" if effect.before else ""
    image = arrow(ImageMove(effect.before, effect.after, 1), mark) if effect.moves_image else ""
    fields = (difference_text(each, cut=True).replace(_TEMPLATE, "", 1) for each in effect.others)
    return ", ".join(filter(None, [image, *map(mark, fields)]))


def alike(effects: Iterable[Effect]) -> dict[tuple[str, ...], list[Effect]]:
    """Workloads of which the same becomes, by whose they are and what becomes of them."""
    found: dict[tuple[str, ...], list[Effect]] = {}
    for each in effects:
        key = each.integration or each.kind, each.fate.value, what(each)
        found.setdefault(key, []).append(each)
    return found


def applied(move: Move) -> list[tuple[str, tuple[Unit, ...]]]:
    """The shards of a place that move when the bundle is applied, and as what."""
    found = [] if move.staged or not move.units else [("all", move.units)]
    return [*found, ("own image", move.alone)] if move.alone else found


def notes(preview: Prospect, mark: Mark = bare) -> list[str]:
    """What the dates rest on: the rules, the pace, what goes first; once each."""
    stated: dict[str, list[str]] = {}
    for each in preview.schedules:
        place_rules = each.move.place.managed.rollout
        if place_rules is None:
            continue
        at = mark(preview.prefix + place_rules.where)
        pace = f"a change takes {format_age(each.apply_time)} ({each.known_from})"
        note = f"{at}: {rules(place_rules)}; {pace}"
        if each.health:
            note += f"; as long as {', '.join(map(mark, each.health))} allow it"
        if each.under_way:
            note += f"; {mark(each.under_way)} is under way and goes first"
        stated.setdefault(note, []).append(each.move.place.integration.name)
    alone = len(stated) == 1
    return [
        note if alone else f"{', '.join(map(mark, dict.fromkeys(names)))}: {note}"
        for note, names in stated.items()
    ]


def rollout_rows(
    preview: Prospect, mark: Mark = bare
) -> Iterator[tuple[Move, list[tuple[str, ...]]]]:
    """Group, shards, starts, done, brakes: a row a stage, by the place it is of."""
    scheduled = {id(each.move): each for each in preview.schedules}
    now = preview.at
    for move in preview.moves:
        rows: list[tuple[str, ...]] = []
        schedule = scheduled.get(id(move))
        for stage in schedule.stages if schedule is not None else ():
            dates = starts(stage, now), done(stage, now), waits(stage, now, mark)
            rows.append((mark(stage.name), f"{len(stage.shards):,}", *dates))
        for name, units in applied(move):
            rows.append((name, f"{len(units):,}", BY_APPLY, "", ""))
        if rows:
            yield move, rows


def image(move: Move, mark: Mark = bare) -> str:
    """What a place was to run, and is to run."""
    if move.before == move.after:
        return mark(move.after)
    return f"{mark(move.before) or 'new'} → {mark(move.after)}"
