"""`tidegate expedite`: a version that skips soak and windows, with an owner, a reason and an end.

It is kept beside the brakes, and lifts none of them.
"""

from collections.abc import Mapping
from typing import Any

import click

from tidegate.app.text.reach_text import set_line
from tidegate.cli.answers.place import answering, answers_option
from tidegate.cli.brakes.commands import remover
from tidegate.cli.brakes.options import end_of, request_of, scope_of, scope_options
from tidegate.cli.live import confirmed, create_option
from tidegate.cli.shape import Act, LazyGroup
from tidegate.kinds.upgrades.app.expedite import ExpediteEffect
from tidegate.kinds.upgrades.app.read.view import NAMES_MAX
from tidegate.model.counted import counted

_STANDS = "mutexes, sectors, holds, freezes, blocks and agreements stand"


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "add": (
            "tidegate.kinds.upgrades.cli.expedite:add_expedite",
            "Let a version skip soak and windows",
        ),
        "remove": (
            "tidegate.kinds.upgrades.cli.expedite:remove_expedite",
            "Let versions wait again",
        ),
    },
    examples="""
    tidegate upgrades expedite add 4.21.3 -l org=o-payments --reason "CVE-2026-1" --until 2d
    tidegate get expedites
    tidegate upgrades expedite remove 4.21.3
    """,
)
def expedite() -> None:
    """Upgrade to a version now, without soak and outside schedules."""


@click.command(
    cls=Act,
    examples="""
    tidegate upgrades expedite add 4.21.3 -l org=o-payments --reason "CVE-2026-1" --until 2d
    tidegate upgrades expedite add "4.21.*" --target stage-1 --reason "a customer waits" --until 6h
    """,
)
@click.argument("version")
@click.option("--name", help="The name of the expedite; default: the version.")
@click.option(
    "--until",
    required=True,
    metavar="WHEN",
    help="When it ends: a time, or how long from now: 2h, 3d.",
)
@click.option("--reason", required=True, help="Why; shown for every cluster in scope.")
@click.option("--owner", help="The person to ask about it; default: you.")
@click.option("--replace", is_flag=True, help="Replace one of this name.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@create_option
@scope_options
@answers_option
def add_expedite(version: str, name: str | None, until: str, **rest: Any) -> None:
    """Let a version skip soak and windows in its scope; * and ? match any text.

    Clusters are selected by name, or by their labels without prefix, plus org and env.
    """
    ends, called = end_of("--until", until), name or version
    scope = scope_of(rest)
    request = request_of("expedite", called, scope, rest, expires_at=ends, version=version)
    with answering(rest["place"], writes=True, creates=rest["creates"]) as answers:
        ready = answers.prepare_expedite(request)
        where = _show_effect(ready.effect)
        confirmed(f"{version} skips soak and windows{where}; {_STANDS}", 1, rest["yes"], free=0)
        click.echo(set_line(ready.record(), answers.now))


def _show_effect(effect: ExpediteEffect) -> str:
    """Print which clusters start at once and what the others wait for; return how many."""
    for each in effect.items:
        starting = [f"{name} ({version})" for name, version in sorted(each.starting.items())]
        if starting:
            click.echo(f"{each.partition}: starts at once on {_some(starting)}", err=True)
        for why, names in _by_reason(each.waiting):
            waits = "waits" if len(names) == 1 else "wait"
            click.echo(f"{each.partition}: {_some(names)} still {waits}: {why}", err=True)
    if not effect.items:
        return " nowhere yet: no cluster known here is offered it in this scope"
    at_once = sum(len(each.starting) for each in effect.items)
    total = at_once + sum(len(each.waiting) for each in effect.items)
    return f" on {counted(total, 'cluster')}, {at_once} at once"


def _by_reason(waiting: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for name, why in sorted(waiting.items()):
        found.setdefault(why, []).append(name)
    return sorted(found.items(), key=lambda each: each[1])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return ", ".join(names[:NAMES_MAX]) + more


remove_expedite = remover(
    "expedite",
    "Let versions wait again for soak and windows; requested upgrades continue.",
    "tidegate upgrades expedite remove 4.21.3",
    stops=True,
)
