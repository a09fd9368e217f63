"""`tidegate what-if`: what other labels would come to, before anybody writes them."""

from collections.abc import Iterable
from typing import Any

import click

from tidegate.cli.output import FORMATS, emit, say, terminal_width, wants_colour
from tidegate.cli.shape import Command
from tidegate.explain.sentence import sentence
from tidegate.explain.table import Row, layout
from tidegate.explain.verdict_doc import verdict_doc
from tidegate.kinds.upgrades.cli.lint import finding_doc, finding_lines
from tidegate.kinds.upgrades.cli.look.flags import Asked, ground_options
from tidegate.kinds.upgrades.cli.look.ground import Ground, Looked
from tidegate.kinds.upgrades.cli.look.view import View, the_cluster, views
from tidegate.kinds.upgrades.cli.when import pace_of, tell_rules
from tidegate.kinds.upgrades.core.explain.dates import NO_DATE, date_text
from tidegate.kinds.upgrades.core.foresight.pace import Pace
from tidegate.kinds.upgrades.core.foresight.what_if import (
    Aim,
    NoLabelError,
    Shift,
    WhatIf,
    edit_of,
    what_if,
)
from tidegate.kinds.upgrades.core.labels.label_edit import (
    Change,
    Edit,
    Holder,
    cluster_holders,
    org_holder,
)
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import Instant, format_instant

HEAD: Row = ("CLUSTER", "LABELS", "NEXT", "STARTS", "COMES TO", "WHY")
NONE = "-"
REMEDY = "write CLUSTER/LABEL=VALUE or org/ID/LABEL=VALUE"

Edits = dict[Holder, dict[str, Edit]]


@click.command(
    cls=Command,
    name="what-if",
    examples="""
    tidegate upgrades what-if --set pay-prod-1/soak-days=2
    tidegate upgrades what-if --set pay-prod-1/mutexes= --set pay-prod-2/mutexes=  no mutexes
    tidegate upgrades what-if --set org/o-payments/sector-max-parallel-upgrades.prod=2 -o json
    tidegate upgrades what-if --set pay-prod-1/sector=stage --ocm-url https://api.openshift.com
    """,
)
@ground_options()
@click.option(
    "--set",
    "sets",
    metavar="CLUSTER/LABEL=VALUE",
    multiple=True,
    required=True,
    help="A label to try; an empty value removes it. May be repeated.",
)
@click.option("--apply-time", metavar="DURATION", help="How long an upgrade takes, if you know.")
@click.option("--pool-time", metavar="DURATION", help="How long a node pool takes.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def what_if_command(
    asked: Asked,
    sets: tuple[str, ...],
    apply_time: str | None,
    pool_time: str | None,
    output: str,
) -> None:
    """Show the effect of other labels: before and after, side by side.

    Shows every cluster whose next version, first shut gate or dates change, and what `lint` finds
    in only one of the two. Nothing is written. CLUSTER is a name, an external id or an id; labels
    are written without their prefix; `org/ID/LABEL=VALUE` is a label of an organisation.
    """
    pace, _ = pace_of(apply_time, pool_time)
    looked = asked.look()
    some = views(looked)
    grounds: dict[int, tuple[Ground, Edits]] = {id(e.ground): (e.ground, {}) for e in some}
    for text in sets:
        ground, holder, edit = _edit(some, text)
        grounds[id(ground)][1].setdefault(holder, {})[edit.label] = edit
    found = [(ground, *_compared(ground, edits, pace)) for ground, edits in grounds.values()]
    if output != "table":
        emit(_document(found), output)
    else:
        for line in _lines(found):
            say(line, wants_colour(asked.settings.color))
    _end(looked, found)


Found = list[tuple[Ground, tuple[Change, ...], WhatIf]]


def _edit(some: list[View], text: str) -> tuple[Ground, Holder, Edit]:
    """The label that is set, whoever has it; also if it is so already."""
    place, equals, value = text.partition("=")
    kind, _, rest = place.partition("/")
    if kind not in ("cluster", "org"):
        kind, rest = "cluster", place
    name, _, label = rest.rpartition("/")
    if not equals or not name or not label:
        raise click.UsageError(f'--set "{text}": no label of anybody; {REMEDY}')
    try:
        if kind == "org":
            ground, holder, labels = _org(some, name)
        else:
            ground, holder, labels = _cluster(some, name)
        edit = edit_of(holder, labels, label, value)
    except NoLabelError as error:
        raise click.UsageError(f'--set "{text}": {error}') from None
    return ground, holder, edit


