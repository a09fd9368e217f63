"""`tidegate simulate policies`: revisions of policies on a simulated hub, told as a story."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.output import FORMATS, emit, say, terminal_width, wants_colour
from tidegate.cli.setting_options import color_option
from tidegate.cli.shape import Command

if TYPE_CHECKING:
    from tidegate.kinds.policies.app.rehearsal import FinishedPolicies
    from tidegate.kinds.policies.core.revision import Fields
    from tidegate.kinds.policies.simulated.hub_copy import CopiedHub
    from tidegate.kinds.policies.simulated.scenario import PolicyScenario
    from tidegate.kinds.policies.simulated.timeline import PolicyTimeline

ROLLOUT_FAILED = 3


@click.command(
    cls=Command,
    examples="""
    tidegate simulate policies examples/policies.yaml                 who gets what, and why not
    tidegate simulate policies examples/policies.yaml --why prod-07   why one cluster waits
    tidegate simulate policies --hub hub.kubeconfig policies.web      the next edit, of a real hub
    tidegate simulate policies --hub hub.kubeconfig policies.web --policy edited.yaml
    """,
)
@click.argument("what", required=False, metavar="[FILE|NAMESPACE.NAME]")
@click.option("--hub", metavar="KUBECONFIG", help="Rehearse what is on this hub; it is only read.")
@click.option("--policy", metavar="FILE", help="Of a hub: the Policy as it would be edited.")
@click.option("--behaviour", metavar="FILE", help="Of a hub: how agents behave, and events.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of answer times.")
@click.option(
    "--pace", metavar="SECONDS", type=float, help="How many virtual seconds pass in a real one."
)
@click.option(
    "--why",
    "target",
    metavar="CLUSTER",
    help="Explain one cluster at the step that stopped the rollout, or at the end.",
)
@click.option("--svg", type=click.Path(dir_okay=False), help="Write the timeline as a picture.")
@click.option("--check", is_flag=True, help="Exit 3 unless all succeeds, or goes as is expected.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@color_option
def policies(
    what: str | None,
    hub: str | None,
    policy: str | None,
    behaviour: str | None,
    seed: int,
    pace: float | None,
    target: str | None,
    svg: str | None,
    check: bool,
    output: str,
    color: str,
) -> None:
    """Simulate policies in virtual time, with the rules and the writes that run in production.

    FILE is a rehearsal in YAML ("-" reads stdin): clusters in groups, policies with their rollouts,
    how agents behave, and what happens when. With --hub, the policies and clusters are those of a
    real hub as it is now, and what is rehearsed is an edit of a policy. Nothing is written there.
    """
    found = _rehearsed(what, hub, policy, behaviour, seed)
    colour = wants_colour(color)
    for event in found.document.left:
        click.echo(f"Warning: never happened: {event}", err=True)
    if svg:
        _draw(found, svg)
    if output != "table":
        emit(found.document, output)
    else:
        for each in found.timelines:
            _show(each, pace, target, colour)
    if check and not _is_well(found):
        raise click.exceptions.Exit(ROLLOUT_FAILED)


def _rehearsed(
    what: str | None, hub: str | None, policy: str | None, behaviour: str | None, seed: int
) -> "FinishedPolicies":
    from tidegate.cli.render.progress import Progress
    from tidegate.kinds.policies.app.rehearsal import rehearse_hub, simulate_policies
    from tidegate.simulation.virtual_loop import run_virtually
    from tidegate.wiring import open_store

    if hub is None and (what is None or policy or behaviour):
        raise click.UsageError("write FILE, or --hub KUBECONFIG for a hub as it is")
    scenario = _read(what if hub is None else behaviour, of_hub=hub is not None)
    copied = None if hub is None else _copied(scenario, hub, what, policy)
    store = open_store("memory:")
    with Progress("rehearsing, rounds:") as progress:

        def on_round() -> None:
            progress.tell(1)

        return run_virtually(
            lambda _: (
                simulate_policies(scenario, store, seed=seed, on_round=on_round)
                if copied is None
                else rehearse_hub(scenario, copied, store, seed=seed, on_round=on_round)
            ),
            scenario.start,
        )


def _copied(
    scenario: "PolicyScenario", kubeconfig: str, name: str | None, policy: str | None
) -> "CopiedHub":
    from tidegate.cli.render.unanswered import Unanswered, told
    from tidegate.kinds.policies.app.rehearsal import read_hub
    from tidegate.kinds.policies.cli.policies import READING_HUB
    from tidegate.wiring.outside import cluster

    edited, names = _edited(policy), (name,) if name is not None else ()

    unanswered = Unanswered()

    async def asked() -> "CopiedHub":
        hub = cluster(None, kubeconfig, partial(unanswered.asking, f"hub {kubeconfig}"))
        try:
            return await read_hub(scenario, hub, names, edited)
        finally:
            await hub.close()

    with told(unanswered, READING_HUB):
        return asyncio.run(asked())


def _read(file: str | None, *, of_hub: bool) -> "PolicyScenario":
    from tidegate.documents.files import read_as
    from tidegate.kinds.policies.wire.rehearsal_doc import read_rehearsal

    if file is None:
        return read_rehearsal({}, of_hub=of_hub)
    return read_as(file, lambda data: read_rehearsal(data, of_hub=of_hub))[0]


def _edited(file: str | None) -> "Fields | None":
    from tidegate.documents.files import read_as
    from tidegate.kinds.policies.wire.rehearsal_doc import read_edited_policy

    return None if file is None else read_as(file, read_edited_policy)[0]


def _show(timeline: "PolicyTimeline", pace: float | None, target: str | None, colour: bool) -> None:
    from tidegate.kinds.rollouts.cli.simulate import explain_target, tell_story
    from tidegate.kinds.rollouts.simulated.grid import draw
    from tidegate.kinds.rollouts.simulated.story import closing, opening

    scenario = timeline.scenario
    click.echo(timeline.worded(opening(scenario)))
    tell_story(timeline.story(), scenario.start, pace, colour)
    click.echo()
    lines = (*draw(scenario, timeline.drawn, terminal_width()), "")
    for line in (*lines, *closing(scenario, timeline.steps), ""):
        say(timeline.worded(line), colour)
    if target:
        why = explain_target(timeline.steps, target)
        click.echo(f"why {target}")
        for line in why:
            say(f"  {timeline.worded(line)}", colour)


def _draw(found: "FinishedPolicies", svg: str) -> None:
    """A picture for each policy; where there are several, its name is in that of the file."""
    from tidegate.kinds.rollouts.simulated.picture import draw_svg

    for each in found.timelines:
        path = Path(svg)
        if len(found.timelines) > 1:
            path = path.with_stem(f"{path.stem}-{each.scenario.name}")
        path.write_text(each.worded(draw_svg(each.scenario, each.drawn)), encoding="utf-8")
        click.echo(f"wrote {path}", err=True)


def _is_well(found: "FinishedPolicies") -> bool:
    if found.document.as_expected is not None:
        return found.document.as_expected
    return all(each.summary == "Succeeded" for each in found.document.policies)
