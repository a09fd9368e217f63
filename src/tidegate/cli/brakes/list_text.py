"""`tidegate get holds|freezes|blocks|expedites|claims`: the brakes that are on, and the claims."""

import click
from msgspec import UNSET

from tidegate.app.brakes.brake_list import BrakeItem, BrakeList
from tidegate.app.brakes.claims import ClaimList
from tidegate.app.brakes.scope import covers
from tidegate.cli.answers.port import AnswerSource
from tidegate.cli.output import emit, terminal_width
from tidegate.explain.table import Row, layout


def list_brakes(
    answers: AnswerSource, what: str, name: str | None, output: str, headed: bool
) -> None:
    """List brakes of one kind, or claims."""
    noun = what.removesuffix("s")
    found = answers.claim_list(name) if what == "claims" else answers.brake_list(noun, name)
    if output == "name":
        for each in found.items:
            click.echo(f"{noun}/{each.name}")
    elif output in ("json", "yaml"):
        emit(found, output)
    elif not found.items:
        click.echo(f"no {what}", err=True)
    else:
        head, rows = (
            _claims(found) if isinstance(found, ClaimList) else _brakes(found, what, output)
        )
        for line in layout(head, rows, terminal_width(), headed=headed):
            click.echo(line)


def _claims(found: ClaimList) -> tuple[Row, list[Row]]:
    head = ("NAME", "PLACE", "TARGET", "ROLLOUT", "SINCE")
    return head, [(e.name, str(e.place), e.target, e.rollout, e.since) for e in found.items]


# The column that only one kind of brake has, and the field it shows.
_EXTRAS = {
    "freezes": ("NEXT", "next"),
    "blocks": ("REVISION", "revision"),
    "expedites": ("VERSION", "version"),
}


def _brakes(found: BrakeList, what: str, output: str) -> tuple[Row, list[Row]]:
    head: Row = ("NAME", "COVERS", "OWNER", "EXPIRES", "REASON")
    title, field = _EXTRAS.get(what, ("", ""))
    if title:
        head = (head[0], title, *head[1:])
    wide = output == "wide"
    if wide:
        head += ("SINCE", "BY")
    return head, [_row(each, field, wide=wide) for each in found.items]


def _row(item: BrakeItem, extra: str, *, wide: bool) -> Row:
    scope = covers(item.scope)
    row = [item.name, scope, item.owner, expiry(item.expires, item.in_force), item.reason]
    if extra:
        value = getattr(item, extra)
        row.insert(1, str(value) if value is not UNSET and value else "-")
    if wide:
        row += [item.since or "-", (item.by or "-").removeprefix("user:")]
    return tuple(row)


def expiry(expires: str | None, in_force: bool) -> str:
    """When a brake ends, or whether it has."""
    if expires is None:
        return "never"
    return expires if in_force else "expired"
