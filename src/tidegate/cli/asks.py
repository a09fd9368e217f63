"""`approve`, `reject`, `revoke`, `pause`, `resume`, `abort`, `retry`: for partitions of every kind.

Each shows what it covers before it does anything, and records one fact with actor and reason.
"""

import functools
from typing import Any

import click
from msgspec.structs import replace

from tidegate.app.asks import OperatorRequest
from tidegate.app.text.ask_text import answered_words, ask_line
from tidegate.cli.answers.place import AnswerPlace, answering, answers_option
from tidegate.cli.live import confirmed
from tidegate.cli.moment import ahead
from tidegate.cli.prompt import ALWAYS, FREE
from tidegate.cli.render.worker_text import tell_unattended
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Act
from tidegate.explain.names import ranged
from tidegate.journal.facts import Verb
from tidegate.kind_table import change_lines
from tidegate.settings.settings import Merged
from tidegate.wiring import clock


def _options(command: Any) -> Any:
    """What every asking command takes."""
    command = click.option("--reason", default="", help="Why; kept in the journal.")(command)
    command = click.option("--yes", is_flag=True, help="Do not ask.")(command)
    return answers_option(command)


def _about(command: Any) -> Any:
    """The options that say what an answer is about."""

    @functools.wraps(command)
    def with_about(
        groups: tuple[str, ...], gates: tuple[str, ...], version: str, **rest: Any
    ) -> Any:
        asked = OperatorRequest(verb=Verb.APPROVE, groups=groups, gates=gates, version=version)
        return command(request=asked, **rest)

    with_about = click.option(
        "--version", default="", help="At a gate: which version, if several wait."
    )(with_about)
    with_about = click.option(
        "--gate", "gates", multiple=True, help="The approval gate; repeatable."
    )(with_about)
    return click.option("--group", "groups", multiple=True, help="The group; repeatable.")(
        with_about
    )


@click.command(
    cls=Act,
    examples="""
    tidegate approve simulated/demo --group prod --reason "stage looks good"
    tidegate approve simulated/demo --group prod --standing
    tidegate approve simulated/demo --gate change-board --expires 2h
    tidegate approve upgrades/prod/o-payments --gate change-board --version 4.16.5
    """,
)
@click.argument("name")
@_about
@click.option(
    "--standing", is_flag=True, help="Approve every later revision too, not only this one."
)
@click.option("--expires", metavar="WHEN", help="Of an answer at a gate: 2h, 3d, or a time.")
@settings_options("hub", "policies")
@_options
def approve(
    name: str,
    request: OperatorRequest,
    standing: bool,
    expires: str | None,
    merged: Merged,
    place: AnswerPlace,
    yes: bool,
    reason: str,
) -> None:
    """Approve groups, or answer at an approval gate, for the current revision.

    Shows the targets that it lets in, by name. Of a policy it shows what the revision changes, too,
    if --hub is set.
    """
    until = ahead("--expires", expires, clock().now()) if expires else None
    asked = replace(request, standing=standing, expires_at=until, reason=reason)
    _answer(name, asked, place, yes, merged)


@click.command(
    cls=Act,
    examples='tidegate reject simulated/demo --gate change-board --reason "not on a Friday"',
)
@click.argument("name")
@_about
@_options
def reject(name: str, request: OperatorRequest, place: AnswerPlace, yes: bool, reason: str) -> None:
    """Reject the current revision: one rejection at a gate stops it, regardless of approvals."""
    _answer(name, replace(request, verb=Verb.REJECT, reason=reason), place, yes)


@click.command(
    cls=Act,
    examples="""
    tidegate revoke simulated/demo --group prod
    tidegate revoke simulated/demo --gate change-board
    """,
)
@click.argument("name")
@_about
@_options
def revoke(name: str, request: OperatorRequest, place: AnswerPlace, yes: bool, reason: str) -> None:
    """Withdraw your approvals: nothing new starts, targets in progress finish."""
    _answer(name, replace(request, verb=Verb.REVOKE, reason=reason), place, yes)


