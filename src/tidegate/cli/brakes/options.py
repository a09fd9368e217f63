"""What the commands that set brakes share: options, the question before, and the answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from tidegate.app.brakes.release import BrakeRelease
from tidegate.app.brakes.request import BrakeRequest, BrakeWord
from tidegate.app.brakes.scope import BrakeScope, LabelSelector
from tidegate.app.text.reach_text import lift_lines, reach_lines, release_lines, set_line
from tidegate.cli.answers.place import AnswerPlace, answering
from tidegate.cli.answers.port import AnswerSource
from tidegate.cli.live import confirmed, create_option
from tidegate.cli.moment import ahead
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.documents.scope_doc import parse_selector
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.target import bare
from tidegate.model.time import Instant
from tidegate.wiring import clock


def scope_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The scope of a brake."""
    for option in (
        click.option("--everything", is_flag=True, help="Cover everything."),
        click.option(
            "-l", "--selector", metavar="LABELS", help="Targets by labels: 'env=prod,!canary'."
        ),
        click.option("--target", "targets", multiple=True, help="Targets by name; repeatable."),
        click.option(
            "--kind", "kinds", multiple=True, help="This kind of change only; repeatable."
        ),
    ):
        command = option(command)
    return command


yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def said_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The owner of a brake, its reason, and its end."""
    for option in (
        click.option("--reason", required=True, help="Why; shown for every target that waits."),
        click.option("--owner", help="The person to ask about it; default: you."),
        click.option(
            "--expires", metavar="WHEN", help="When it ends: a time, or how long from now: 2h, 3d."
        ),
        click.option("--replace", is_flag=True, help="Replace a brake of this name."),
        yes_option,
        create_option,
    ):
        command = option(command)
    return command


def scope_of(rest: dict[str, Any]) -> BrakeScope:
    """The scope of a brake, from its options."""
    selector = None
    if rest["selector"] is not None:
        try:
            selector = msgspec.convert(parse_selector(rest["selector"]), LabelSelector)
        except ValueError as error:
            raise click.UsageError(f"--selector: {error}") from None
    scope = BrakeScope(
        everything=rest["everything"],
        selector=selector,
        targets=tuple(bare(name) for name in rest["targets"]),
        kinds=rest["kinds"],
    )
    if scope == BrakeScope():
        raise click.UsageError("Specify a scope: --everything, -l LABELS, --target or --kind")
    return scope


def request_of(
    brake: BrakeWord, name: str, scope: BrakeScope, rest: dict[str, Any], **more: Any
) -> BrakeRequest:
    """What a command asks for: `more` are the fields that only its brake has."""
    return BrakeRequest(
        brake=brake,
        name=name,
        scope=scope,
        owner=rest["owner"] or "",
        reason=rest["reason"],
        replace=rest["replace"],
        **more,
    )


def end_of(option: str, expires: str | None) -> Instant | None:
    """When a brake ends, as an option says; None: when it is lifted."""
    return ahead(option, expires, clock().now()) if expires else None


# The options of the fields that a freeze has in files.
_TIMES = {each: f"--{each}" for each in ("from", "to", "rrule", "ics")} | {
    "timeZone": "--time-zone"
}


@contextmanager
def fields_as_options() -> Iterator[None]:
    """Problems of a freeze name the options that it was written with, and not the fields."""
    try:
        yield
    except UserError as error:
        if type(error) is not UserError:  # no journal, no such brake: not about a field
            raise
        raise UserError(
            tuple(
                Problem(
                    _TIMES.get(each.path, each.path),
                    _optioned(each.message),
                    each.remedy.replace("a timeZone", "--time-zone"),
                )
                for each in error.problems
            ),
            error.where,
        ) from None


def _optioned(message: str) -> str:
    """A message that names fields: "not after from", "from, ics cannot be combined"."""
    if message == "not after from":
        return "not after --from"
    fields, cannot, rest = message.partition(" cannot be combined")
    if not cannot:
        return message
    return ", ".join(_TIMES.get(each, each) for each in fields.split(", ")) + cannot + rest


def add(place: AnswerPlace, request: BrakeRequest, *, yes: bool, creates: bool) -> None:
    """Show what a brake covers, ask if it is much, record it, and say which workers it binds."""
    with answering(place, writes=True, creates=creates) as answers:
        ready = answers.prepare_brake(request)
        names = (request.name,)
        freed = BrakeRelease(brake=request.brake, names=names, rollouts=ready.reach.releases)
        agreed_to(freed, yes)
        lines = list(reach_lines(ready.reach, request.revision, answers.now))
        for line in lines[:-1]:
            click.echo(line, err=True)
        confirmed(lines[-1], ready.reach.targets, yes, stops=True)
        click.echo(set_line(ready.record(), answers.now))


def agreed_to(found: BrakeRelease, yes: bool) -> None:
    """Say what follows if brakes are lifted, and ask if it is much; nothing if nothing moves."""
    lines = list(release_lines(found))
    for line in lines[:-1]:
        click.echo(line, err=True)
    if lines:
        confirmed(lines[-1], found.moved, yes)


def lift(
    answers: AnswerSource, brake: str, names: tuple[str, ...], reason: str, *, yes: bool | None
) -> None:
    """Say what follows if brakes are lifted, ask if it is much, and lift them.

    `yes` is None where less starts then: there is nothing to ask about.
    """
    ready = answers.prepare_lift(brake, names, reason)
    if yes is not None:
        agreed_to(ready.release, yes)
    for line in lift_lines(ready.record()):
        click.echo(line)
    tell_unattended(answers.workers())
