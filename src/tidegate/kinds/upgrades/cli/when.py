"""`tidegate when` of clusters that upgrade by their labels: the rules, run ahead."""

from typing import Any

import click
import msgspec

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.explain.table import layout
from tidegate.explain.verdict_doc import verdict_doc
from tidegate.kinds.upgrades.cli.look.flags import Asked
from tidegate.kinds.upgrades.cli.look.ground import Ground, Looked
from tidegate.kinds.upgrades.cli.look.names import ORGANISATION
from tidegate.kinds.upgrades.cli.look.view import the_cluster, the_organisation, views
from tidegate.kinds.upgrades.core.explain.dates import (
    DATE_HEAD,
    date_rows,
    held_lines,
    in_date_order,
    outlook_line,
    pace_line,
)
from tidegate.kinds.upgrades.core.foresight.expected import Expected, Leg
from tidegate.kinds.upgrades.core.foresight.forecast import Outlook, forecast
from tidegate.kinds.upgrades.core.foresight.pace import Pace
from tidegate.kinds.upgrades.core.rules.fleet import Fleet
from tidegate.kinds.upgrades.core.service import Rules
from tidegate.model.time import SECOND, Duration, Instant, format_instant, parse_duration

DAY = 24 * 60 * 60 * SECOND
# How far ahead is looked, unless somebody says otherwise.
DAYS = 90

Shown = list[tuple[Fleet, list[Expected]]]


def pace_of(apply_time: str | None, pool_time: str | None, days: int = DAYS) -> tuple[Pace, str]:
    """What is assumed of upgrades, and how that is known."""
    pace = Pace(horizon=Duration(days * DAY))
    if apply_time:
        takes = _duration("--apply-time", apply_time)
        pace = msgspec.structs.replace(pace, classic=takes, control_plane=takes)
    if pool_time:
        pace = msgspec.structs.replace(pace, pool=_duration("--pool-time", pool_time))
    return pace, "as given" if apply_time else "assumed"


def _duration(flag: str, text: str) -> Duration:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.UsageError(f'{flag} "{text}": {error}; like 20m') from None


def tell_rules(looked: Looked) -> None:
    """Who is served by the existing service's rules, though ours are shown; on stderr."""
    for ground in looked.grounds:
        for each in ground.service.organizations:
            if each.rules is Rules.COMPAT:
                what = f"{each.id} is served by the existing service's rules; this is by ours"
                click.echo(f"note: {what}", err=True)


def show_dates(
    asked: Asked, looked: Looked, name: str, output: str, assumed: tuple[Pace, str]
) -> None:
    """When a cluster, an organisation's, or everybody's are upgraded, and what has no date."""
    pace, known = assumed
    shown = _shown(looked, name, pace)
    one = bool(name) and not name.startswith(ORGANISATION)
    if output != "table":
        documents = [document(fleet, each) for fleet, some in shown for each in some]
        emit(documents[0] if one else documents, output)
    else:
        click.echo(pace_line(pace, known), err=True)
        _show(shown, wants_colour(asked.settings.color), one=one)
    tell_rules(looked)
    looked.tell()
    looked.end()


def _shown(looked: Looked, name: str, pace: Pace) -> Shown:
    if not name:
        return [pair for ground in looked.grounds for pair in _by_fleet(ahead(ground, pace))]
    some = views(looked)
    if name.startswith(ORGANISATION):
        view, fleet, _ = the_organisation(some, name)
        every = _by_fleet(ahead(view.ground, pace))
        return [(one, mine) for one, mine in every if one.key == fleet.key]
    view, stand = the_cluster(some, name)
    found = ahead(view.ground, pace).expected[stand.member.cluster.uuid]
    return [(stand.fleet, [found])]


def ahead(ground: Ground, pace: Pace) -> Outlook:
    """What is foreseen on a ground."""
    return forecast(ground.world, ground.now, pace)


def _by_fleet(outlook: Outlook) -> Shown:
    return [
        (fleet, in_date_order(outlook.expected[each.cluster.uuid] for each in fleet.members))
        for fleet in outlook.plan.fleets
    ]


def _show(shown: Shown, colour: bool, *, one: bool) -> None:
    if not shown:
        click.echo("no cluster of anybody who is served has labels", err=True)
    for at, (fleet, some) in enumerate(shown):
        lines = [""] if at else []
        for line in (*lines, *(_lines_of_one(some[0]) if one else _lines(fleet, some))):
            say(line, colour)


def _lines(fleet: Fleet, some: list[Expected]) -> list[str]:
    rows = [row for each in some for row in date_rows(each)]
    return [outlook_line(fleet, some), "", *layout(DATE_HEAD, rows, terminal_width())]


def _lines_of_one(expected: Expected) -> list[str]:
    rows = date_rows(expected, held=False)
    table = layout(DATE_HEAD, rows, terminal_width()) if rows else []
    return [*table, *held_lines(expected)]


def document(fleet: Fleet, expected: Expected) -> dict[str, Any]:
    """What is expected of one cluster, for programs."""
    cluster, held = expected.cluster, expected.held
    return {
        "cluster": cluster.name,
        "uuid": cluster.uuid,
        "org": fleet.org.id,
        "environment": fleet.org.env,
        "version": cluster.version,
        "reaches": expected.version,
        "doneAt": _instant(expected.done_at),
        "steps": [_leg(each) for each in expected.legs],
        "noDate": None
        if held is None
        else {
            "version": expected.wanted or None,
            "beyond": expected.beyond,
            "why": verdict_doc(held),
        },
    }


def _leg(leg: Leg) -> dict[str, Any]:
    return {
        "do": leg.doing.value,
        "pool": leg.pool or None,
        "from": leg.before,
        "to": leg.version,
        "askedAt": _instant(leg.asked_at),
        "startsAt": _instant(leg.starts_at),
        "doneAt": _instant(leg.ends_at),
        "estimate": leg.estimate,
        "byOwner": leg.by_owner,
        "dependsOn": [verdict_doc(each) for each in leg.opened],
    }


def _instant(at: Instant | None) -> str | None:
    return None if at is None else format_instant(at)
