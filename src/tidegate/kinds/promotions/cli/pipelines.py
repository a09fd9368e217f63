"""`tidegate promotions`: report deployments and evidence, lift a quarantine."""

from typing import TYPE_CHECKING

import click

from tidegate.cli.answers.place import AnswerPlace, answers_option
from tidegate.cli.moment import moment
from tidegate.cli.output import emit
from tidegate.cli.prompt import sure
from tidegate.cli.shape import Act, LazyGroup
from tidegate.model.counted import counted
from tidegate.wiring import clock

if TYPE_CHECKING:
    from tidegate.model.document import Document

_HERE = "tidegate.kinds.promotions.cli.pipelines"
_SUSPECTS = "tidegate.kinds.promotions.cli.suspects"
_FORMATS = click.Choice(("text", "json", "yaml"))
_PIPELINE = click.option(
    "--pipeline", metavar="NAME", required=True, help="The name of the pipeline."
)
_REASON = click.option("--reason", required=True, help="Why; kept in the journal.")
_GOOD = click.option(
    "--good/--bad", "good", required=True, help="Whether the result was good or bad."
)


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "suspects": (f"{_SUSPECTS}:suspects", "List the commits that may have broken a version"),
        "lift": (f"{_HERE}:lift", "Let a version go on that failed"),
        "deployed": (f"{_HERE}:deployed", "Report that a target was deployed, well or not"),
        "evidence": (f"{_HERE}:evidence", "Report a result of a version"),
    },
    examples="""
    tidegate promotions suspects 003d132
    tidegate promotions lift 003d132 --pipeline payments --reason "the node was full"
    tidegate promotions evidence 003d132 load-test --good --pipeline payments
    """,
    epilog="""The pipelines themselves: `tidegate status`, `get promotions --recorded`, `why`,
    `when`, `approve`, `pause`, `retry`.""",
)
def promotions() -> None:
    """What is reported of versions in pipelines, and what is done about those that failed."""


@click.command(
    cls=Act,
    examples='tidegate promotions lift 003d132 --pipeline payments --reason "the node was full"',
)
@click.argument("version")
@_PIPELINE
@_REASON
@click.option("--yes", is_flag=True, help="Do not ask.")
@answers_option
def lift(version: str, pipeline: str, reason: str, yes: bool, place: AnswerPlace) -> None:
    """Lift the quarantine of a version that failed; it may then be promoted again.

    A service holds the role that the pipeline names against the person who asks; a journal on this
    machine has no logins, so there it is recorded unchecked.
    """
    from tidegate.kinds.promotions.cli.answers import pipeline_answers

    with pipeline_answers(place, writes=True) as answers:
        ready = answers.prepare_lift(pipeline, version, reason)
        report = ready.report
        waiting = counted(len(report.waiting), "subscriber")
        sure(f"{report.version[:7]} failed on {report.target}; let {waiting} get it?", yes)
        report = ready.record()
    click.echo(f"lifted: {report.version[:7]}, {waiting} waited for it")
    if not ready.checked:
        what = f"recorded unchecked: the pipeline asks for the role {report.role}"
        click.echo(f"{what}; a journal on this machine has no logins", err=True)


@click.command(
    cls=Act,
    examples="""
    tidegate promotions deployed saas-payments:api:stage:stage-1:payments-stage \\
      003d132f80e78e4ee79624452ffa5aa9fde8b7ae --good --pipeline payments
    """,
)
@click.argument("target")
@click.argument("version")
@_GOOD
@_PIPELINE
@click.option(
    "--at", "when", default="", metavar="TIME", help="When it was deployed; default: now."
)
@click.option("--reason", default="", help="What went wrong; kept in the journal.")
@click.option("-o", "--output", type=_FORMATS, default="text", show_default=True)
@answers_option
def deployed(
    target: str,
    version: str,
    good: bool,
    pipeline: str,
    when: str,
    reason: str,
    output: str,
    place: AnswerPlace,
) -> None:
    """Report that a target was deployed, well or not. One that failed is quarantined.

    A deployment pipeline without this command reports by POST /api/v1/deployed/channels/NAME.
    """
    from tidegate.kinds.promotions.cli.answers import pipeline_answers

    at = moment("--at", when, clock().now()) if when else None
    with pipeline_answers(place, writes=True) as answers:
        found = answers.deployed(pipeline, target, version, at, good=good, why=reason)
    _tell(found, f"recorded: {target} {version[:7]} {'good' if good else 'failed'}", output)


@click.command(
    cls=Act,
    examples="tidegate promotions evidence 003d132 load-test --good --pipeline payments",
)
@click.argument("version")
@click.argument("name")
@_GOOD
@_PIPELINE
@click.option("--reason", default="", help="What was seen; kept in the journal.")
@click.option("-o", "--output", type=_FORMATS, default="text", show_default=True)
@answers_option
def evidence(
    version: str, name: str, good: bool, pipeline: str, reason: str, output: str, place: AnswerPlace
) -> None:
    """Report a result of a version, under a name that the pipeline asks for."""
    from tidegate.kinds.promotions.cli.answers import pipeline_answers

    with pipeline_answers(place, writes=True) as answers:
        found = answers.evidence(pipeline, version, name, good=good, reason=reason)
    _tell(found, f"recorded: {name} of {version[:7]} {'good' if good else 'bad'}", output)


def _tell(found: "Document", text: str, output: str) -> None:
    if output == "text":
        click.echo(text)
    else:
        emit(found, output)
