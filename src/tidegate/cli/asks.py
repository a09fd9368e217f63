"""`approve`, `revoke`, `pause`, `resume`, `abort`, `retry`: what people ask of a rollout.

Each shows what it reaches before it does anything, and writes one fact, with who and why.
"""

import functools
from typing import Any

import click
import msgspec

from tidegate.cli.live import Live, ask, confirmed, find_rollout, opened
from tidegate.cli.moment import ahead
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.journal.facts import Asked, Verb
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant
from tidegate.wiring import clock


def _options(command: Any) -> Any:
    """What every asking command takes."""
    command = click.option("--reason", default="", help="Why; kept in the journal.")(command)
    command = click.option("--yes", is_flag=True, help="Do not ask.")(command)
    return database_option(command)


class Whom(msgspec.Struct, frozen=True):
    """What an answer is about: groups of the rollout, or approval gates over it."""

    groups: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()


def _whom(command: Any) -> Any:
    """The options that say what an answer is about."""

    @functools.wraps(command)
    def with_whom(groups: tuple[str, ...], gates: tuple[str, ...], **rest: Any) -> Any:
        if not groups and not gates:
            raise click.UsageError("what is it about? --group NAME or --gate NAME")
        return command(whom=Whom(groups, gates), **rest)

    with_whom = click.option("--gate", "gates", multiple=True, help="An approval gate.")(with_whom)
    return click.option("--group", "groups", multiple=True, help="A group; repeatable.")(with_whom)


@click.command(
    cls=Command,
    examples="""
    tidegate approve simulated/demo --group prod --reason "stage looks good"
    tidegate approve simulated/demo --group prod --standing
    tidegate approve simulated/demo --gate change-board --expires 2h
    """,
)
@click.argument("name")
@_whom
@click.option("--standing", is_flag=True, help="For every revision to come, not only this one.")
@click.option("--expires", metavar="WHEN", help="Of an answer at a gate: 2h, 3d, or a time.")
@_options
def approve(
    name: str,
    whom: Whom,
    standing: bool,
    expires: str | None,
    database: str,
    yes: bool,
    reason: str,
) -> None:
    """Approve groups, or answer at an approval gate, for the current revision."""
    if standing and whom.gates:
        raise click.UsageError("--standing is for groups; at a gate every revision is asked anew")
    if expires and whom.groups:
        raise click.UsageError("--expires is for gates; take a group's approval back with `revoke`")
    until = ahead("--expires", expires, clock().now()) if expires else None
    _answer(name, whom, Verb.APPROVE, database, yes, reason, standing=standing, expires_at=until)


@click.command(
    cls=Command,
    examples='tidegate reject simulated/demo --gate change-board --reason "not on a Friday"',
)
@click.argument("name")
@_whom
@_options
def reject(name: str, whom: Whom, database: str, yes: bool, reason: str) -> None:
    """Reject the current revision: one rejection at a gate stops it, regardless of approvals."""
    _answer(name, whom, Verb.REJECT, database, yes, reason)


@click.command(
    cls=Command,
    examples="""
    tidegate revoke simulated/demo --group prod
    tidegate revoke simulated/demo --gate change-board
    """,
)
@click.argument("name")
@_whom
@_options
def revoke(name: str, whom: Whom, database: str, yes: bool, reason: str) -> None:
    """Withdraw your approvals: nothing new starts, targets in progress finish."""
    _answer(name, whom, Verb.REVOKE, database, yes, reason)


def _answer(
    name: str,
    whom: Whom,
    verb: Verb,
    database: str,
    yes: bool,
    reason: str,
    *,
    standing: bool = False,
    expires_at: Instant | None = None,
) -> None:
    """Show what an answer reaches, and write it down for the revision under way."""
    with opened(database, writes=True) as store:
        live = find_rollout(store, name)
        reach = _reach(live, whom)
        version = None if standing else live.plan.course.version
        names = ", ".join((*whom.groups, *whom.gates))
        what = "every revision" if standing else f"{version or 'a revision without a name'}"
        confirmed(f"{live.partition}: {names}, {reach} targets, {what}", reach, yes)
        fact = Asked(
            verb=verb,
            groups=whom.groups,
            gates=whom.gates,
            version=version,
            expires_at=expires_at,
            reason=reason,
        )
        ask(store, live, fact)
    click.echo(f"{_DONE[verb]} {names} for {what}")


_DONE = {Verb.APPROVE: "approved", Verb.REJECT: "rejected", Verb.REVOKE: "revoked"}


def _reach(live: Live, whom: Whom) -> int:
    """How many targets an answer is about; a misspelt name gets the nearest one."""
    groups = {group.name or "ungrouped": group.size for group in live.world.groups}
    for group in whom.groups:
        if group not in groups:
            hint = nearest_or_all(group, sorted(groups))
            raise click.UsageError(f'no group "{group}" in {live.partition}; {hint}')
    asked = live.world.brakes.approvals if live.world.brakes is not None else ()
    gates = {gate.name for gate in asked}
    for gate in whom.gates:
        if gate not in gates:
            hint = nearest_or_all(gate, sorted(gates))
            raise click.UsageError(f'no approval gate "{gate}" over {live.partition}; {hint}')
    if whom.gates:
        return len(live.world.targets)
    return sum(groups[group] for group in whom.groups)


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
    """Start no more targets of a rollout until it is resumed; targets in progress finish."""
    _simple(name, database, yes, Asked(verb=Verb.PAUSE, reason=reason), "paused")


@click.command(cls=Command, examples="tidegate resume simulated/demo")
@click.argument("name")
@_options
def resume(name: str, database: str, yes: bool, reason: str) -> None:
    """Continue a paused rollout."""
    _simple(name, database, yes, Asked(verb=Verb.RESUME, reason=reason), "resumed")


@click.command(cls=Command, examples="tidegate abort simulated/demo")
@click.argument("name")
@_options
def abort(name: str, database: str, yes: bool, reason: str) -> None:
    """End a rollout; with `onFailure: rollback`, changed targets return."""
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
    """Retry a rollout."""
    verb = Verb.RETRY_FAILED if failed else Verb.RETRY
    _simple(name, database, yes, Asked(verb=verb, reason=reason), "to be retried:")
