"""`tidegate report`: every cluster with its labels and what soaks; or what has soaked so far."""

from typing import Any

import click

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.explain.table import Row, layout
from tidegate.kinds.upgrades.cli.look.flags import Asked, ground_options
from tidegate.kinds.upgrades.cli.look.ground import Looked
from tidegate.kinds.upgrades.cli.when import tell_rules
from tidegate.kinds.upgrades.core.explain.report import (
    FIELDS,
    HISTORY_FIELDS,
    Kept,
    Line,
    Section,
    channel_group,
    history,
    sections,
)

FORMATS = ("table", "markdown", "json")


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades report --upgrades upgrades.yaml                 all registered organisations
    tidegate upgrades report -o markdown > fleet.md            a page with tables to sort and filter
    tidegate upgrades report --org o-payments -o json
    tidegate upgrades report --history                                what each version has soaked
    """,
)
@ground_options()
@click.option("--history", "past", is_flag=True, help="What has soaked, by version and workload.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def report(asked: Asked, past: bool, output: str) -> None:
    """Show the fleet: labels, versions, and how far each has soaked.

    Of every version a cluster is offered and that is not blocked: the days it ran so far under the
    workload that is furthest behind. ⏰ its upgrade is to start, 💫 it is under way, 🎉 the rules
    choose it as soon as the window of the cluster opens.
    """
    looked = asked.look()
    if past:
        _show_history(
            [each for ground in looked.grounds for each in history(ground.plan())], output
        )
    else:
        _show(_sections(looked), output, wants_colour(asked.settings.color))
    tell_rules(looked)
    looked.tell()
    looked.end()


def _sections(looked: Looked) -> list[Section]:
    found: list[Section] = []
    for ground in looked.grounds:
        found += sections(ground.world, ground.plan(), ground.now)
    return found


def _show(found: list[Section], output: str, colour: bool) -> None:
    if output == "markdown":
        from tidegate.kinds.upgrades.core.explain.markdown import page

        click.echo(page(found), nl=False)
        return
    if output == "json":
        emit({"kind": "FleetReport", "organizations": [_section(each) for each in found]}, output)
        return
    rows = [line.cells(each.fleet.org.name) for each in found for line in each.lines]
    for text in layout(_head(FIELDS), rows, terminal_width()):
        say(text, colour)


def _show_history(kept: list[Kept], output: str) -> None:
    if output == "markdown":
        from tidegate.kinds.upgrades.core.explain.markdown import history_page

        click.echo(history_page(kept), nl=False)
        return
    if output == "json":
        emit({"kind": "VersionHistory", "items": [_kept(each) for each in kept]}, output)
        return
    for text in layout(_head(HISTORY_FIELDS), [each.cells() for each in kept], terminal_width()):
        click.echo(text)


def _head(fields: tuple[str, ...]) -> Row:
    return tuple(name.replace("_", " ").upper() for name in fields)


def _section(section: Section) -> dict[str, Any]:
    org = section.fleet.org
    return {
        "org": org.id,
        "name": org.name,
        "environment": org.env,
        "inherits": section.sources,
        "unverified": section.fleet.unverified,
        "clusters": [_line(each) for each in section.lines],
    }


def _line(line: Line) -> dict[str, Any]:
    cluster, wishes = line.member.cluster, line.member.wishes
    return {
        "cluster": cluster.name,
        "id": cluster.ident,
        "uuid": cluster.uuid,
        "version": cluster.version,
        "channel": channel_group(cluster.updates_from),
        "schedule": wishes.schedule,
        "timezone": wishes.zone or None,
        "sector": wishes.sector or None,
        "mutexes": wishes.mutexes,
        "soakDays": wishes.soak_days,
        "workloads": wishes.workloads,
        "setAside": line.member.aside is not None,
        "soaking": [
            {"version": one.version, "soakDays": float(one.days), "mark": one.mark or None}
            for one in line.soaking
        ],
    }


def _kept(kept: Kept) -> dict[str, Any]:
    return {
        "ocm": kept.ocm,
        "version": kept.version,
        "workload": kept.workload,
        "soakDays": float(kept.days),
        "clusters": kept.clusters,
    }
