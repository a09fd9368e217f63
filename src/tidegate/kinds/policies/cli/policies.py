"""`tidegate policies`: policies of a hub, planned, taken over and handed back."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.setting_options import settings_options
from tidegate.cli.shape import Act, Command, LazyGroup
from tidegate.settings.settings import Merged, Settings

if TYPE_CHECKING:
    from tidegate.kinds.policies.app.stage_plan import PolicyHandOver, PolicyStagePlan
    from tidegate.kinds.policies.fleet import PolicyFleet

T = TypeVar("T")
_HERE = "tidegate.kinds.policies.cli.policies"
# What is shown while the hub does not answer.
READING_HUB = "reading the hub"
_FORMATS = click.Choice(("text", "json", "yaml"))


@click.command(
    cls=LazyGroup,
    commands_by_name={
        "plan": (f"{_HERE}:plan", "Show how policies are staged, and what cannot be"),
        "diff": (f"{_HERE}:diff", "Show what one revision changes in another"),
        "adopt": (f"{_HERE}:adopt", "Take a policy over, without changing any cluster"),
        "leave": (f"{_HERE}:leave", "Hand a policy back, without changing any cluster"),
        "crd": (f"{_HERE}:crd", "Print the definition of the Rollout object"),
    },
    examples="""
    tidegate policies crd | kubectl apply -f -
    tidegate policies plan --hub hub.kubeconfig
    tidegate run --hub hub.kubeconfig --act 'policies/*'
    """,
    epilog="""The rollouts themselves: `tidegate status`, `get rollouts`, `why`, `when`,
    `approve`, `pause`.""",
)
def policies() -> None:
    """Roll revisions of Open Cluster Management policies out, group by group."""


@click.command(
    cls=Command,
    examples="""
    tidegate policies plan --hub hub.kubeconfig
    tidegate policies plan policies.web --hub hub.kubeconfig -o json
    """,
)
@click.argument("names", nargs=-1, metavar="[NAMESPACE.NAME]...")
@settings_options("hub", "policies", "revision")
@click.option("-o", "--output", type=_FORMATS, default="text", show_default=True)
def plan(merged: Merged, names: tuple[str, ...], output: str) -> None:
    """Show how each policy is staged, and refuse what cannot be. Nothing is written.

    Exits 1 if a policy cannot be staged.
    """
    from tidegate.cli.output import emit
    from tidegate.kinds.policies.app.stage_plan import plan_staging

    found = on_hub(merged.settings(), lambda fleet: plan_staging(fleet, names))
    if output != "text":
        emit(found, output)
    else:
        for each in found.items:
            click.echo("\n".join(_plan_lines(each)))
        if not found.items and not found.refused:
            click.echo("no rollout is declared on this hub", err=True)
    for refused in found.refused:
        for problem in refused.problems:
            click.echo(f"{refused.policy}: {problem}", err=True)
    if found.refused:
        raise click.exceptions.Exit(FAILURE)


def _plan_lines(found: "PolicyStagePlan") -> list[str]:
    words = "enforced in waves" if found.stage == "waves" else "staged by pointers"
    lines = [
        f"{found.policy}  {found.root}, wants {found.revision} (from {found.source})",
        f"  {words}: {', '.join(found.policies)}",
    ]
    for group in found.groups:
        label = group.name or f"group {group.index}"
        place = f"{group.placement}/" if group.placement else ""
        lines.append(f"  {place}{label}: {group.given} of {group.clusters} have it")
    lines += [f"  writes {each}" for each in found.writes]
    lines += [f"  incomplete: {each}" for each in found.gaps]
    return lines + [f"  warning: {each}" for each in found.warnings]


@click.command(
    cls=Command,
    examples="""
    tidegate policies diff policies.web --hub hub.kubeconfig     what the author wants changed
    tidegate policies diff policies.web 3a2a033db839 597ddc4fd693 --hub hub.kubeconfig
    """,
)
@click.argument("name", metavar="NAMESPACE.NAME")
@click.argument("before", required=False, metavar="[REVISION]")
@click.argument("after", required=False, metavar="[REVISION]")
@settings_options("hub", "policies", "revision")
@click.option("-o", "--output", type=_FORMATS, default="text", show_default=True)
def diff(merged: Merged, name: str, before: str | None, after: str | None, output: str) -> None:
    """Show what differs between two revisions of a policy, field by field.

    Without revisions: between what most clusters have and what the author wants.
    """
    from tidegate.cli.output import emit
    from tidegate.kinds.policies.app.revision_diff import compare_revisions

    found = on_hub(merged.settings(), lambda fleet: compare_revisions(fleet, name, before, after))
    if output != "text":
        emit(found, output)
        return
    from tidegate.kinds.policies.cli.change import diff_lines

    click.echo("\n".join(diff_lines(found)))


@click.command(cls=Act, examples="tidegate policies adopt policies.web --hub hub.kubeconfig")
@click.argument("name", metavar="NAMESPACE.NAME")
@settings_options("hub", "policies", "revision", "database")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--reason", default="", help="Why; kept in the journal.")
@click.option("-o", "--output", type=_FORMATS, default="text", show_default=True)
def adopt(merged: Merged, name: str, yes: bool, reason: str, output: str) -> None:
    """Have a policy's content looked up by pointers from now on.

    No cluster gets anything else by that. `run --act` does it by itself with the first move.
    """
    from tidegate.kinds.policies.app.stage_plan import adopt_policy

    _hand_over(merged.settings(), name, yes, reason, output, "Take over", adopt_policy)


@click.command(cls=Act, examples="tidegate policies leave policies.web --hub hub.kubeconfig")
@click.argument("name", metavar="NAMESPACE.NAME")
@settings_options("hub", "policies", "revision", "database")
@click.option(
    "--take-back",
    is_flag=True,
    help="Of waves: have every cluster inform again, instead of enforcing the policy itself.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--reason", default="", help="Why; kept in the journal.")
@click.option("-o", "--output", type=_FORMATS, default="text", show_default=True)
def leave(merged: Merged, name: str, take_back: bool, yes: bool, reason: str, output: str) -> None:
    """Write a policy's root as its author would, and bind it as before.

    No cluster gets anything else by that. Its rollout has to be paused, and all clusters have one
    revision. What waves have enforced everywhere is enforced by the policy itself then.
    """
    from tidegate.kinds.policies.app.stage_plan import leave_policy

    question = "Take back" if take_back else "Hand back"
    act = partial(leave_policy, take_back=take_back)
    _hand_over(merged.settings(), name, yes, reason, output, question, act)


@click.command(cls=Command, examples="tidegate policies crd | kubectl apply -f -")
def crd() -> None:
    """Print the CustomResourceDefinition of the Rollout object."""
    text = resources.files("tidegate.kinds.policies.wire").joinpath("crd.yaml").read_text("utf-8")
    click.echo(text, nl=False)


def _hand_over(
    settings: Settings,
    name: str,
    yes: bool,
    reason: str,
    output: str,
    question: str,
    act: "Callable[[PolicyFleet, str], Awaitable[PolicyHandOver]]",
) -> None:
    from tidegate.cli.live import actor, opened, tell_new_journal
    from tidegate.cli.output import emit
    from tidegate.cli.prompt import sure
    from tidegate.kinds.policies.app.hand_over import record_hand_over
    from tidegate.wiring import clock

    sure(f"{question} {name} on the hub?", yes)
    tell_new_journal(settings.database)
    with opened(settings.database, writes=True, creates=True) as store:
        found = on_hub(settings, lambda fleet: act(fleet, name))
        record_hand_over(store, found, reason, actor(), clock().now())
    if output != "text":
        emit(found, output)
        return
    what = f"at {found.revision}" if found.revision else "without content"
    end = "inform again" if found.outcome == "taken back" else "keep what they have"
    click.echo(f"{found.policy} {found.outcome} {what}; {found.clusters} clusters {end}")


def on_hub(settings: Settings, ask: "Callable[[PolicyFleet], Awaitable[T]]") -> T:
    """What is asked of the policies of the hub that is set."""
    from tidegate.cli.render.unanswered import Unanswered, told
    from tidegate.kinds.policies.fleet import PolicyFleet
    from tidegate.kinds.policies.start import files_of
    from tidegate.wiring.outside import cluster

    if not settings.hub:
        raise click.UsageError("no hub: write --hub KUBECONFIG")
    unanswered = Unanswered()
    hub = cluster(None, settings.hub, partial(unanswered.asking, f"hub {settings.hub}"))

    async def asked() -> T:
        try:
            return await ask(PolicyFleet(hub, files=files_of(settings)))
        finally:
            await hub.close()

    with told(unanswered, READING_HUB):
        return asyncio.run(asked())