def _answer(
    name: str, asked: OperatorRequest, place: AnswerPlace, yes: bool, merged: Merged | None = None
) -> None:
    """Show what an answer reaches, and record it for the revision under way."""
    with answering(place, writes=True) as answers:
        ready = answers.prepare(name, asked)
        report = ready.report
        stops = asked.verb in (Verb.REJECT, Verb.REVOKE)
        if merged is not None:
            for line in change_lines(report.rollout, report.version, merged.settings()):
                click.echo(line, err=True)
        if report.reaches:
            click.echo(f"lets in: {ranged(report.reaches, None)}", err=True)
        confirmed(ask_line(report, standing=asked.standing), report.targets, yes, stops=stops)
        ready.record()
    names = ", ".join((*report.groups, *report.gates))
    click.echo(f"{_DONE[asked.verb]} {names} for {answered_words(report, standing=asked.standing)}")
    tell_unattended([report.worker])


_DONE = {Verb.APPROVE: "approved", Verb.REJECT: "rejected", Verb.REVOKE: "revoked"}


def _simple(
    name: str,
    place: AnswerPlace,
    yes: bool,
    asked: OperatorRequest,
    word: str,
    *,
    free: int = FREE,
    stops: bool = False,
) -> None:
    with answering(place, writes=True) as answers:
        ready = answers.prepare(name, asked)
        report = ready.report
        moved = max(report.leads_to.moved, report.waiting)
        confirmed(ask_line(report), moved, yes, free, stops=stops)
        ready.record()
    groups = f" ({', '.join(asked.groups)})" if asked.groups else ""
    click.echo(f"{word} {report.rollout}{groups}")
    tell_unattended([report.worker])


@click.command(
    cls=Act,
    examples="""
    tidegate pause simulated/demo --reason "incident 42"
    tidegate pause upgrades/prod/o-payments  the upgrades of an organisation
    tidegate pause promotions/jenkins        the offers of a promotion
    """,
)
@click.argument("name")
@_options
def pause(name: str, place: AnswerPlace, yes: bool, reason: str) -> None:
    """Start no more targets of a rollout until it is resumed; targets in progress finish.

    NAME is a rollout of any kind, as `tidegate get rollouts` lists it.
    """
    _simple(name, place, yes, OperatorRequest(verb=Verb.PAUSE, reason=reason), "paused", stops=True)


@click.command(cls=Act, examples="tidegate resume simulated/demo")
@click.argument("name")
@_options
def resume(name: str, place: AnswerPlace, yes: bool, reason: str) -> None:
    """Continue a paused rollout."""
    _simple(name, place, yes, OperatorRequest(verb=Verb.RESUME, reason=reason), "resumed")


@click.command(cls=Act, examples="tidegate abort simulated/demo")
@click.argument("name")
@_options
def abort(name: str, place: AnswerPlace, yes: bool, reason: str) -> None:
    """End a rollout; with `onFailure: rollback`, changed targets return.

    Asks always; without a terminal, --yes is required.
    """
    asked = OperatorRequest(verb=Verb.ABORT, reason=reason)
    _simple(name, place, yes, asked, "aborted", free=ALWAYS)


@click.command(
    cls=Act,
    examples="""
    tidegate retry simulated/demo --failed     the failed targets again
    tidegate retry simulated/demo              everything, from the first group
    tidegate retry simulated/demo --group dev  everything in one group
    """,
)
@click.argument("name")
@click.option("--failed", is_flag=True, help="Only the targets that failed or gave no answer.")
@click.option("--group", "groups", multiple=True, help="Only a group; repeatable.")
@_options
def retry(
    name: str, failed: bool, groups: tuple[str, ...], place: AnswerPlace, yes: bool, reason: str
) -> None:
    """Retry a rollout: all of it, some groups, or what failed.

    Groups after a group that is retried wait for it, as in any rollout.
    """
    verb = Verb.RETRY_FAILED if failed else Verb.RETRY
    asked = OperatorRequest(verb=verb, groups=groups, reason=reason)
    _simple(name, place, yes, asked, "to be retried:")
