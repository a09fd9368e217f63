"""`hold`, `freeze`, `block`: brakes set and lifted, with owner and reason.

Each shows what it covers before it is recorded. The worker that leads a rollout applies it within a
second, and reads it again right before every change.
"""

from pathlib import Path
from typing import Any

import click

from tidegate.app.brakes.request import FreezeException, FreezeTimes
from tidegate.app.brakes.scope import BrakeScope
from tidegate.app.text.reach_text import exempt_line
from tidegate.cli.answers.place import AnswerPlace, answering, answers_option
from tidegate.cli.brakes.options import (
    add,
    agreed_to,
    end_of,
    fields_as_options,
    lift,
    request_of,
    said_options,
    scope_of,
    scope_options,
    yes_option,
)
from tidegate.cli.moment import ahead
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.cli.shape import Act, LazyGroup
from tidegate.documents.files import bounded_text
from tidegate.model.target import bare
from tidegate.model.time import format_instant
from tidegate.wiring import clock

_EXPIRES = "--expires"


def _calendar(path: Path) -> str:
    try:
        return bounded_text(path)
    except (OSError, UnicodeDecodeError) as error:
        what = (getattr(error, "strerror", None) or "not UTF-8").lower()
        raise click.UsageError(f"--ics {path}: {what}; name a calendar file") from None


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "add": ("tidegate.cli.brakes.commands:add_hold", "Start nothing in its scope from now on"),
        "remove": ("tidegate.cli.brakes.commands:remove_hold", "Remove holds"),
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
    cls=Act,
    examples="""
    tidegate hold add inc-42 --everything --reason "incident 42"
    tidegate hold add eu -l region=eu --reason "link down" --expires 2h
    tidegate hold add db --target prod-eu-1 --kind upgrades --reason "schema change"
    """,
)
@click.argument("name")
@scope_options
@said_options
@answers_option
def add_hold(name: str, expires: str | None, **rest: Any) -> None:
    """Start nothing in its scope from now on."""
    request = request_of("hold", name, scope_of(rest), rest, expires_at=end_of(_EXPIRES, expires))
    add(rest["place"], request, yes=rest["yes"], creates=rest["creates"])


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "add": (
            "tidegate.cli.brakes.commands:add_freeze",
            "Start nothing in its scope at these times",
        ),
        "exempt": (
            "tidegate.cli.brakes.commands:exempt",
            "Exempt targets from a freeze, for a time",
        ),
        "remove": ("tidegate.cli.brakes.commands:remove_freeze", "Remove freezes"),
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
    cls=Act,
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
@click.option("--rrule", metavar="RULE", help='How it repeats: "FREQ=WEEKLY;BYDAY=FR".')
@click.option(
    "--time-zone", metavar="ZONE", help="The time zone of times without an offset: Europe/Berlin."
)
@click.option("--ics", type=click.Path(path_type=Path), help="A calendar file, in place of times.")
@click.option(
    "--finish-before",
    is_flag=True,
    help="Also start nothing that would not finish before it begins.",
)
@scope_options
@said_options
@answers_option
def add_freeze(name: str, expires: str | None, **rest: Any) -> None:
    """Start nothing in its scope at these times; rollbacks and reverts may."""
    times = FreezeTimes(
        begin=rest["begin"],
        end=rest["end"],
        rrule=rest["rrule"],
        time_zone=rest["time_zone"],
        ics=None if rest["ics"] is None else _calendar(rest["ics"]),
        finish_before=rest["finish_before"],
    )
    ends = end_of(_EXPIRES, expires)
    request = request_of("freeze", name, scope_of(rest), rest, expires_at=ends, times=times)
    with fields_as_options():
        add(rest["place"], request, yes=rest["yes"], creates=rest["creates"])


@click.command(
    cls=Act,
    examples='tidegate freeze exempt year-end --target prod-eu-1 --until 3d --reason "fix"',
)
@click.argument("name")
@click.option(
    "--until",
    required=True,
    metavar="WHEN",
    help="When it ends: a time, or how long from now: 2h, 3d.",
)
@click.option("--revision", help="Only for revisions that match: v2, 4.17.*.")
@click.option("--reason", required=True, help="Why.")
@click.option("--owner", help="The person who allows it; default: you.")
@yes_option
@scope_options
@answers_option
def exempt(
    name: str,
    until: str,
    revision: str | None,
    reason: str,
    owner: str | None,
    yes: bool,
    **rest: Any,
) -> None:
    """Exempt targets from a freeze, for a time."""
    exception = FreezeException(
        scope=scope_of(rest),
        owner=owner or "",
        reason=reason,
        expires=format_instant(ahead("--until", until, clock().now())),
        revision=revision,
    )
    with answering(rest["place"], writes=True) as answers:
        ready = answers.prepare_exemption(name, exception)
        agreed_to(ready.release, yes)
        report = ready.record()
        click.echo(exempt_line(report))
        tell_unattended(answers.workers())


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "add": ("tidegate.cli.brakes.commands:add_block", "Keep a revision from starting"),
        "remove": ("tidegate.cli.brakes.commands:remove_block", "Remove blocks"),
    },
    examples="""
    tidegate block add 4.17.2 --reason "loses volumes"
    tidegate block add "4.17.*" -l tier=gold --reason "not for them yet"
    tidegate block remove 4.17.2
    """,
)
def block() -> None:
    """Keep a revision from starting anywhere."""


@click.command(cls=Act, examples='tidegate block add 4.17.2 --reason "loses volumes"')
@click.argument("revision")
@click.option("--name", help="The name of the block; default: the revision.")
@scope_options
@said_options
@answers_option
def add_block(revision: str, name: str | None, expires: str | None, **rest: Any) -> None:
    """Keep a revision from starting, anywhere or in a scope; * and ? match any text."""
    named = any(rest[key] for key in ("everything", "selector", "targets", "kinds"))
    scope = scope_of(rest) if named else BrakeScope(everything=True)
    ends = end_of(_EXPIRES, expires)
    called = name or revision
    request = request_of("block", called, scope, rest, expires_at=ends, revision=revision)
    add(rest["place"], request, yes=rest["yes"], creates=rest["creates"])


def remover(kind: str, text: str, example: str, *, stops: bool = False) -> click.Command:
    """The command that lifts brakes of one kind; `stops`: less starts then, so it never asks."""

    @click.command(cls=Act, examples=example, help=text)
    @click.argument("names", nargs=-1, required=True)
    @click.option("--reason", default="", help="Why; kept in the journal.")
    @answers_option
    def remove(
        names: tuple[str, ...], reason: str, place: AnswerPlace, *, yes: bool | None = None
    ) -> None:
        plain = tuple(map(bare, names))
        with answering(place, writes=True) as answers:
            lift(answers, kind, plain, reason, yes=yes)

    return remove if stops else yes_option(remove)


remove_hold = remover(
    "hold",
    "Remove holds: targets that waited for them may start.",
    "tidegate hold remove inc-42 --reason solved",
)
remove_freeze = remover("freeze", "Remove freezes.", "tidegate freeze remove year-end")
remove_block = remover("block", "Remove blocks.", "tidegate block remove 4.17.2")
