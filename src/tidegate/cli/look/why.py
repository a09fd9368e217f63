"""`tidegate why`: a change in progress, or a saved state, decided and explained."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.app.documents import RolloutDetails, TargetDetails
from tidegate.app.text.view_text import (
    GROUP_HEAD,
    TARGET_HEAD,
    group_rows,
    request_lines,
    target_rows,
    target_tree,
)
from tidegate.cli.answers.place import AnswerPlace, answering, asks_service, then_option
from tidegate.cli.output import FORMATS, emit, say, terminal_width, wants_colour
from tidegate.cli.render.past_text import tell_past
from tidegate.cli.render.worker_text import tell_trouble
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.documents.files import files_beside, is_file, located, read_document
from tidegate.explain.table import layout
from tidegate.kinds.upgrades.cli.source.flags import (
    SETTINGS,
    WorldQuery,
    mode_option,
    named_source,
    source_flags,
)
from tidegate.kinds.upgrades.cli.source.names import fleet_of
from tidegate.model.errors import UserError
from tidegate.model.time import Instant, format_age, in_seconds, parse_instant
from tidegate.settings.settings import Merged, Settings
from tidegate.wiring import clock

if TYPE_CHECKING:
    from tidegate.documents.strict_yaml import YamlDocument
    from tidegate.kinds.rollouts.wire.rollout_doc import RolloutReading

# Environments of promotions are called so.
ENVIRONMENT = "env/"
# What a promotion is looked up with.
PROMOTION = (
    "bundle", "source", "schemasSource", "registry", "registryAuth", "brakes", "holdFiles",
    "prometheus",
)  # fmt: skip


@click.command(
    cls=Command,
    examples="""
    tidegate why prod-eu-1                a target of a change in progress: every gate
    tidegate why simulated/demo           every target of a rollout
    tidegate why env/jenkins              what keeps the newest version from an environment
    tidegate why cluster/pay-prod-1       which version a cluster goes to, and what each waits for
    tidegate why upgrades/prod/o-payments  every cluster of an organisation, a line each
    tidegate why examples/state.yaml      every target of a saved state
    tidegate why examples/state.yaml prod-eu-1  one target: every gate, and what would open it
    tidegate why examples/state.yaml -o json  the same, for a program
    tidegate why prod-eu-1 --at 2h        as it was two hours ago, from the facts of then
    """,
)
@click.argument("what")
@click.argument("target", required=False)
@settings_options(*dict.fromkeys((*SETTINGS, *PROMOTION)))
@click.option(
    "--promotion", metavar="NAME", help="Of `env/NAME`: the promotion, if several are declared."
)
@source_flags
@mode_option
@then_option
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def why(
    what: str,
    target: str | None,
    merged: Merged,
    promotion: str | None,
    at: str,
    then: str,
    output: str,
    **flags: Any,
) -> None:
    """Say why each target starts or waits.

    WHAT is a target or a rollout in the journal, `env/NAME` of a promotion, a cluster that upgrades
    by its labels (by name, external id or id), or a file: a rollout document in YAML or JSON ("-"
    reads stdin) with groups, strategy, statuses, and `now`, the moment it was taken; or a world of
    upgrades. TARGET is one cluster in it.
    """
    settings = named_source(merged, recorded=flags["recorded"])
    asked = WorldQuery(settings=settings, at=at, **flags)
    colour = wants_colour(settings.color)
    if then:
        _show_then(settings, what, target, then, output, at=at)
    elif is_file(what):
        from tidegate.kinds.rollouts.app.explanation import explain_reading
        from tidegate.kinds.upgrades.app.read.document import is_world

        document = read_document(what)
        if is_world(document.data):
            _show_world(asked, document, target, output)
        else:
            _show(explain_reading(_read(what, document, at), target), output, colour)
    elif _is_in_bundle(settings, what) and target is None:
        from tidegate.kinds.promotions.cli.plan import show_gates

        show_gates(settings, what.removeprefix(ENVIRONMENT), promotion, output)
    elif _shown_as_upgrade(asked, what, target, output):
        return
    else:
        try:
            with answering(AnswerPlace.of(settings), at=_moment(at)) as answers:
                found = answers.why(what, target)
        except (click.UsageError, UserError):
            if Path(what).is_dir():  # no partition is called so, and it is no file either
                raise click.UsageError(f"{what}: a directory; name a file or a target") from None
            raise
        _show(found, output, colour)


def _is_in_bundle(settings: Settings, what: str) -> bool:
    """Whether an environment is looked up in a bundle on this machine; else a service has it."""
    named = what.startswith(ENVIRONMENT) and ":" not in what
    return named and not asks_service(AnswerPlace.of(settings))


def _show_then(
    settings: Settings, what: str, target: str | None, then: str, output: str, *, at: str
) -> None:
    """A target or a partition of any kind, as it was."""
    if at:
        problem = (
            "--at and --now cannot be combined: --at has the facts of then, --now those of now"
        )
        raise click.UsageError(problem)
    with answering(AnswerPlace.of(settings), then=then) as answers:
        found = answers.why(what, target)
    tell_past(then, found.at)
    _show(found, output, wants_colour(settings.color))


def _show(found: RolloutDetails | TargetDetails, output: str, colour: bool) -> None:
    """Print a partition or a target as text, or as data."""
    for warning in found.warnings:
        click.echo(f"Warning: {warning}", err=True)
    if isinstance(found, TargetDetails):
        for other in found.also_in:
            click.echo(f"also in {other}: name it first to see it there", err=True)
    tell_trouble(found.worker)
    if output != "table":
        emit(found, output)
        return
    for line in _lines(found):
        say(line, colour)
    if found.stopped_by:
        click.echo(f"stopped by: {found.stopped_by}")
    if found.origin:
        click.echo(f"rules: {found.origin}")


def _lines(found: RolloutDetails | TargetDetails) -> list[str]:
    now, width = parse_instant(found.at), terminal_width()
    if isinstance(found, TargetDetails):
        return target_tree(found.target, now, found.worker)
    lines = [found.headline, ""]
    if found.groups:
        lines += [*layout(GROUP_HEAD, group_rows(found.groups), width), ""]
    lines += request_lines(found.requests, now, width, found.worker)
    lines += layout(TARGET_HEAD, target_rows(found.targets, now, found.worker), width)
    if found.recheck_after is not None and not (found.worker and found.worker.stale):
        lines += ["", f"look again in {format_age(in_seconds(found.recheck_after))}"]
    return lines


def _show_world(
    asked: WorldQuery, document: "YamlDocument", target: str | None, output: str
) -> None:
    """A world of upgrades in a file."""
    from tidegate.kinds.upgrades.cli.source.reader import read_document_world
    from tidegate.kinds.upgrades.cli.why import show_upgrades

    show_upgrades(asked, read_document_world(document, asked), target or "", output)


def _shown_as_upgrade(asked: WorldQuery, what: str, target: str | None, output: str) -> bool:
    """Whether a name is of upgrades, and shown; else it is looked up in the journal of rollouts."""
    if target is not None and not (asked.alone or asked.settings.upgrades):
        return False
    from tidegate.kinds.upgrades.cli.source.service import is_served

    if is_served(asked):
        from tidegate.kinds.upgrades.cli.why import shown_by_service

        return target is None and shown_by_service(asked, what, output)
    fleet = fleet_of(asked, what)
    if fleet is None:
        return False
    from tidegate.kinds.upgrades.cli.why import show_upgrades

    show_upgrades(asked, fleet, target or what, output)
    return True


def _moment(at: str) -> Instant | None:
    try:
        return parse_instant(at) if at else None
    except ValueError as error:
        raise click.UsageError(f'--now "{at}": {error}; like 2026-01-31T12:00:00Z') from None


def _read(file: str, document: "YamlDocument", at: str) -> "RolloutReading":
    from tidegate.kinds.rollouts.wire.rollout_doc import read_rollout

    moment = _moment(at)
    data = document.data
    if moment is not None and isinstance(data, dict):
        data = {**data, "now": at}
    try:
        return read_rollout(data, now=moment or clock().now(), files=files_beside(file))
    except UserError as error:
        raise located(document, error) from None
