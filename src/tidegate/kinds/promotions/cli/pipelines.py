"""`tidegate promotions`: report deployments and evidence, lift a quarantine."""

from typing import TYPE_CHECKING

import click

from tidegate.cli.live import actor, journals, opened
from tidegate.cli.moment import moment
from tidegate.cli.output import emit
from tidegate.cli.prompt import sure
from tidegate.cli.setting_options import setting_option
from tidegate.cli.shape import Act, LazyGroup
from tidegate.model.counted import counted

if TYPE_CHECKING:
    from tidegate.model.document import Document

_HERE = "tidegate.kinds.promotions.cli.pipelines"
_SUSPECTS = "tidegate.kinds.promotions.cli.suspects"
_FORMATS = click.Choice(("text", "json", "yaml"))
_PIPELINE = click.option("--pipeline", metavar="NAME", required=True, help="Which pipeline.")
_REASON = click.option("--reason", required=True, help="Why; kept in the journal.")
_GOOD = click.option("--good/--bad", "good", required=True, help="How it went.")


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
@setting_option("database")
def lift(version: str, pipeline: str, reason: str, yes: bool, database: str) -> None:
    """Lift the quarantine of a version that failed; it may then be promoted again."""
    from tidegate.kinds.promotions.app.pipelines.reports import (
        QuarantineReport,
        lift_quarantine,
        pipeline_of,
        record_report,
    )

    with opened(database, writes=True) as store:
        known = journals(store)
        ready = lift_quarantine(pipeline_of(known, pipeline), version, reason)
        report = ready.report
        assert isinstance(report, QuarantineReport)
        waiting = counted(len(report.waiting), "subscriber")
        sure(f"{report.version[:7]} failed on {report.target}; let {waiting} get it?", yes)
        record_report(known, ready, actor())
    click.echo(f"lifted: {report.version[:7]}, {waiting} waited for it")


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
@click.option("--at", "when", default="", metavar="TIME", help="When; now, if left out.")
@click.option("--reason", default="", help="What went wrong; kept in the journal.")
@click.option("-o", "--output", type=_FORMATS, default="text", show_default=True)
@setting_option("database")
def deployed(
    target: str,
    version: str,
    good: bool,
    pipeline: str,
    when: str,
    reason: str,
    output: str,
    database: str,
) -> None:
    """Report that a target was deployed, well or not. One that failed is quarantined.

    A deployment pipeline reports to a service instead: POST /api/v1/deployed/channels/NAME.
    """
    from tidegate.kinds.promotions.app.pipelines.reports import (
        pipeline_of,
        record_report,
        report_deployment,
    )

    with opened(database, writes=True) as store:
        known = journals(store)
        one = pipeline_of(known, pipeline)
        at = moment("--at", when, known.now) if when else None
        ready = report_deployment(known, one, target, version, at, good=good, why=reason)
        found = record_report(known, ready, actor())
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
@setting_option("database")
def evidence(
    version: str, name: str, good: bool, pipeline: str, reason: str, output: str, database: str
) -> None:
    """Report a result of a version, under a name that the pipeline asks for."""
    from tidegate.kinds.promotions.app.pipelines.reports import (
        pipeline_of,
        record_report,
        report_evidence,
    )

    with opened(database, writes=True) as store:
        known = journals(store)
        one = pipeline_of(known, pipeline)
        ready = report_evidence(one, version, name, good=good, reason=reason)
        found = record_report(known, ready, actor())
    _tell(found, f"recorded: {name} of {version[:7]} {'good' if good else 'bad'}", output)


def _tell(found: "Document", text: str, output: str) -> None:
    if output == "text":
        click.echo(text)
    else:
        emit(found, output)