def _cluster(some: list[View], name: str) -> tuple[Ground, Holder, dict[str, str]]:
    view, stand = the_cluster(some, name)
    cluster = stand.member.cluster
    return view.ground, cluster_holders(view.ground.world)[cluster.subscribed_as], cluster.labels


def _org(some: list[View], name: str) -> tuple[Ground, Holder, dict[str, str]]:
    every = [(view.ground, org) for view in some for org in view.ground.world.orgs]
    for ground, org in every:
        if name in (org.id, org.name):
            return ground, org_holder(org), org.labels
    known = [org.id for _, org in every if org.registered]
    raise click.UsageError(f'no organisation "{name}"; {nearest_or_all(name, known, "none")}')


def _compared(ground: Ground, edits: Edits, pace: Pace) -> tuple[tuple[Change, ...], WhatIf]:
    changes = tuple(
        Change(holder, new)
        for holder, mine in edits.items()
        if (new := tuple(each for each in mine.values() if each.before != each.after))
    )
    if not changes:
        return (), WhatIf((), (), ())
    return changes, what_if(ground.world, changes, ground.now, pace)


def _lines(found: Found) -> Iterable[str]:
    for _, changes, compared in found:
        for change in changes:
            for each in change.edits:
                values = f"{_value(each.before)} → {_value(each.after)}"
                yield f"{change.holder.text()}: {each.label} {values}"
        if compared.shifts:
            yield ""
            rows = [row for each in compared.shifts for row in _rows(each)]
            yield from layout(HEAD, rows, terminal_width())
        for word, findings in (("new", compared.appear), ("gone", compared.vanish)):
            if findings:
                yield from ("", f"{word} for lint:")
                yield from finding_lines(findings, terminal_width())


def _value(text: str | None) -> str:
    return "none" if text is None else f'"{text}"'


def _rows(shift: Shift) -> list[Row]:
    return [
        (shift.name, "before", *_cells(shift.before)),
        ("", "after", *_cells(shift.after)),
    ]


def _cells(aim: Aim | None) -> tuple[str, ...]:
    if aim is None:
        return (NONE, "", "", "takes no part")
    why = "starts now" if aim.shut is None else sentence(aim.shut)
    starts = NO_DATE if aim.starts_at is None else date_text(aim.starts_at)
    done = f"{aim.reaches} {date_text(aim.done_at)}" if aim.done_at is not None else NONE
    return (aim.next or NONE, starts, done, why)


def _document(found: Found) -> dict[str, Any]:
    return {
        "changes": [
            {"of": change.holder.text(), "label": e.label, "before": e.before, "after": e.after}
            for _, changes, _ in found
            for change in changes
            for e in change.edits
        ],
        "clusters": [_shift(each) for _, _, compared in found for each in compared.shifts],
        "findings": {
            "appear": [finding_doc(e) for _, _, compared in found for e in compared.appear],
            "vanish": [finding_doc(e) for _, _, compared in found for e in compared.vanish],
        },
    }


def _shift(shift: Shift) -> dict[str, Any]:
    return {
        "cluster": shift.name,
        "uuid": shift.uuid,
        "org": shift.fleet.org.id,
        "environment": shift.fleet.org.env,
        "before": _aim(shift.before),
        "after": _aim(shift.after),
    }


def _aim(aim: Aim | None) -> dict[str, Any] | None:
    if aim is None:
        return None
    return {
        "next": aim.next or None,
        "reaches": aim.reaches,
        "startsAt": _instant(aim.starts_at),
        "doneAt": _instant(aim.done_at),
        "why": None if aim.shut is None else verdict_doc(aim.shut),
    }


def _instant(at: Instant | None) -> str | None:
    return None if at is None else format_instant(at)


def _end(looked: Looked, found: Found) -> None:
    tell_rules(looked)
    looked.tell()
    if not any(changes for _, changes, _ in found):
        click.echo("all of these labels are so already", err=True)
    elif not any(c.shifts or c.appear or c.vanish for _, _, c in found):
        click.echo("no cluster goes elsewhere, sooner or later", err=True)
    looked.end()
