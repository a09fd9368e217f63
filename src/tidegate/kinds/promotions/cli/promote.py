"""`tidegate promote`: a version moved to environments by one commit and one merge request."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tidegate.cli.answers.place import AnswerPlace, asks_service
from tidegate.cli.main import FAILURE
from tidegate.cli.merge_requests.proposal_options import Proposing, proposing_options
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import LazyGroup
from tidegate.kinds.promotions.cli.ports import SETTINGS
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.kinds.promotions.app.plan import PlannedPromotion

FORMATS = ("table", "json", "yaml")
Function = Callable[..., Any]
_OPTIONS = (
    click.option(
        "--ref",
        default="",
        metavar="REF",
        help="The commit to promote; default: the newest of the branch.",
    ),
    click.option(
        "--promotion", "name", metavar="NAME", help="The promotion, if several are declared."
    ),
    click.option("--base", default="", metavar="REF", help="Change this revision of the bundle."),
    click.option("--allow-backward", is_flag=True, help="Allow older versions and other branches."),
    click.option("--no-fetch", is_flag=True, help="Do not fetch; use what was fetched before."),
)


def promotion_options(function: Function) -> Function:
    """The options that every promotion has."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "schemas": (
            "tidegate.kinds.promotions.cli.promote_schemas:schemas",
            "Move the schemas, alone",
        ),
    },
    invoke_without_command=True,
    examples="""
    tidegate promote                          what would move everywhere, and whose work that is
    tidegate promote --to jenkins --ref 1a2b3c4
    tidegate promote --to manager --to tekton --open-mr --reason "the fix of inc-42"
    tidegate promote schemas --open-mr        the schemas first, where something needs them
    """,
)
@click.option("--to", "to", multiple=True, metavar="ENV", help="Only this environment; repeatable.")
@promotion_options
@click.option("--no-registry-check", is_flag=True, help="Do not check that the image exists.")
@proposing_options
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@settings_options(*SETTINGS, "server", "serverToken")
def promote(
    merged: Merged,
    proposing: Proposing,
    output: str,
    to: tuple[str, ...],
    ref: str,
    name: str | None,
    base: str,
    allow_backward: bool,
    no_registry_check: bool,
    no_fetch: bool,
) -> None:
    """Show what a promotion changes: lines, shards, authors; then propose it.

    Nothing is written unless --write, --commit, --push or --open-mr says so. Exits 1 if a selected
    environment has to wait.

    With a service, --open-mr requests the version there: its worker opens the merge request where
    every gate is open. `show promotions/NAME` lists requests, and `withdraw` ends one.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    settings = merged.settings()
    if asks_service(AnswerPlace.of(settings)):
        _refuse_local_flags()
        from tidegate.kinds.promotions.app.version_request import WantedVersion
        from tidegate.kinds.promotions.cli.version_request import request_version

        wanted = WantedVersion(to=to, ref=ref, backward=allow_backward, reason=proposing.reason)
        request_version(AnswerPlace.of(settings), name or "", wanted, proposing, output)
        return
    from tidegate.kinds.promotions.app.survey import PromotionRequest
    from tidegate.kinds.promotions.cli.plan import planned_promotion

    request = PromotionRequest(
        promotion=name,
        to=to,
        ref=ref,
        base=base,
        allow_backward=allow_backward,
        check_image=not no_registry_check,
    )
    planned = planned_promotion(settings, request, fetch=not no_fetch)
    carry_out(planned, settings, proposing, output, newest=not ref)


# Flags about a clone on this machine, which a service does not have.
_LOCAL = (
    "base", "no_fetch", "no_registry_check", "write", "commit", "push", "branch", "target",
    "labels",
)  # fmt: skip


def _refuse_local_flags() -> None:
    """UsageError for a flag that means nothing to a service."""
    context = click.get_current_context()
    given = [
        each.opts[0]
        for each in context.command.params
        if each.name in _LOCAL
        and context.get_parameter_source(each.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        remedy = "a service offers with --open-mr; `tidegate context use none` works here"
        raise click.UsageError(f"{', '.join(given)}: is about a clone on this machine; {remedy}")


def carry_out(
    planned: "PlannedPromotion",
    settings: Settings,
    proposing: Proposing,
    output: str,
    *,
    newest: bool,
) -> None:
    """Show what is planned and offer it; exit 1 where a selected environment has to wait."""
    from pathlib import Path

    from tidegate.kinds.promotions.cli.plan import record_offer, show_plan

    show_plan(planned, settings, output)
    if planned.edited:
        offer = planned.offer(proposing.reason)
        done = proposing.carry_out(offer, Path(settings.bundle), settings, output)
        if done is not None and done.commit:
            record_offer(settings, planned, done, proposing.reason, newest=newest)
    if planned.waits:
        raise click.exceptions.Exit(FAILURE)
