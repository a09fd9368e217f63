"""`tidegate changes`: what changed at a target, in a group, in an organisation, by whom and why."""

import click

from tidegate.access.roles import GrantScope
from tidegate.app.journal.changes import ChangeItem, ChangeList, ChangeQuery
from tidegate.cli.answers.place import AnswerPlace, answering, answers_option
from tidegate.cli.moment import moment
from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.setting_options import color_option
from tidegate.cli.shape import Command
from tidegate.explain.table import layout
from tidegate.model.counted import counted
from tidegate.model.time import format_second, parse_instant

HEAD = ("AT", "BY", "ROLLOUT", "TARGET", "WHAT")


@click.command(
    cls=Command,
    examples="""
    tidegate changes                          everything, in the last 24 hours
    tidegate changes prod-eu-1                one target, in every rollout that it is in
    tidegate changes simulated/demo --since 2h
    tidegate changes --group prod --since 3d
    tidegate changes --org o-payments -o json
    """,
)
@click.argument("name", default="")
@click.option("--kind", "kinds", multiple=True, help="Only of this kind; repeatable.")
@click.option("--group", "groups", multiple=True, help="Only groups like this; repeatable.")
@click.option("--org", "organisations", multiple=True, help="Only this organisation; repeatable.")
@click.option("--env", "environments", multiple=True, help="Only this environment; repeatable.")
@click.option(
    "--since", metavar="TIME", default="24h", show_default=True, help="Only changes from then on."
)
@click.option("--until", metavar="TIME", default="", help="Only what was before then.")
@click.option("-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table")
@answers_option
@color_option
def changes(
    name: str,
    kinds: tuple[str, ...],
    groups: tuple[str, ...],
    organisations: tuple[str, ...],
    environments: tuple[str, ...],
    since: str,
    until: str,
    output: str,
    place: AnswerPlace,
    color: str,
) -> None:
    """Show what changed lately, by whom and why, the newest first.

    NAME is a rollout, or a target of any kind. Times are RFC 3339, or how long ago: 2h, 3d.
    """
    with answering(place) as answers:
        end = moment("--until", until, answers.now) if until else answers.now
        query = ChangeQuery(
            name=name,
            scope=GrantScope(
                kinds=frozenset(kinds),
                groups=groups,
                organisations=organisations,
                environments=environments,
            ),
            since=moment("--since", since, end),
            until=end,
        )
        found = answers.changes(query)
    if output != "table":
        emit(found, output)
        return
    for line in change_lines(found):
        say(line, wants_colour(color))


def change_lines(found: ChangeList) -> list[str]:
    """The changes as a table, and how many are left out."""
    if not found.items:
        return [f"nothing changed since {format_second(parse_instant(found.since))}"]
    lines = list(layout(HEAD, [_row(each) for each in found.items], terminal_width()))
    if found.left_out:
        lines.append(f"{counted(found.left_out, 'older change')} left out: name a shorter time")
    if found.looks:
        lines.append(f"{counted(found.looks, 'look')} that found all as before")
    return lines


def _row(item: ChangeItem) -> tuple[str, ...]:
    at = format_second(parse_instant(item.at))
    return at, item.actor, item.rollout or "-", item.target or "-", item.what
