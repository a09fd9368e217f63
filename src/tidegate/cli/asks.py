"""`approve`, `revoke`, `pause`, `resume`, `abort`, `retry`: what people ask of a rollout.

Each shows what it reaches before it does anything, and writes one fact, with who and why.
"""

from typing import Any

import click

from tidegate.cli.live import Live, ask, confirmed, database_option, find_rollout, opened
from tidegate.cli.shape import Command
from tidegate.core.journal.facts import Asked, Verb
from tidegate.core.model.problem import nearest


def _options(command: Any) -> Any:
    """What every asking command takes."""
    command = click.option("--reason", default="", help="Why; kept in the journal.")(command)
    command = click.option("--yes", is_flag=True, help="Do not ask.")(command)
    return database_option(command)


@click.command(
    cls=Command,
    examples="""
    tidegate approve simulated/demo --group prod --reason "stage looks good"
    tidegate approve simulated/demo --group prod --standing
    """,
)
@click.argument("name")
@click.option("--group", "groups", multiple=True, required=True, help="Which group; repeatable.")
@click.option("--standing", is_flag=True, help="For every revision to come, not only this one.")
@_options
def approve(
    name: str, groups: tuple[str, ...], standing: bool, database: str, yes: bool, reason: str
) -> None:
    """Let groups in, for the revision under way."""
    with opened(database, writes=True) as store:
        live = find_rollout(store, name)
        reach = _reach(live, groups)
        version = None if standing else live.plan.course.version
        what = "every revision" if standing else str(version)
        confirmed(f"{live.partition}: {', '.join(groups)}, {reach} targets, {what}", reach, yes)
        ask(store, live, Asked(verb=Verb.APPROVE, groups=groups, version=version, reason=reason))
    click.echo(f"approved {', '.join(groups)} for {what}")


@click.command(cls=Command, examples="tidegate revoke simulated/demo --group prod")
@click.argument("name")
@click.option("--group", "groups", multiple=True, required=True, help="Which group; repeatable.")
@_options
def revoke(name: str, groups: tuple[str, ...], database: str, yes: bool, reason: str) -> None:
    """Take approvals back: nothing new starts in these groups, what is in flight goes on."""
    with opened(database, writes=True) as store:
        live = find_rollout(store, name)
        reach = _reach(live, groups)
        confirmed(f"{live.partition}: {', '.join(groups)}, {reach} targets", reach, yes)
        ask(store, live, Asked(verb=Verb.REVOKE, groups=groups, reason=reason))
    click.echo(f"revoked {', '.join(groups)}")


def _reach(live: Live, groups: tuple[str, ...]) -> int:
    known = {group.name or "ungrouped": group.size for group in live.world.groups}
    for group in groups:
        if group not in known:
            hint = nearest(group, known) or f"there are {', '.join(sorted(known))}"
            raise click.UsageError(f'no group "{group}" in {live.partition}; {hint}')
    return sum(known[group] for group in groups)


def _simple(name: str, database: str, yes: bool, fact: Asked, word: str) -> None:
    with opened(database, writes=True) as store:
        live = find_rollout(store, name)
        tallies = [report.tally for report in live.plan.groups]
        waiting = sum(tally.waiting for tally in tallies)
        moving = sum(tally.in_flight + tally.soaking for tally in tallies)
        confirmed(f"{live.partition}: {moving} moving, {waiting} waiting", waiting, yes)
        ask(store, live, fact)
    click.echo(f"{word} {live.partition}")


@click.command(cls=Command, examples='tidegate pause simulated/demo --reason "incident 42"')
@click.argument("name")
@_options
def pause(name: str, database: str, yes: bool, reason: str) -> None:
    """Start nothing more in a rollout until it is resumed; what is in flight goes on."""
    _simple(name, database, yes, Asked(verb=Verb.PAUSE, reason=reason), "paused")


@click.command(cls=Command, examples="tidegate resume simulated/demo")
@click.argument("name")
@_options
def resume(name: str, database: str, yes: bool, reason: str) -> None:
    """Let a paused rollout go on."""
    _simple(name, database, yes, Asked(verb=Verb.RESUME, reason=reason), "resumed")


@click.command(cls=Command, examples="tidegate abort simulated/demo")
@click.argument("name")
@_options
def abort(name: str, database: str, yes: bool, reason: str) -> None:
    """End a rollout; with `onFailure: rollback`, what it touched returns."""
    _simple(name, database, yes, Asked(verb=Verb.ABORT, reason=reason), "aborted")


@click.command(
    cls=Command,
    examples="""
    tidegate retry simulated/demo --failed     the failed targets again
    tidegate retry simulated/demo              everything, from the first group
    """,
)
@click.argument("name")
@click.option("--failed", is_flag=True, help="Only the targets that failed or gave no answer.")
@_options
def retry(name: str, failed: bool, database: str, yes: bool, reason: str) -> None:
    """Try a rollout again."""
    verb = Verb.RETRY_FAILED if failed else Verb.RETRY
    _simple(name, database, yes, Asked(verb=verb, reason=reason), "to be retried:")
