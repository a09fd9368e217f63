"""What the commands that set brakes share: options, the question before, and the answer."""

from collections.abc import Callable
from typing import Any

import click
import msgspec

from tidegate.app.brakes.change import lift_brakes, set_brake
from tidegate.app.brakes.reach import brake_reach
from tidegate.app.brakes.release import BrakeRelease, lift_release, release
from tidegate.app.brakes.request import BrakeRequest, BrakeWord, check_brake
from tidegate.app.brakes.scope import BrakeScope, LabelSelector
from tidegate.cli.brakes.reach_text import lift_lines, reach_lines, release_lines, set_line
from tidegate.cli.live import actor, confirmed, create_option, journals, opened, whoami
from tidegate.cli.moment import ahead
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.documents.scope_doc import parse_selector
from tidegate.model.target import bare
from tidegate.model.time import Instant
from tidegate.store.port import Store
from tidegate.wiring import clock


def scope_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The scope of a brake."""
    for option in (
        click.option("--everything", is_flag=True, help="Cover everything."),
        click.option("-l", "--selector", metavar="LABELS", help="By labels: 'env=prod,!canary'."),
        click.option("--target", "targets", multiple=True, help="By name; repeatable."),
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
        click.option("--expires", metavar="WHEN", help="A time, or from now on: 2h, 3d."),
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
        owner=rest["owner"] or whoami(),
        reason=rest["reason"],
        replace=rest["replace"],
        **more,
    )


def end_of(option: str, expires: str | None) -> Instant | None:
    """When a brake ends, as an option says; None: when it is lifted."""
    return ahead(option, expires, clock().now()) if expires else None


def add(database: str, request: BrakeRequest, *, yes: bool, creates: bool) -> None:
    """Show what a brake covers, ask if it is much, record it, and say which workers it binds."""
    with opened(database, writes=True, creates=creates) as store:
        known = journals(store)
        checked = check_brake(known, request)
        if checked.replaces is not None:
            names = (request.name,)
            agreed_to(release(known, request.brake, names, (checked.fact(),), actor()), yes)
        reach = brake_reach(known, checked)
        lines = list(reach_lines(reach, request, known.now))
        for line in lines[:-1]:
            click.echo(line, err=True)
        confirmed(lines[-1], reach.targets, yes, stops=True)
        covered = [each.partition for each in reach.rollouts]
        click.echo(set_line(set_brake(known, checked, actor(), covered), known.now))


def agreed_to(found: BrakeRelease, yes: bool) -> None:
    """Say what follows if brakes are lifted, and ask if it is much; nothing if nothing moves."""
    lines = list(release_lines(found))
    for line in lines[:-1]:
        click.echo(line, err=True)
    if lines:
        confirmed(lines[-1], found.moved, yes)


def lift(
    store: Store, brake: str, names: tuple[str, ...], reason: str, *, yes: bool | None
) -> None:
    """Say what follows if brakes are lifted, ask if it is much, and lift them.

    `yes` is None where less starts then: there is nothing to ask about.
    """
    known = journals(store)
    if yes is not None:
        agreed_to(lift_release(known, brake, names, actor()), yes)
    report = lift_brakes(known, brake, names, reason, actor())
    for line in lift_lines(report):
        click.echo(line)
    tell_unattended(known.workers())
