"""`tidegate plan upgrades`: what would be written to OpenShift Cluster Manager now, and why."""

from collections.abc import Iterable
from typing import Any

import click

from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.explain.table import BENEATH, Row, layout
from tidegate.kinds.upgrades.cli.look.flags import Asked, ground_options
from tidegate.kinds.upgrades.cli.look.outcomes import (
    BOTH,
    COMPAT,
    STRICT,
    Made,
    Outcomes,
    outcomes_of,
)
from tidegate.kinds.upgrades.core.explain.writes import TELL
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.model.counted import counted

HEAD: Row = ("DO", "CLUSTER", "FROM", "TO", "STARTS", "WHY")


@click.command(
    cls=Command,
    name="upgrades",
    examples="""
    tidegate plan upgrades --upgrades upgrades.yaml          everybody, each by its own rules
    tidegate plan upgrades --org o-payments -o json
    tidegate plan upgrades --mode both                       what the existing service would do, too
    tidegate plan upgrades --world world.json
    """,
)
@ground_options()
@click.option(
    "--mode",
    type=click.Choice((STRICT, COMPAT, BOTH)),
    help="Our rules, the existing service's, or both; else those each organisation is served by.",
)
@click.option(
    "-o", "--output", type=click.Choice(("table", "json", "yaml")), default="table",
    show_default=True,
)  # fmt: skip
def plan_upgrades(asked: Asked, mode: str | None, output: str) -> None:
    """Say what would be written now for each organisation, and why; nothing is.

    Upgrades, node pools that follow, channels, agreements to version gates, and what owners are
    told; the same is told once a day. Why all others wait is what `tidegate why` says.
    """
    looked = asked.look()
    found = [each for ground in looked.grounds for each in outcomes_of(ground, mode)]
    if output == "table":
        _show(found, wants_colour(asked.settings.color))
    else:
        emit([_document(each) for each in found], output)
    looked.tell()
    looked.end()


def _show(found: Iterable[Outcomes], colour: bool) -> None:
    for at, each in enumerate(found):
        both = each.mode == BOTH
        lines = [""] if at else []
        lines.append(_headline(each))
        rows = [_row(made, both) for made in each.made if made.what.do != TELL]
        head = ("RULES", *HEAD) if both else HEAD
        lines += layout(head, rows, terminal_width()) if rows else []
        lines += [line for made in each.made for line in _telling(made, both)]
        for line in lines:
            say(line, colour)


_RULES = {STRICT: "our rules", COMPAT: "the existing service's rules", BOTH: "both rules"}


def _headline(each: Outcomes) -> str:
    steps = sum(made.what.do != TELL for made in each.made)
    told = len(each.made) - steps
    parts = [f"{PARTITION}/{each.of.environment}/{each.of.id}", each.of.name, _RULES[each.mode]]
    parts.append(counted(steps, "change") if steps else "no change")
    if told:
        parts.append(f"{counted(told, 'owner')} told")
    if each.mode == BOTH:
        apart = sum(made.by != BOTH for made in each.made)
        parts.append(f"{apart} by one of them only" if apart else "no difference")
    return " · ".join(parts)


def _telling(made: Made, both: bool) -> list[str]:
    """What an owner is told, word for word."""
    what = made.what
    if what.do != TELL:
        return []
    by = f" ({made.by})" if both else ""
    name = what.cluster.name if what.cluster is not None else "-"
    return [
        f"tell the owner of {name}{by}: {what.after}",
        *(f"{BENEATH}{line}" for line in what.text.splitlines()),
    ]


def _row(made: Made, both: bool) -> Row:
    what = made.what
    name = what.cluster.name if what.cluster is not None else "-"
    cells = (
        what.do,
        " ".join(filter(None, (name, what.pool, what.addon))),
        what.before or "-",
        what.after or "-",
        what.starts_at or "-",
        made.why,
    )
    return (made.by, *cells) if both else cells


def _document(each: Outcomes) -> dict[str, Any]:
    return {
        "org": each.of.id,
        "name": each.of.name,
        "environment": each.of.environment,
        "mode": each.mode,
        "actions": [_action(made) for made in each.made],
    }


def _action(made: Made) -> dict[str, Any]:
    what = made.what
    return {
        "do": what.do,
        "cluster": what.cluster.name if what.cluster is not None else None,
        "uuid": what.cluster.uuid if what.cluster is not None else None,
        "pool": what.pool or None,
        "addon": what.addon or None,
        "from": what.before or None,
        "to": what.after or None,
        "startsAt": what.starts_at or None,
        "rules": made.by,
        "why": made.why,
        "write": what.request.write(),
    }
