"""`tidegate check`: what a change does to integrations, tried before it is merged."""

import asyncio
import secrets
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import tell_bug
from tidegate.cli.output import FORMATS
from tidegate.cli.render.causes import CauseCount
from tidegate.cli.render.unanswered import Unanswered, told
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.app.check.report import OUR_FAULT, TRY_AGAIN
from tidegate.kinds.integrations.cli.check.text import MARKS, check_lines, failing_before
from tidegate.kinds.integrations.cli.estate import verbose_option
from tidegate.kinds.integrations.cli.revisions import Revisions, revision_options

if TYPE_CHECKING:
    from tidegate.kinds.integrations.app.check.report import CheckReport, CheckScope
    from tidegate.kinds.integrations.app.check.runs import CheckData, CheckResult
    from tidegate.kinds.integrations.cli.check.logs import Logs
    from tidegate.kinds.integrations.core.review.affected import Affected
    from tidegate.kinds.integrations.dry_runs_port import Runner

JOB = "job"
_SETTINGS = (
    "check.runner", "check.command", "check.containerArguments", "check.parallel",
    "check.timeLimit", "check.retries", "check.logs", "kubeconfig", "contexts", "pods",
    "forge", "forgeUrl", "forgeToken",
)  # fmt: skip


@click.command(
    cls=Command,
    examples="""
    tidegate check --base origin/main                       this working tree
    tidegate check --base origin/main --head HEAD --plan    what would be run, and why
    tidegate check --base main --runner podman --parallel 8 --time-limit 5m --logs logs
    tidegate check --base main --command 'run-integration {integration} {arguments}'
    tidegate check --base main --runner job                 on the clusters the shards run on
    """,
)
@revision_options(*_SETTINGS)
@click.option(
    "--integration", "integrations", multiple=True, metavar="NAME", help="Only this integration."
)
@click.option(
    "--environment", "environments", multiple=True, metavar="NAME", help="Only in this environment."
)
@click.option("--plan", is_flag=True, help="Show what would be run, and run nothing.")
@click.option("--status", is_flag=True, help="Set the status of the commit of --head on the forge.")
@verbose_option
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def check(
    compared: Revisions,
    integrations: tuple[str, ...],
    environments: tuple[str, ...],
    plan: bool,
    status: bool,
    output: str,
    verbose: bool,
) -> None:
    """Dry-run the integrations that a change affects, shard by shard.

    Each affected shard is run with the new image and with the old one, on the same data,
    and only new lines are shown. Where the image stays, it runs on the data before and
    after. New errors of the bundle are shown first, and then nothing is run; nor where
    schemas and a version that needs them move at once.

    \b
    Exit codes:
      0   fine; or what fails also fails without the change
      1   the author of the change: it fails with the change and works without it
      75  retry: a flake, an image that cannot be pulled yet, no answer in time
      70  the setup: no runner, or a bug
    """
    from tidegate.kinds.integrations.app.check.report import CheckScope

    if plan and status:
        raise click.UsageError("--plan runs nothing, so there is no --status to tell")
    with _faults():
        click.echo(f"comparing {compared.comparison.words}", err=True)
        compared.comparison.check_folder()
        scope = CheckScope(integrations=integrations, environments=environments)
        if not status:
            _exit(_check(compared, scope, plan, output, verbose).exit_code)
            return
        from tidegate.kinds.integrations.cli.check.status import CommitStatus

        with CommitStatus(compared) as stated:
            report = _check(compared, scope, plan, output, verbose)
            stated.end(report.exit_code, report.summary)
        _exit(report.exit_code or (TRY_AGAIN if stated.lost else 0))


def _exit(code: int) -> None:
    if code:
        raise click.exceptions.Exit(code)


def _check(
    compared: Revisions, scope: "CheckScope", plan: bool, output: str, verbose: bool
) -> "CheckReport":
    """Compare, run what is affected unless only a plan is wanted, and print the report."""
    from tidegate.kinds.integrations.app.check.report import affected_in, check_report, is_refused

    comparison, on_clusters = compared.comparison, compared.settings.check_runner == JOB
    affected = affected_in(comparison, scope, on_clusters=on_clusters)
    refused = is_refused(comparison)
    report = check_report(comparison, affected)
    _tell(compared, report, output)
    if refused or plan or not affected.cases:
        if output != "table" or not refused:
            _show(compared, report, output)
        if refused:
            click.echo("nothing is run until this is fixed", err=True)
        return report
    results, logs = asyncio.run(_run(compared, affected, verbose))
    report = check_report(comparison, affected, results, logs.path)
    _show(compared, report, output)
    if warning := failing_before(report):
        click.echo(f"warning: {warning}", err=True)
    click.echo(report.summary, err=True)
    return report


