"""`tidegate check`: what a change does to integrations, tried before anybody merges it."""

import asyncio
import secrets
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tidegate.cli.main import FAILURE, tell_bug
from tidegate.cli.output import FORMATS
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.cli.revisions import Revisions, revision_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.kinds.integrations.app.checking import Data, Result
    from tidegate.kinds.integrations.cli.check_logs import Logs
    from tidegate.kinds.integrations.core.review.affected import Affected
    from tidegate.kinds.integrations.dry_runs_port import Runner

# As sysexits.h has them: a fault of ours, and one that may be gone next time.
OURS, RETRY = 70, 75
ENV_FILE = ".env"
JOB = "job"
NOBODY = "no integration is affected"
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
@click.option("--integration", "integrations", multiple=True, metavar="NAME", help="Only this one.")
@click.option("--environment", "environments", multiple=True, metavar="NAME", help="Only there.")
@click.option("--plan", is_flag=True, help="Say what would be run, and run nothing.")
@click.option("--status", is_flag=True, help="Set the status of the commit of --head on the forge.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def check(
    compared: Revisions,
    integrations: tuple[str, ...],
    environments: tuple[str, ...],
    plan: bool,
    status: bool,
    output: str,
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
    if plan and status:
        raise click.UsageError("--plan runs nothing, so there is no --status to tell")
    with _faults():
        click.echo(f"comparing {compared.told}", err=True)
        compared.check_folder()
        meant = _Meant(integrations, environments)
        if not status:
            _exit(_check(compared, meant, plan, output)[0])
            return
        from tidegate.kinds.integrations.cli.check_status import CommitStatus

        with CommitStatus(compared) as told:
            code, words = _check(compared, meant, plan, output)
            told.end(code, words)
        _exit(code or (RETRY if told.lost else 0))


class _Meant(NamedTuple):
    """Which part of what is affected is meant; nothing named means everything."""

    integrations: tuple[str, ...]
    environments: tuple[str, ...]

    def takes(self, integration: str, environment: str) -> bool:
        """Whether a shard is."""
        return (not self.integrations or integration in self.integrations) and (
            not self.environments or environment in self.environments
        )


def _exit(code: int) -> None:
    if code:
        raise click.exceptions.Exit(code)


def _check(compared: Revisions, meant: _Meant, plan: bool, output: str) -> tuple[int, str]:
    """The exit code, and what it comes to in a sentence."""
    affected = _affected(compared, meant)
    _tell(compared, output)
    if compared.new_errors or compared.mixed:
        if output != "table":
            _show(compared, affected, None, FAILURE, output)
        click.echo("nothing is run until this is mended", err=True)
        wrong = (
            "new errors in the bundle" if compared.new_errors else "schemas and images move at once"
        )
        return FAILURE, wrong
    if plan or not affected.cases:
        _show(compared, affected, None, 0, output)
        return 0, NOBODY
    results, logs = asyncio.run(_run(compared, affected))
    code = exit_code(results)
    _show(compared, affected, results, code, output, logs)
    return code, _end(results, code)


@contextmanager
def _faults() -> Iterator[None]:
    """What went wrong outside is to be tried again; what went wrong in here is ours."""
    from tidegate.kinds.integrations.dry_runs_port import MissingError
    from tidegate.model.errors import OutsideError, TidegateError

    try:
        yield
    except MissingError as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(OURS) from None
    except OutsideError as error:
        click.echo(f"Error: {error}; try again", err=True)
        raise click.exceptions.Exit(RETRY) from None
    except (TidegateError, click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except asyncio.CancelledError:
        raise click.Abort from None
    except OSError as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(OURS) from None
    except Exception as error:  # noqa: BLE001  a bug must not look like the change's fault
        tell_bug(error)
        raise click.exceptions.Exit(OURS) from None


def _affected(compared: Revisions, meant: _Meant) -> "Affected":
    """What is affected of what is meant, as far as the runner can try it."""
    from tidegate.kinds.integrations.core.review.affected import (
        Affected,
        View,
        affected_by,
        tag_in,
        without_data,
    )
    from tidegate.model.problem import nearest_or_all

    known = [each.name for each in compared.head.bundle.integrations]
    for name in meant.integrations:
        if name not in known:
            hint = nearest_or_all(name, known)
            raise click.UsageError(f'no integration "{name}"; {hint}')
    texts = [(raw or b"").decode(errors="replace") for raw in compared.root_file(ENV_FILE)]
    base, head = (
        View(
            estate=side.estate,
            integrations=side.bundle.integrations,
            inventories=side.bundle.inventories,
            tag=tag_in(text),
        )
        for side, text in zip((compared.base, compared.head), texts, strict=True)
    )
    found = affected_by(base, head, compared.effects, compared.changed_schemas)
    cases = (each for each in found.cases if meant.takes(each.integration, each.environment))
    skipped = (each for each in found.skipped if meant.takes(each.integration, each.environment))
    chosen = Affected(tuple(cases), tuple(skipped))
    return without_data(chosen) if compared.settings.check_runner == JOB else chosen


def _tell(compared: Revisions, output: str) -> None:
    """What is newly wrong, before anything else; and what nobody could tell."""
    from tidegate.cli import findings

    new = compared.new_findings
    if new and output == "table":
        click.echo(findings.text(new, compared.head.tree.prefix))
    for problem in compared.head.troubles:
        click.echo(f"warning: {problem.text()}", err=True)
    if compared.mixed_trouble:
        click.echo(f"warning: {compared.mixed_trouble}", err=True)
    for text in compared.mixed:
        click.echo(f"Error: {text}", err=True)
    if compared.effects.unknown:
        what = "workloads are not known to be there any more: the bundle has errors"
        click.echo(f"warning: {compared.effects.unknown} {what}", err=True)


def _show(
    compared: Revisions,
    affected: "Affected",
    results: "Sequence[Result] | None",
    code: int,
    output: str,
    logs: "Logs | None" = None,
) -> None:
    from tidegate.cli.output import emit, say, terminal_width, wants_colour
    from tidegate.kinds.integrations.cli import check_text

    if output != "table":
        path = logs.path if logs is not None else None
        emit(check_text.as_data(compared, affected, results, code, path), output)
        return
    width, colour = terminal_width(), wants_colour(compared.settings.color)
    if not affected.cases:
        lines = [NOBODY, *check_text.skipped_lines(affected)]
    elif results is None:
        lines = check_text.plan_table(affected, width)
    else:
        assert logs is not None
        lines = check_text.result_table(results, affected, width)
        lines += check_text.detail_lines(results, logs.path)
    for line in lines:
        say(line, colour)


async def _run(compared: Revisions, affected: "Affected") -> "tuple[tuple[Result, ...], Logs]":
    """Run everything, with a line for each as it is done."""
    from tidegate.kinds.integrations.app.checking import Checking, Limits
    from tidegate.kinds.integrations.cli.check_logs import Logs
    from tidegate.kinds.integrations.cli.check_text import MARKS
    from tidegate.model.time import SECOND

    settings = compared.settings
    logs = Logs(Path(settings.check_logs))
    limits = Limits(
        parallel=settings.check_parallel,
        retries=settings.check_retries,
        time_s=settings.check_time_limit / SECOND,
    )
    total, count = len(affected.cases), 0

    def done(result: "Result") -> None:
        nonlocal count
        count += 1
        judgement, case = result.judgement, result.case
        words = f": {judgement.words}" if judgement.words else ""
        line = f"{MARKS[judgement.fault]} {case.shard} {case.head.revision}{words}"
        click.echo(f"{count:>{len(str(total))}}/{total} {line}", err=True)

    runner = _runner(compared)
    end_on_term()
    click.echo(f"{total} to try, {limits.parallel} at once", err=True)
    try:
        with _data(compared, affected, runner) as data:
            checking = Checking(runner, limits, data, logs.write, done, key=secrets.token_hex(4))
            return await checking.all(affected.cases), logs
    finally:
        logs.close()
        await runner.close()


def end_on_term() -> None:
    """Told to end, we end what we began before we go."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _runner(compared: Revisions) -> "Runner":
    from tidegate import wiring

    settings = compared.settings
    if settings.check_runner == JOB:
        from tidegate.kinds.integrations.app.dry_jobs import JobRunner
        from tidegate.kinds.integrations.cli.site import Clusters

        clusters = Clusters(settings)
        return JobRunner(clusters.find, clusters.close)
    arguments = settings.check_container_arguments
    return wiring.runner(settings.check_runner, settings.check_command, arguments)


@contextmanager
def _data(compared: Revisions, affected: "Affected", runner: "Runner") -> "Iterator[Data]":
    """The bundle on disk, on each side that somebody reads."""
    from tidegate import wiring
    from tidegate.kinds.integrations.app.checking import Data

    if not runner.reads_data:
        yield Data()
        return
    with tempfile.TemporaryDirectory(prefix="tidegate-check-") as folder:
        base = head = ""
        if any(case.base is not None and not case.moves_image for case in affected.cases):
            base = str(Path(folder, "base"))
            wiring.write_out(compared.folder, str(compared.base.commit), Path(base))
        if compared.head.commit is None:
            head = str(compared.folder.resolve())
        else:
            head = str(Path(folder, "head"))
            wiring.write_out(compared.folder, compared.head.commit, Path(head))
        yield Data(base, head)


def exit_code(results: "Sequence[Result]") -> int:
    """By whose fault: who wrote the change first, then whoever set this up, then nobody."""
    from tidegate.kinds.integrations.core.review.fault import Fault

    faults = {each.judgement.fault for each in results}
    if Fault.CHANGE in faults:
        return FAILURE
    if Fault.OURS in faults:
        return OURS
    return RETRY if faults & {Fault.FLAKE, Fault.OUTSIDE} else 0


_BLAME = {
    FAILURE: "it is the change",
    OURS: "it is not the change: the runner could not run it",
    RETRY: "it may not be the change: try again",
}


def _end(results: "Sequence[Result]", code: int) -> str:
    """What everything came to, told and in a sentence."""
    from tidegate.kinds.integrations.cli.check_text import summary
    from tidegate.kinds.integrations.core.review.fault import Fault

    base = sum(each.judgement.fault is Fault.BASE for each in results)
    if base:
        nothing = "; nothing was learnt about it" if base == len(results) else ""
        what = f"without the change, too: not its fault{nothing}"
        click.echo(f"warning: {base} of {len(results)} fail {what}", err=True)
    blame = f"; {_BLAME[code]}" if code else ""
    words = f"{summary(results)}{blame}"
    click.echo(words, err=True)
    return words
