"""`tidegate why`: a change in progress, or a saved state, decided and explained."""

from pathlib import Path
from typing import Any

import click

from tidegate.app.journals import Decision
from tidegate.app.rollouts import details_of, target_details
from tidegate.cli.live import journals, opened
from tidegate.cli.look.view_text import group_rows as view_groups
from tidegate.cli.look.view_text import target_rows as view_targets
from tidegate.cli.look.view_text import target_tree as view_tree
from tidegate.cli.output import FORMATS, emit, say, terminal_width, wants_colour
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.documents.files import files_beside, is_file, located, read_document
from tidegate.documents.strict_yaml import YamlDocument
from tidegate.explain.table import layout
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.explain.table import (
    GROUP_HEAD,
    TARGET_HEAD,
    group_rows,
    headline,
    target_rows,
)
from tidegate.kinds.rollouts.core.explain.tree import find_target as position_of
from tidegate.kinds.rollouts.core.explain.tree import target_tree
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.wire.rollout_answer import answer_rollout
from tidegate.kinds.rollouts.wire.rollout_doc import RolloutReading, read_rollout
from tidegate.kinds.upgrades.app.read.document import is_world
from tidegate.kinds.upgrades.cli.source.flags import (
    SETTINGS,
    WorldQuery,
    mode_option,
    source_flags,
)
from tidegate.kinds.upgrades.cli.source.names import fleet_of
from tidegate.model.errors import UserError
from tidegate.model.problem import nearest
from tidegate.model.target import bare
from tidegate.model.time import Instant, format_age, parse_instant
from tidegate.settings.settings import Merged
from tidegate.wiring import clock

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
    tidegate why state.yaml               every target of a saved state
    tidegate why state.yaml prod-eu-1     one target: every gate, and what would open it
    tidegate why state.json -o json       the same, for a program
    """,
)
@click.argument("what")
@click.argument("target", required=False)
@settings_options(*dict.fromkeys((*SETTINGS, *PROMOTION)))
@click.option("--promotion", metavar="NAME", help="Of `env/NAME`: which, of several.")
@source_flags
@mode_option
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def why(
    what: str,
    target: str | None,
    merged: Merged,
    promotion: str | None,
    at: str,
    output: str,
    **flags: Any,
) -> None:
    """Say why each target starts or waits.

    WHAT is a target or a rollout in the journal, `env/NAME` of a promotion, a cluster that upgrades
    by its labels (by name, external id or id), or a file: a rollout document in YAML or JSON ("-"
    reads stdin) with groups, strategy, statuses, and `now`, the moment it was taken; or a world of
    upgrades. TARGET is one cluster in it.
    """
    settings = merged.settings()
    asked = WorldQuery(settings=settings, at=at, **flags)
    colour = wants_colour(settings.color)
    if is_file(what):
        document = read_document(what)
        if is_world(document.data):
            _show_world(asked, document, target, output)
        else:
            _show_reading(_read(what, document, at), target, output, colour)
    elif what.startswith(ENVIRONMENT) and target is None:
        from tidegate.kinds.promotions.cli.plan import show_gates

        show_gates(settings, what.removeprefix(ENVIRONMENT), promotion, output)
    elif target is None and _shown_as_upgrade(asked, what, output):
        return
    else:
        try:
            _show_journal(what, target, settings.database, at, output, colour)
        except (click.UsageError, UserError):
            if Path(what).is_dir():  # no partition is called so, and it is no file either
                raise click.UsageError(f"{what}: a directory; name a file or a target") from None
            raise


def _show_reading(reading: RolloutReading, target: str | None, output: str, colour: bool) -> None:
    """A rollout document in a file."""
    plan = decide(reading.world, reading.now)
    for warning in sorted({each.text() for each in reading.warnings}):
        click.echo(f"Warning: {warning}", err=True)
    if target is None and output == "table":
        _show_all(reading, plan, colour)
    elif target is None:
        emit(_answer(reading, plan), output)
    else:
        _show_one(reading, plan, target, output, colour)


def _show_journal(
    what: str, target: str | None, database: str, at: str, output: str, colour: bool
) -> None:
    """A partition of any kind in the journal, or the one a target is in."""
    with opened(database) as store:
        known = journals(store, _moment(at))
        if target is None:
            one, target, others = known.find_target(what)
            for other in others:
                click.echo(f"also in {other}: name it first to see it there", err=True)
        else:
            one = known.find(what)
        if target is None:
            details = details_of(known, one)
            stopped, origin = details.stopped_by, details.origin
            if output != "table":
                emit(details, output)
                return
            for line in _view_lines(one):
                say(line, colour)
        else:
            found = target_details(known, one, target)
            stopped, origin = found.stopped_by, found.origin
            if output != "table":
                emit(found, output)
                return
            for line in _target_lines(one, found.target.name):
                say(line, colour)
    if stopped:
        click.echo(f"stopped by: {stopped}")
    if origin:
        click.echo(f"rules: {origin}")


def _view_lines(one: Decision) -> list[str]:
    view, width = one.view, terminal_width()
    lines = [view.headline, ""]
    if view.groups:
        lines += [*layout(GROUP_HEAD, view_groups(view), width), ""]
    lines += layout(TARGET_HEAD, view_targets(view), width)
    if view.recheck_at is not None:
        lines += ["", f"look again in {format_age(view.recheck_at - view.now)}"]
    return lines


def _target_lines(one: Decision, name: str) -> list[str]:
    """The tree of one target; a rollout has one of its own, with the way back."""
    if isinstance(one.world, RolloutWorld):
        position = position_of(one.world, name)
        assert position is not None
        return target_tree(one.world, one.plan, position, one.now)
    view = one.view
    return view_tree(view, next(each for each in view.targets if each.name == name))


def _show_world(asked: WorldQuery, document: YamlDocument, target: str | None, output: str) -> None:
    """A world of upgrades in a file."""
    from tidegate.kinds.upgrades.cli.source.reader import read_document_world
    from tidegate.kinds.upgrades.cli.why import show_upgrades

    show_upgrades(asked, read_document_world(document, asked), target or "", output)


def _shown_as_upgrade(asked: WorldQuery, what: str, output: str) -> bool:
    """Whether a name is of upgrades, and shown; else it is looked up in the journal of rollouts."""
    fleet = fleet_of(asked, what)
    if fleet is None:
        return False
    from tidegate.kinds.upgrades.cli.why import show_upgrades

    show_upgrades(asked, fleet, what, output)
    return True


def _moment(at: str) -> Instant | None:
    try:
        return parse_instant(at) if at else None
    except ValueError as error:
        raise click.UsageError(f'--now "{at}": {error}; like 2026-01-31T12:00:00Z') from None


def _read(file: str, document: YamlDocument, at: str) -> RolloutReading:
    moment = _moment(at)
    data = document.data
    if moment is not None and isinstance(data, dict):
        data = {**data, "now": at}
    try:
        return read_rollout(data, now=moment or clock().now(), files=files_beside(file))
    except UserError as error:
        raise located(document, error) from None


def _answer(reading: RolloutReading, plan: RolloutPlan) -> dict[str, object]:
    return answer_rollout(reading.id, reading.world, plan, reading.now, reading.warnings)


def _show_all(reading: RolloutReading, plan: RolloutPlan, colour: bool) -> None:
    world, width = reading.world, terminal_width()
    lines = [headline(world, plan), ""]
    lines += [*layout(GROUP_HEAD, group_rows(world, plan), width), ""]
    lines += layout(TARGET_HEAD, target_rows(world, plan, reading.now), width)
    if plan.recheck_at is not None:
        lines += ["", f"look again in {format_age(plan.recheck_at - reading.now)}"]
    for line in lines:
        say(line, colour)


def _show_one(
    reading: RolloutReading, plan: RolloutPlan, target: str, output: str, colour: bool
) -> None:
    world = reading.world
    name = bare(target)
    position = position_of(world, name)
    if position is None:
        names = [each.name for each in world.targets + world.departed]
        hint = nearest(name, names) or f"`tidegate why` without it lists all {len(names)}"
        raise click.UsageError(f'no target "{name}" in this state; {hint}')
    if output == "table":
        for line in target_tree(world, plan, position, reading.now):
            say(line, colour)
        return
    answer = _answer(reading, plan)
    rows = [*answer["targets"], *answer.get("unplaced", [])]  # type: ignore[misc]
    emit(rows[position], output)