@contextmanager
def _faults() -> Iterator[None]:
    """What went wrong outside is to be tried again; what went wrong in here is ours."""
    from tidegate.kinds.integrations.dry_runs_port import MissingError
    from tidegate.model.errors import OutsideError, TidegateError

    try:
        yield
    except MissingError as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(OUR_FAULT) from None
    except OutsideError as error:
        click.echo(f"Error: {error}; try again", err=True)
        raise click.exceptions.Exit(TRY_AGAIN) from None
    except (TidegateError, click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except asyncio.CancelledError:
        raise click.Abort from None
    except OSError as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(OUR_FAULT) from None
    except Exception as error:  # noqa: BLE001  a bug must not look like the change's fault
        tell_bug(error)
        raise click.exceptions.Exit(OUR_FAULT) from None


def _tell(compared: Revisions, report: "CheckReport", output: str) -> None:
    """What is newly wrong, before anything else; and what is not known."""
    from tidegate.cli.render import findings

    if report.findings and output == "table":
        click.echo(findings.text(report.findings, compared.comparison.head.tree.prefix))
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
    for text in report.mixed:
        click.echo(f"Error: {text}", err=True)


def _show(compared: Revisions, report: "CheckReport", output: str) -> None:
    from tidegate.cli.output import emit, say, terminal_width, wants_colour

    if output != "table":
        emit(report, output)
        return
    colour = wants_colour(compared.settings.color)
    for line in check_lines(report, terminal_width()):
        say(line, colour)


async def _run(
    compared: Revisions, affected: "Affected", verbose: bool
) -> "tuple[tuple[CheckResult, ...], Logs]":
    """Run everything, with a line for each as it is done."""
    from tidegate.kinds.integrations.app.check.runs import CheckLimits, CheckRuns
    from tidegate.kinds.integrations.cli.check.logs import Logs
    from tidegate.kinds.integrations.core.review.fault import CheckFault
    from tidegate.model.time import SECOND

    settings = compared.settings
    logs = Logs(Path(settings.check_logs))
    limits = CheckLimits(
        parallel=settings.check_parallel,
        retries=settings.check_retries,
        time_s=settings.check_time_limit / SECOND,
    )
    total, count = len(affected.cases), 0
    causes = CauseCount(verbose=verbose)

    def done(result: "CheckResult") -> None:
        nonlocal count
        count += 1
        judgement, case = result.judgement, result.case
        words = f": {judgement.words}" if judgement.words else ""
        line = f"{MARKS[judgement.fault]} {case.shard} {case.head.revision}{words}"
        cause = f"{MARKS[judgement.fault]} {judgement.words}"
        short = case.shard.partition("/")[2]
        if judgement.fault is CheckFault.OK or causes.shows(cause, case.shard, short):
            with bar.paused():
                click.echo(f"{count:>{len(str(total))}}/{total} {line}", err=True)
        bar.tell(1)

    unanswered = Unanswered()
    runner = _runner(compared, unanswered)
    end_on_term()
    click.echo(f"{total} to try, {limits.parallel} at once", err=True)
    try:
        with told(unanswered, "trying", total) as bar, _data(compared, affected, runner) as data:
            checking = CheckRuns(runner, limits, data, logs.write, done, key=secrets.token_hex(4))
            return await checking.all(affected.cases), logs
    finally:
        for line in causes.rest():
            click.echo(line, err=True)
        logs.close()
        await runner.close()


def end_on_term() -> None:
    """On SIGTERM, end the runs before we exit."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _runner(compared: Revisions, unanswered: Unanswered) -> "Runner":
    from tidegate.wiring import outside

    settings = compared.settings
    if settings.check_runner == JOB:
        from tidegate.kinds.integrations.cli.site import Clusters
        from tidegate.kinds.integrations.fleet.dry_jobs import JobRunner

        clusters = Clusters(settings, unanswered.asking)
        return JobRunner(clusters.find, clusters.close)
    arguments = settings.check_container_arguments
    return outside.runner(settings.check_runner, settings.check_command, arguments)


@contextmanager
def _data(compared: Revisions, affected: "Affected", runner: "Runner") -> "Iterator[CheckData]":
    """The bundle on disk, on each side that is read."""
    from tidegate.kinds.integrations.app.check.runs import CheckData
    from tidegate.wiring import repositories

    if not runner.reads_data:
        yield CheckData()
        return
    with tempfile.TemporaryDirectory(prefix="tidegate-check-") as folder:
        base = head = ""
        if any(case.base is not None and not case.moves_image for case in affected.cases):
            base = str(Path(folder, "base"))
            repositories.write_out(
                compared.folder, str(compared.comparison.base.commit), Path(base)
            )
        if compared.comparison.head.commit is None:
            head = str(compared.folder.resolve())
        else:
            head = str(Path(folder, "head"))
            repositories.write_out(compared.folder, compared.comparison.head.commit, Path(head))
        yield CheckData(base, head)
