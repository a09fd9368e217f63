"""`tidegate simulate`: a rollout in virtual time, as a timeline, a story, data or a picture."""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from tidegate.cli.output import FORMATS, emit, say, terminal_width, wants_colour
from tidegate.cli.setting_options import color_option
from tidegate.cli.shape import Worded
from tidegate.documents.files import files_beside, located, read_document
from tidegate.kinds.rollouts.core.explain.tree import find_target, target_tree
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.simulated.grid import draw
from tidegate.kinds.rollouts.simulated.run import SimulatedStep, Simulation
from tidegate.kinds.rollouts.simulated.story import closing, opening, tell
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, read_scenario
from tidegate.model.errors import UserError
from tidegate.model.problem import nearest
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.line_wrap import folded

ROLLOUT_FAILED = 3
# What a line of a story goes on with, beneath its clock and its mark.
_BENEATH = " " * 8


@click.command(
    cls=Worded,
    words={
        "ocm": (
            "tidegate.kinds.upgrades.cli.simulate_ocm:ocm",
            "Serve a simulated OpenShift Cluster Manager over HTTP",
        ),
        "upgrades": (
            "tidegate.kinds.upgrades.cli.simulate_upgrades:upgrades",
            "Simulate upgrades of a fleet, two weeks in seconds",
        ),
        "policies": (
            "tidegate.kinds.policies.cli.simulate_policies:policies",
            "Simulate policies of Open Cluster Management on a hub",
        ),
        "page": (
            "tidegate.cli.simulated.page:page",
            "Serve the page over simulated fleets that live at speed",
        ),
    },
    examples="""
    tidegate simulate rollout.yaml                    a row a group, a column a step
    tidegate simulate rollout.yaml --story            line by line
    tidegate simulate rollout.yaml --why prod-07      and why one target waits in the end
    tidegate simulate rollout.yaml --seed 7 --svg timeline.svg
    tidegate simulate examples/app-interface --integration slack-usergroups --image f929a38 \\
        --environment app-interface-production        a new image, by the rules of a bundle
    tidegate simulate upgrades examples/ocm.yaml           two weeks of upgrades
    tidegate simulate ocm examples/ocm.yaml --port 8710    an OpenShift Cluster Manager, over HTTP
    tidegate simulate policies examples/policies.yaml      revisions of policies on a hub
    tidegate simulate page --upgrades examples/fortnight.yaml     the page, over simulated fleets
    """,
)
@click.argument("file")
@click.option(
    "--integration", metavar="NAME", help="Of a bundle: the integration whose image is rehearsed."
)
@click.option("--environment", metavar="NAME", help="Of a bundle: the environment.")
@click.option("--image", metavar="TAG", help="Of a bundle: the new image.")
@click.option(
    "--behaviour",
    metavar="FILE",
    help="Of a bundle: a file that says what images do on which shards.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of random failures.")
@click.option("--story", is_flag=True, help="Print events line by line, above the timeline.")
@click.option(
    "--pace", metavar="SECONDS", type=float, help="How many virtual seconds pass in a real one."
)
@click.option(
    "--why",
    "target",
    metavar="TARGET",
    help="Explain one target at the step that stopped the rollout, or at the end.",
)
@click.option("--svg", type=click.Path(dir_okay=False), help="Write the timeline as a picture.")
@click.option("--check", is_flag=True, help="Exit 3 unless the rollout succeeds.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@color_option
def simulate(
    file: str,
    integration: str | None,
    environment: str | None,
    image: str | None,
    behaviour: str | None,
    seed: int,
    story: bool,
    pace: float | None,
    target: str | None,
    svg: str | None,
    check: bool,
    output: str,
    color: str,
) -> None:
    """Simulate a rollout in virtual time, with the rules that run in production.

    FILE is a scenario in YAML or JSON ("-" reads stdin): groups, strategy, how the fleet behaves,
    and what happens when; or the directory of a bundle, on whose clusters, simulated, a new image
    of an integration is rehearsed by the bundle's own rules.
    """
    if Path(file).is_dir():
        from tidegate.kind_table import rehearse_bundle

        scenario, steps = rehearse_bundle(Path(file), integration, environment, image, behaviour)
    else:
        scenario = _read(file)
        steps = Simulation(scenario, seed).run()
    colour = wants_colour(color)
    if svg:
        from tidegate.kinds.rollouts.simulated.picture import draw_svg

        Path(svg).write_text(draw_svg(scenario, steps), encoding="utf-8")
        click.echo(f"wrote {svg}", err=True)
    if output != "table":
        from tidegate.kinds.rollouts.simulated.record import record

        emit(record(scenario, steps, seed), output)
    else:
        _show(scenario, steps, story, pace, colour)
        if target:
            _explain(steps, target, colour)
    if check and steps[-1].plan.summary is not Summary.SUCCEEDED:
        raise click.exceptions.Exit(ROLLOUT_FAILED)


def _read(file: str) -> Scenario:
    document = read_document(file)
    try:
        scenario = read_scenario(document.data, files_beside(file))
    except UserError as error:
        raise located(document, error) from None
    for warning in scenario.warnings:
        click.echo(f"Warning: {warning.text()}", err=True)
    return scenario


def _show(
    scenario: Scenario, steps: list[SimulatedStep], story: bool, pace: float | None, colour: bool
) -> None:
    click.echo(opening(scenario))
    if story:
        _tell(scenario, steps, pace, colour)
    click.echo()
    for line in (*draw(scenario, steps, terminal_width()), "", *closing(scenario, steps)):
        say(line, colour)


def _tell(scenario: Scenario, steps: list[SimulatedStep], pace: float | None, colour: bool) -> None:
    tell_story(tell(scenario, steps), scenario.start, pace, colour)


def tell_story(
    lines: Iterable[tuple[Instant, str]], start: Instant, pace: float | None, colour: bool
) -> None:
    """Line by line; at a pace only on a terminal."""
    shown_at = start
    for moment, line in lines:
        if pace and sys.stdout.isatty():
            time.sleep((moment - shown_at) / SECOND / pace)
        shown_at = moment
        for each in folded(line, terminal_width(), beneath=_BENEATH):
            say(each, colour)


def explain_target(steps: list[SimulatedStep], name: str) -> list[str]:
    """The target at the step that stopped the rollout, or else at the end."""
    stopped = [step for step in steps if step.plan.breached]
    step = stopped[0] if stopped else steps[-1]
    position = find_target(step.world, name)
    if position is None:
        hint = nearest(name, [target.name for target in step.world.targets])
        raise click.UsageError(f'no target "{name}" in this scenario; {hint}'.rstrip("; "))
    return target_tree(step.world, step.plan, position, step.at)


def _explain(steps: list[SimulatedStep], name: str, colour: bool) -> None:
    lines = explain_target(steps, name)
    click.echo(f"\nwhy {name}")
    for line in lines:
        say(f"  {line}", colour)
