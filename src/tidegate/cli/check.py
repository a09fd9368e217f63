"""`tidegate check`: what a change does to integrations, tried before anybody merges it."""

import asyncio
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE, tell_bug
from tidegate.cli.output import FORMATS
from tidegate.cli.revisions import Revisions, revision_options
from tidegate.cli.shape import Command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.cli.check_logs import Logs
    from tidegate.core.integrations.affected import Affected
    from tidegate.engine.integrations.checking import Data, Result
    from tidegate.ports.dry_runs import Runner

# As sysexits.h has them: a fault of ours, and one that may be gone next time.
OURS, RETRY = 70, 75
ENV_FILE = ".env"
_SETTINGS = (
    "check.runner", "check.command", "check.containerArguments", "check.parallel",
    "check.timeLimit", "check.retries", "check.logs", "kubeconfig", "contexts", "pods",
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
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def check(
    compared: Revisions,
    integrations: tuple[str, ...],
    environments: tuple[str, ...],
    plan: bool,
    output: str,
) -> None:
    """Try what a change does to integrations: every shard it affects, in dry run.

    Each affected shard is run with the image it will have beside the one it had, on the same data,
    and only the lines that are new are shown. Where the image stays, it runs on the data before and
    after. What is newly wrong with the bundle is shown first, and then nothing is run; nor where
    schemas and what needs them move at once.

    \b
    Exit codes, by who must act:
      0   fine; or what fails, fails without the change, too
      1   the author of the change: it fails with the change and works without it
      75  whoever can press retry: a flake, an image that cannot be had yet, no answer in time
      70  whoever set this up: no runner, or a bug
    """
    from tidegate.core.integrations.affected import without_data

    with _faults():
        click.echo(f"comparing {compared.told}", err=True)
        affected = _affected(compared, integrations, environments)
        if compared.settings.check_runner == "job":
            affected = without_data(affected)
        _tell(compared, output)
        if compared.new_errors or compared.mixed:
            if output != "table":
                _show(compared, affected, None, FAILURE, output)
            click.echo("nothing is run until this is mended", err=True)
            raise click.exceptions.Exit(FAILURE)
        if plan or not affected.cases:
            _show(compared, affected, None, 0, output)
            return
        results, logs = asyncio.run(_run(compared, affected))
        code = exit_code(results)
        _show(compared, affected, results, code, output, logs)
        _end(results, code)


@contextmanager
def _faults() -> Iterator[None]:
    """What went wrong outside is to be tried again; what went wrong in here is ours."""
    from tidegate.core.errors import OutsideError, TidegateError
    from tidegate.ports.dry_runs import MissingError

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
    except OSError as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(OURS) from None
    except Exception as error:  # noqa: BLE001  a bug must not look like the change's fault
        tell_bug(error)
        raise click.exceptions.Exit(OURS) from None


def _affected(
    compared: Revisions, integrations: tuple[str, ...], environments: tuple[str, ...]
) -> "Affected":
    """What is affected of what is meant."""
    import msgspec

    from tidegate.core.integrations.affected import Affected, View, affected_by, tag_in
    from tidegate.core.model.problem import nearest_or_all

    known = [each.name for each in compared.head.bundle.integrations]
    for name in integrations:
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

    def meant(one: "msgspec.Struct") -> bool:
        return getattr(one, "integration", "") in (integrations or known) and (
            not environments or getattr(one, "environment", "") in environments
        )

    return Affected(tuple(filter(meant, found.cases)), tuple(filter(meant, found.skipped)))


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
    from tidegate.cli import check_text
    from tidegate.cli.output import emit, say, terminal_width, wants_colour

    if output != "table":
        emit(check_text.as_data(compared, affected, results, code), output)
        return
    width, colour = terminal_width(), wants_colour(compared.settings.color)
    if not affected.cases:
        lines = ["no integration is affected", *check_text.skipped_lines(affected)]
    elif results is None:
        lines = check_text.plan_table(affected, width)
    else:
        assert logs is not None
        paths = {(case.integration, case.head.revision): logs.path(case) for case in affected.cases}
        lines = check_text.result_table(results, affected, width)
        lines += check_text.detail_lines(results, paths)
    for line in lines:
        say(line, colour)


async def _run(compared: Revisions, affected: "Affected") -> "tuple[tuple[Result, ...], Logs]":
    """Run everything, with a line for each as it is done."""
    from tidegate.cli.check_logs import Logs
    from tidegate.cli.check_text import MARKS
    from tidegate.core.model.time import SECOND
    from tidegate.engine.integrations.checking import Checking, Limits

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
    try:
        with _data(compared, affected, runner) as data:
            checking = Checking(runner, limits, data, logs.write, done, key=secrets.token_hex(4))
            return await checking.all(affected.cases), logs
    finally:
        logs.close()
        await runner.close()


def _runner(compared: Revisions) -> "Runner":
    from tidegate import wiring

    settings = compared.settings
    if settings.check_runner == "job":
        from tidegate.cli.site import Clusters
        from tidegate.engine.integrations.dry_jobs import JobRunner

        clusters = Clusters(settings)
        return JobRunner(clusters.find, clusters.close)
    arguments = settings.check_container_arguments
    return wiring.runner(settings.check_runner, settings.check_command, arguments)


@contextmanager
def _data(compared: Revisions, affected: "Affected", runner: "Runner") -> "Iterator[Data]":
    """The bundle on disk, on each side that somebody reads."""
    from tidegate import wiring
    from tidegate.engine.integrations.checking import Data

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
    from tidegate.core.integrations.fault import Fault

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


def _end(results: "Sequence[Result]", code: int) -> None:
    from tidegate.cli.check_text import summary
    from tidegate.core.integrations.fault import Fault

    base = sum(each.judgement.fault is Fault.BASE for each in results)
    if base:
        what = "without the change, too: not its fault"
        click.echo(f"warning: {base} of {len(results)} fail {what}", err=True)
    blame = f"; {_BLAME[code]}" if code else ""
    click.echo(f"{summary(results)}{blame}", err=True)
    if code:
        raise click.exceptions.Exit(code)
