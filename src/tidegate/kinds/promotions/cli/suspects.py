"""`tidegate promotions suspects`: the commits that may have broken a version, and the next try."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tidegate.cli.answers.place import AnswerPlace, asks_service
from tidegate.cli.live import actor, journals, opened
from tidegate.cli.merge_requests.proposal_options import Proposing, proposing_options
from tidegate.cli.output import emit
from tidegate.cli.prompt import sure
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Command
from tidegate.kinds.promotions.cli.ports import SETTINGS
from tidegate.model.counted import counted
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.kinds.promotions.app.pipelines.suspects import SuspectList

_FORMATS = click.Choice(("text", "json", "yaml"))


@click.command(
    cls=Command,
    examples="""
    tidegate promotions suspects 003d132
    tidegate promotions suspects 003d132 --bisect
    tidegate promotions suspects 003d132 --bisect --open-mr --reason "inc-42"
    tidegate promotions suspects 003d132 -o json
    """,
)
@click.argument("version")
@click.option("--pipeline", metavar="NAME", help="The pipeline, if several quarantined it.")
@click.option("--bisect", is_flag=True, help="Name the version to try on stage next.")
@proposing_options
@click.option("-o", "--output", type=_FORMATS, default="text", show_default=True)
@settings_options(*SETTINGS, "server", "serverToken")
def suspects(
    merged: Merged,
    proposing: Proposing,
    version: str,
    pipeline: str | None,
    bisect: bool,
    output: str,
) -> None:
    """List commits and authors between the last good version and one that failed.

    With --bisect, the version in the middle is named: deployed on stage, it halves the range. With
    --open-mr, or another way to offer it, and your confirmation it is written there; no subscriber
    gets it. Once its deployment is seen, the same command goes on, until one suspect is left and
    the target is written as before.
    """
    from tidegate.kinds.promotions.cli.answers import pipeline_answers

    if proposing.wanted and not bisect:
        raise click.UsageError("nothing is offered without --bisect")
    settings = merged.settings()
    place = AnswerPlace.of(settings)
    if proposing.wanted and asks_service(place):
        what = "a version is tried with your own credentials, beside the journal of its pipeline"
        raise click.UsageError(f"{what}: name it with --database; a service only lists suspects")
    with pipeline_answers(place) as answers:
        found = answers.suspects(version, pipeline)
    if output == "text":
        for line in _lines(found, bisect=bisect):
            click.echo(line)
    else:
        emit(found, output)
    if proposing.wanted:
        _offer(settings, proposing, found, output)


def _offer(settings: Settings, proposing: Proposing, found: "SuspectList", output: str) -> None:
    """Record that a person confirmed the next step, and offer it."""
    from pathlib import Path

    from tidegate.cli.by_hand import brakes_now
    from tidegate.kinds.promotions.app.pipelines.bisect import plan_try, record_try
    from tidegate.kinds.promotions.cli.ports import ports_of
    from tidegate.wiring import clock

    now = clock().now()
    with opened(settings.database, writes=True) as store:
        known = journals(store)
        planned = plan_try(known, found, brakes_now(settings, now), now)
        sure(planned.question, proposing.yes)
        record_try(known, planned, actor())
    offer = planned.offer(ports_of(settings), proposing.reason)
    proposing.carry_out(
        offer, Path(settings.bundle), settings, "table" if output == "text" else output
    )


def _lines(found: "SuspectList", *, bisect: bool) -> Iterator[str]:
    why = f": {found.why}" if found.why else ""
    yield f"{found.version[:7]} failed on {found.failed_on} at {found.failed_at}{why}"
    if found.good is None or found.number is None:
        yield "which commits are suspects is not known: no earlier version was seen to be good"
    else:
        yield f"{counted(found.number, 'suspect')} since {found.good[:7]}, the last good version:"
    for author in found.authors:
        yield f"  {author.name} <{author.email}>"
        for each in author.commits:
            yield f"    {each.sha[:7]}  {each.subject}"
    for tried in found.tries:
        result = {None: "no result yet", True: "good", False: "failed"}[tried.good]
        yield f"tried {tried.version[:7]}: {result} ({tried.by}, {tried.at})"
    if found.culprit is not None:
        yield f"{found.culprit[:7]} is the only suspect left"
    elif found.tries:
        yield f"{counted(found.left or 0, 'suspect')} left"
    yield f"{found.role} can lift the quarantine: tidegate promotions lift {found.version[:7]}"
    if bisect:
        yield from _bisect_lines(found)


def _bisect_lines(found: "SuspectList") -> Iterator[str]:
    step = found.bisect
    if found.refused is not None:
        yield f"nothing is tried: {found.refused}"
        return
    if step is None:
        yield "nothing is left to try on stage"
        if found.tries:
            yield f"  --open-mr offers to write {found.failed_on} as it was before"
        return
    if any(each.version == step.version for each in found.tries):
        yield f"waiting for a deployment of {step.version[:7]} {step.subject}"
    else:
        yield f"next: {step.version[:7]} {step.subject}"
    yield f"  good leaves {step.left_if_good}, a failure {step.left_if_bad}"
    for each in step.targets:
        yield f"  --open-mr offers to write ref: {step.version} for {each}"
    yield "  its deployment is seen, or reported: tidegate promotions deployed"
