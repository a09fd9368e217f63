"""`hold`, `freeze`, `block`: brakes set and lifted, with who and why; `pin` is in `pins.py`.

Each shows what it reaches before it is written down; whoever leads a rollout heeds it within a
second, and reads it again right before every change.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tidegate.app.reach import Reach
from tidegate.cli.braking import (
    add,
    common,
    find_brakes,
    lift,
    read_one,
    said_options,
    scope_document,
    scope_options,
)
from tidegate.cli.live import opened, signed, whoami
from tidegate.cli.moment import ahead
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command, LazyGroup
from tidegate.gates.block import is_like
from tidegate.journal.brake_state import PARTITION
from tidegate.journal.facts import Braked
from tidegate.model.counted import counted
from tidegate.model.target import bare
from tidegate.model.time import format_instant, format_second
from tidegate.wiring import clock

# How many of the times to come `freeze add` shows.
SPANS_SHOWN = 3


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "add": ("tidegate.cli.brakes:add_hold", "Start nothing in its scope from now on"),
        "remove": ("tidegate.cli.brakes:remove_hold", "Remove holds"),
    },
    examples="""
    tidegate hold add inc-42 --everything --reason "incident 42"
    tidegate hold add eu -l region=eu --reason "link down" --expires 2h
    tidegate hold remove inc-42
    """,
)
def hold() -> None:
    """Stop now, until the hold is removed: nothing starts, targets in progress finish."""


@click.command(
    cls=Command,
    examples="""
    tidegate hold add inc-42 --everything --reason "incident 42"
    tidegate hold add eu -l region=eu --reason "link down" --expires 2h
    tidegate hold add db --target prod-eu-1 --kind upgrades --reason "schema change"
    """,
)
@click.argument("name")
@scope_options
@said_options
@database_option
def add_hold(name: str, reason: str, owner: str | None, expires: str | None, **rest: Any) -> None:
    """Start nothing in its scope from now on."""
    now = clock().now()
    document = common(name, scope_of(rest), reason, owner, expires, now)
    with opened(rest["database"], writes=True) as store:
        add(store, "hold", document, now, replace=rest["replace"], yes=rest["yes"], tell=_held)


def _held(reached: list[Reach]) -> Iterator[str]:
    # Where nothing waits and nothing moves, there is nothing to say.
    for each in (each for each in reached if each.waiting or each.moving):
        under_way = counted(len(each.moving), "target")
        yield f"{each.partition}: 0 starts from now, {under_way} in flight finish"
    waiting, moving = sum(len(r.waiting) for r in reached), sum(len(r.moving) for r in reached)
    if reached:
        where = counted(len(reached), "rollout")
        yield f"{counted(waiting, 'target')} waiting in {where} held, {moving} in flight finish"


def scope_of(rest: dict[str, Any]) -> dict[str, Any]:
    """Whom a brake covers, by its options."""
    return scope_document(rest["everything"], rest["selector"], rest["targets"], rest["kinds"])


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "add": ("tidegate.cli.brakes:add_freeze", "Start nothing in its scope at these times"),
        "exempt": ("tidegate.cli.brakes:exempt", "Exempt targets from a freeze, for a time"),
        "remove": ("tidegate.cli.brakes:remove_freeze", "Remove freezes"),
    },
    examples="""
    tidegate freeze add year-end -l env=prod --from 2026-12-20T18:00 --to 2027-01-04T08:00 \\
        --time-zone Europe/Berlin --reason "office closed"
    tidegate freeze exempt year-end --target prod-eu-1 --until 3d --reason "security fix"
    tidegate freeze remove year-end
    """,
)
def freeze() -> None:
    """Nothing starts at these times."""


@click.command(
    cls=Command,
    examples="""
    tidegate freeze add weekends --everything --from 2026-01-03T00:00 --to 2026-01-05T00:00 \\
        --rrule "FREQ=WEEKLY" --time-zone Europe/Berlin --reason "office closed"
    tidegate freeze add holidays --everything --ics examples/holidays.ics \\
        --time-zone Europe/Berlin --reason holidays
    """,
)
@click.argument("name")
@click.option("--from", "begin", metavar="TIME", help="When it begins: 2026-12-20T18:00.")
@click.option("--to", "end", metavar="TIME", help="When it ends.")
@click.option("--rrule", metavar="RULE", help='When it comes again: "FREQ=WEEKLY;BYDAY=FR".')
@click.option("--time-zone", metavar="ZONE", help="Of times without an offset: Europe/Berlin.")
@click.option("--ics", type=click.Path(path_type=Path), help="A calendar file, in place of times.")
@click.option("--finish-before", is_flag=True, help="Start nothing that cannot be done before it.")
@scope_options
@said_options
@database_option
def add_freeze(name: str, reason: str, owner: str | None, expires: str | None, **rest: Any) -> None:
    """Start nothing in its scope at these times; rollbacks and reverts may."""
    now = clock().now()
    document = common(name, scope_of(rest), reason, owner, expires, now)
    fields = {"from": "begin", "to": "end", "rrule": "rrule", "timeZone": "time_zone"}
    document |= {field: rest[key] for field, key in fields.items() if rest[key] is not None}
    if rest["ics"] is not None:
        document["ics"] = rest["ics"].read_text(encoding="utf-8")
    if rest["finish_before"]:
        document["finishBefore"] = True
    for line in _times(document):
        click.echo(line, err=True)
    with opened(rest["database"], writes=True) as store:
        add(store, "freeze", document, now, replace=rest["replace"], yes=rest["yes"], tell=_frozen)


def _times(document: dict[str, Any]) -> Iterator[str]:
    now = clock().now()
    spans = [each for each in read_one("freeze", document, now).freezes[0].spans if each.end > now]
    for span in spans[:SPANS_SHOWN]:
        word = "now" if span.start <= now else format_second(span.start)
        yield f"frozen from {word} to {format_second(span.end)}"
    if len(spans) > SPANS_SHOWN:
        yield f"and {len(spans) - SPANS_SHOWN} times more within a year"
    if not spans:
        yield "all its times are past: it freezes nothing"


def _frozen(reached: list[Reach]) -> Iterator[str]:
    for each in reached:
        waiting, moving = len(each.waiting), len(each.moving)
        if waiting or moving:
            yield f"{each.partition} is under way: {waiting} waiting, {moving} in flight"
    if reached:
        total, where = sum(each.targets for each in reached), counted(len(reached), "rollout")
        yield f"covers {counted(total, 'target')} in {where}"


@click.command(
    cls=Command,
    examples='tidegate freeze exempt year-end --target prod-eu-1 --until 3d --reason "fix"',
)
@click.argument("name")
@click.option("--until", required=True, metavar="WHEN", help="A time, or from now on: 2h, 3d.")
@click.option("--revision", help="Only for revisions like this: v2, 4.17.*.")
@click.option("--reason", required=True, help="Why.")
@click.option("--owner", help="Who allows it; you, if left out.")
@scope_options
@database_option
def exempt(
    name: str, until: str, revision: str | None, reason: str, owner: str | None, **rest: Any
) -> None:
    """Exempt targets from a freeze, for a time."""
    now = clock().now()
    exception: dict[str, Any] = {
        "scope": scope_of(rest),
        "owner": owner or whoami(),
        "reason": reason,
        "expires": format_instant(ahead("--until", until, now)),
    }
    if revision is not None:
        exception["revision"] = revision
    with opened(rest["database"], writes=True) as store:
        (known,) = find_brakes(store, "freeze", (name,))
        before = list(known.document.get("exceptions", []))
        document = {**known.document, "exceptions": [*before, exception]}
        read_one("freeze", document, now)
        fact = Braked(brake="freeze", name=name, document=document, reason=reason)
        store.append(PARTITION, [signed(fact, now)])
    click.echo(f"freeze {name} has an exception until {exception['expires']}")


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "add": ("tidegate.cli.brakes:add_block", "Keep a revision from starting"),
        "remove": ("tidegate.cli.brakes:remove_block", "Remove blocks"),
    },
    examples="""
    tidegate block add 4.17.2 --reason "loses volumes"
    tidegate block add "4.17.*" -l tier=gold --reason "not for them yet"
    tidegate block remove 4.17.2
    """,
)
def block() -> None:
    """Keep a revision from starting anywhere."""


@click.command(cls=Command, examples='tidegate block add 4.17.2 --reason "loses volumes"')
@click.argument("revision")
@click.option("--name", help="What to call it; the revision, if left out.")
@scope_options
@said_options
@database_option
def add_block(
    revision: str,
    name: str | None,
    reason: str,
    owner: str | None,
    expires: str | None,
    **rest: Any,
) -> None:
    """Keep a revision from starting, anywhere or in a scope; * and ? match any text."""
    now = clock().now()
    named = any(rest[key] for key in ("everything", "selector", "targets", "kinds"))
    scope = scope_of(rest) if named else {"everything": True}
    document = common(name or revision, scope, reason, owner, expires, now)
    document["revision"] = revision

    def tell(reached: list[Reach]) -> Iterator[str]:
        for each in reached:
            goes_out = each.revision
            if goes_out is not None and is_like(goes_out, revision):
                waiting, touched = len(each.waiting), each.targets - len(each.waiting)
                yield (
                    f"{each.partition}: stops {goes_out}: "
                    f"{waiting} waiting never get it, {touched} have it or are getting it"
                )
            back = sorted(name for name, to in each.ahead.items() if is_like(to, revision))
            if back:
                what = counted(len(back), "upgrade")
                yield f"{each.partition}: takes back {what} not started: {', '.join(back)}"
        yield f"{revision} starts nowhere in {counted(len(reached), 'rollout')}"

    with opened(rest["database"], writes=True) as store:
        add(store, "block", document, now, replace=rest["replace"], yes=rest["yes"], tell=tell)


def remover(kind: str, text: str, example: str) -> click.Command:
    """The command that lifts brakes of one kind."""

    @click.command(cls=Command, examples=example, help=text)
    @click.argument("names", nargs=-1, required=True)
    @click.option("--reason", default="", help="Why; kept in the journal.")
    @database_option
    def remove(names: tuple[str, ...], reason: str, database: str) -> None:
        plain = tuple(map(bare, names))
        with opened(database, writes=True) as store:
            lift(store, kind, plain, reason, clock().now())

    return remove


remove_hold = remover(
    "hold",
    "Remove holds: targets that waited for them may start.",
    "tidegate hold remove inc-42 --reason solved",
)
remove_freeze = remover("freeze", "Remove freezes.", "tidegate freeze remove year-end")
remove_block = remover("block", "Remove blocks.", "tidegate block remove 4.17.2")
