"""`tidegate lint`: what in labels does not do what its owner hopes for, before anybody waits."""

from collections import Counter
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.output import emit, say, terminal_width, wants_colour
from tidegate.cli.render.findings import annotation
from tidegate.cli.shape import Command
from tidegate.kinds.upgrades.cli.look.flags import Asked, ground_options
from tidegate.kinds.upgrades.core.lint.finding import Finding
from tidegate.kinds.upgrades.core.lint.lint import lint as find
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.model.counted import counted

FORMATS = ("table", "json", "yaml", "github")
_MARKS = {"error": "✗", "warning": "…", "note": "·"}


@click.command(
    cls=Command,
    examples="""
    tidegate upgrades lint --upgrades upgrades.yaml           all registered organisations
    tidegate upgrades lint --org o-payments                   one organisation of them
    tidegate upgrades lint --ocm-url https://api.openshift.com --token file:token      your own
    tidegate upgrades lint --world world.yaml -o github       a world in a file, for a merge check
    """,
)
@ground_options()
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def lint(asked: Asked, output: str) -> None:
    """Find labels that cannot work: windows never met, soak never reached, circles.

    Checks the labels of organisations and clusters, and runs the rules ahead to find clusters that
    wait for ever, or are still on a version when it ends. Exits 1 if there is an error or
    a warning; notes are for information.
    """
    looked = asked.look()
    found = [each for ground in looked.grounds for each in find(ground.world, ground.now)]
    if output == "github":
        for each in found:
            title = f"tidegate: {each.code}"
            click.echo(annotation(each.severity, f"{each.owner}: {_said(each)}", title=title))
    elif output != "table":
        emit({"findings": [finding_doc(each) for each in found]}, output)
    else:
        colour = wants_colour(asked.settings.color)
        for line in finding_lines(found, terminal_width()):
            say(line, colour)
    looked.tell()
    click.echo(_summary(found), err=True)
    if not looked.whole or any(each.severity != "note" for each in found):
        raise click.exceptions.Exit(FAILURE)


def finding_lines(findings: Iterable[Finding], width: int | None) -> Iterator[str]:
    """Findings by organisation: whose, what, and beneath what to write instead."""
    heading = ""
    for each in findings:
        mine = f"{PARTITION}/{each.env}/{each.org}"
        if mine != heading:
            yield from ("",) if heading else ()
            yield mine
            heading = mine
        yield from _lines(each, width)


def _lines(one: Finding, width: int | None) -> Iterator[str]:
    where = f'  {one.label}: "{one.value}"' if one.label else ""
    yield f"{_MARKS[one.severity]} {one.severity}  {one.code}  {one.owner}{where}"
    for text in (one.message, f"→ {one.remedy}"):
        for line in wrap(text, width - 4, break_on_hyphens=False) if width is not None else [text]:
            yield f"    {line}"


def _said(one: Finding) -> str:
    label = f"{one.label}: " if one.label else ""
    return f"{label}{one.message}; {one.remedy}"


def finding_doc(one: Finding) -> dict[str, Any]:
    """One finding, for programs."""
    return {
        "severity": one.severity,
        "code": one.code,
        "environment": one.env,
        "org": one.org,
        "cluster": one.cluster or None,
        "label": one.label or None,
        "value": one.value if one.label else None,
        "message": one.message,
        "remedy": one.remedy,
    }


def _summary(findings: Iterable[Finding]) -> str:
    counts: Counter[str] = Counter(each.severity for each in findings)
    words = ("error", "warning", "note")
    parts = [counted(counts[word], word) for word in words if counts[word]]
    return ", ".join(parts) or "nothing found"
