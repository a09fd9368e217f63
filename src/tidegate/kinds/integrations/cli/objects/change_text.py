"""Plans as people read them: a line for each object by namespace, or field by field."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import click
from msgspec import UNSET

from tidegate.cli.render.causes import CauseCount
from tidegate.kinds.integrations.app.plan import ObjectChange, ObjectPlan
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.kinds.integrations.core.workloads.difference import ObjectDifference, difference_text
from tidegate.registry.image import repository_of, revision_of

COLOURS = {
    ObjectAction.CREATE: "green",
    ObjectAction.CONFIGURE: "yellow",
    ObjectAction.ADOPT: "cyan",
    ObjectAction.REMOVE: "red",
    ObjectAction.CONFLICT: "red",
    ObjectAction.REFUSED: "red",
    ObjectAction.UNREAD: "red",
    ObjectAction.RESHARD: "magenta",
    ObjectAction.UNKNOWN: "red",
    ObjectAction.HELD: "blue",
    ObjectAction.WAITING: "blue",
    ObjectAction.STAGED: "blue",
    ObjectAction.KEPT: "blue",
}
# What is counted in the last line, in this order and in these words.
_SUMMARY = {
    ObjectAction.CREATE: "to create",
    ObjectAction.CONFIGURE: "to configure",
    ObjectAction.ADOPT: "to adopt",
    ObjectAction.REMOVE: "to remove",
    ObjectAction.HELD: "held",
    ObjectAction.WAITING: "waiting",
    ObjectAction.STAGED: "staged",
    ObjectAction.RESHARD: "to reshard",
    ObjectAction.KEPT: "kept",
    ObjectAction.CONFLICT: "in conflict",
    ObjectAction.REFUSED: "refused",
    ObjectAction.UNREAD: "unread",
    ObjectAction.UNKNOWN: "without an image",
    ObjectAction.UNCHANGED: "unchanged",
}
# What nothing is done about, often for one cause.
_STOPPED = frozenset(
    (
        ObjectAction.UNREAD,
        ObjectAction.REFUSED,
        ObjectAction.CONFLICT,
        ObjectAction.KEPT,
        ObjectAction.UNKNOWN,
        ObjectAction.WAITING,
    )
)
_WIDTH_MIN = 40
# Of a Deployment with the longest name there can be; whatever is longer pushes its own line only.
_NAME_MAX = 75


def plan_lines(
    plan: ObjectPlan,
    *,
    wide: bool = False,
    width: int | None = None,
    colour: bool = False,
    verbose: bool = False,
) -> Iterator[str]:
    """A line each under its namespace, and a summary; of those that one thing stops, two."""
    every = [each for each in plan.changes if wide or each.verb is not ObjectAction.UNCHANGED]
    count = CauseCount(verbose=verbose or wide)
    listed = [each for each in every if _is_shown(each, count)]
    for (cluster, namespace), some in groupby(listed, lambda each: (each.cluster, each.namespace)):
        mine = list(some)
        yield (
            click.style(f"{cluster}/{namespace}", bold=True) if colour else f"{cluster}/{namespace}"
        )
        name = min(_NAME_MAX, max(len(each.where) for each in mine))
        for each in mine:
            yield from _lines(each, name, width, wide, colour)
    yield from count.rest()
    yield summary(plan)


def _is_shown(change: ObjectChange, count: CauseCount) -> bool:
    """Whether it is listed: all that change are, and some of those that the same thing stops."""
    if change.verb not in _STOPPED or not change.reason:
        return True
    return count.shows(f"{change.action}: {change.reason}", change.cluster)


def summary(plan: ObjectPlan) -> str:
    """The summary, on one line."""
    counts = ((plan.counts.get(verb.value, 0), words) for verb, words in _SUMMARY.items())
    parts = [f"{count:,} {words}" for count, words in counts if count]
    again = f"{plan.restarts:,} restart" + ("" if plan.restarts == 1 else "s")
    none = "nothing that is declared can be planned" if plan.problems else "nothing is declared"
    return f"{', '.join(parts) or none} · {again}"


def diff_lines(plan: ObjectPlan, *, colour: bool = False, verbose: bool = False) -> Iterator[str]:
    """Every object that differs, and in what; of those that one thing stops, two."""
    count = CauseCount(verbose=verbose)
    for each in plan.changes:
        if each.verb is ObjectAction.UNCHANGED or not _is_shown(each, count):
            continue
        restarts = ", restarts" if each.restarts else ""
        head = f"{each.action}{restarts} {each.where} in {each.cluster}/{each.namespace}"
        yield click.style(head, bold=True) if colour else head
        if each.reason and each.verb is not ObjectAction.CREATE:
            yield f"  {each.reason}"
        if each.verb is ObjectAction.CREATE and each.manifest is not UNSET:
            yield from (_paint(f"  + {line}", colour) for line in _yaml(each.manifest))
        else:
            yield from (_paint(f"  {difference_text(one)}", colour) for one in each.differences)
    yield from count.rest()


def names(plan: ObjectPlan) -> Iterator[str]:
    """What each object that differs is called, for other commands."""
    return (
        f"{each.cluster}/{each.namespace}/{each.where}"
        for each in plan.changes
        if each.verb is not ObjectAction.UNCHANGED
    )


def _lines(
    change: ObjectChange, name: int, width: int | None, wide: bool, colour: bool
) -> Iterator[str]:
    """What becomes of one object; why, on a line of its own where both do not fit."""
    verb = f"{change.action:<9}"
    painted = click.style(verb, fg=COLOURS.get(change.verb)) if colour else verb
    detail = _detail(change, wide)
    whole = f"{change.where:<{name}}  {detail}".rstrip()
    room = None if width is None or wide else max(width, _WIDTH_MIN) - len(verb) - 4
    if room is None or len(whole) <= room:
        yield f"  {painted}  {whole}"
        return
    yield f"  {painted}  {_cut(change.where, room)}"
    if detail:
        yield f"{'':13}{_cut(detail, room)}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _detail(change: ObjectChange, wide: bool) -> str:
    """Why, whether it restarts, and what differs first."""
    parts = [change.shard] if wide and change.shard else []
    if change.restarts or change.verb is ObjectAction.ADOPT:
        parts.append("restarts" if change.restarts else "no restart")
    differs = sorted(change.differences, key=lambda one: not one.field.endswith(".image"))
    if (
        change.verb in (ObjectAction.CONFIGURE, ObjectAction.ADOPT)
        and differs
        and not change.drifted
    ):
        parts += [change.reason] if change.held or change.verb is ObjectAction.ADOPT else []
        parts.append(_first(differs, wide))
    else:
        parts += [change.reason] if change.reason else []
        parts += [_first(differs, wide)] if change.drifted and differs else []
    return " · ".join(parts)


def _first(differs: Sequence[ObjectDifference], wide: bool) -> str:
    if wide:
        return ", ".join(map(_briefly, differs))
    more = f", and {len(differs) - 1} more" if len(differs) > 1 else ""
    return _briefly(differs[0]) + more


def _briefly(one: ObjectDifference) -> str:
    """A difference in a table: of two images of one repository, what tells them apart."""
    if one.field.endswith(".image") and one.before and one.after:
        repository = repository_of(str(one.before))
        if repository == repository_of(str(one.after)):
            old, new = (revision_of(str(each), repository) for each in (one.before, one.after))
            return f"~ image: {old} → {new}"
    return difference_text(one, cut=True)


def _paint(line: str, colour: bool) -> str:
    if not colour:
        return line
    mark = line.lstrip()[:1]
    return click.style(line, fg={"+": "green", "-": "red", "~": "yellow"}.get(mark))


def _yaml(manifest: Any) -> list[str]:
    import yaml

    text: str = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=100)
    return text.splitlines()
