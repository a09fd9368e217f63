"""`tidegate verify`: what is promised against what runs, shard by shard."""

import asyncio
import time
from typing import TYPE_CHECKING

import click

from tidegate.cli.main import FAILURE
from tidegate.cli.shape import Command
from tidegate.kinds.integrations.cli.estate import Asked, estate_options, tell_troubles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.kinds.integrations.cli.shards import Meant
    from tidegate.kinds.integrations.core.review.proof import Proof

FORMATS = ("table", "wide", "json", "yaml")
DIFFERS, TIMED_OUT = 3, 124
# How often clusters are looked at again.
EVERY_S = 2.0
TIMEOUT = "1h"


@click.command(
    cls=Command,
    examples="""
    tidegate verify                                             every shard of the bundle here
    tidegate verify --integration terraform-resources -o wide   all of one, differing or not
    tidegate verify --revision origin/main --wait --timeout 30m  until they agree
    """,
)
@estate_options()
@click.option("--wait", is_flag=True, help="Repeat until they agree.")
@click.option("--timeout", metavar="DURATION", help=f"How long to wait.  [default: {TIMEOUT}]")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
def verify(asked: Asked, wait: bool, timeout: str | None, output: str) -> None:
    """Compare the image that the bundle declares for every shard with what its pods run.

    Pods are asked for their image and the digest they pulled, not only their workload. Shards that
    differ are listed with the reason; -o wide lists all.

    \b
    Exit codes:
      0    every shard runs the declared image
      1    something could not be read, or the bundle has errors
      3    some shard runs something else
      124  --wait timed out
    """
    from tidegate.kinds.integrations.cli.shards import meant_units

    if timeout is not None and not wait:
        raise click.UsageError("--timeout says how long to wait; write --wait as well")
    asked.tell_problems()
    ends_at = time.monotonic() + _seconds(timeout or TIMEOUT) if wait else None
    meant = meant_units(asked)
    if not meant:
        raise click.UsageError("no shard is meant; `tidegate get shards` lists them")
    proofs, troubles = asyncio.run(_proven(asked, meant, ends_at))
    _show(asked, proofs, output)
    tell_troubles(troubles)
    _end(asked, proofs, troubles, waited=wait)


def _seconds(text: str) -> float:
    from tidegate.model.time import SECOND, parse_duration

    try:
        return parse_duration(text) / SECOND
    except ValueError as error:
        raise click.UsageError(f'--timeout "{text}": {error}; like 30m') from None


async def _proven(
    asked: Asked, meant: "Meant", ends_at: float | None
) -> tuple[list["Proof"], list[str]]:
    """What runs; looked at again until it is as promised, or time is over."""
    said = ""
    while True:
        proofs, troubles = await look(asked, meant)
        done = not troubles and all(each.agrees for each in proofs)
        if done or ends_at is None:
            return proofs, troubles
        news = _progress(proofs, troubles)
        if news != said:
            click.echo(news, err=True)
            said = news
        if time.monotonic() >= ends_at:
            return proofs, troubles
        await asyncio.sleep(max(0.0, min(EVERY_S, ends_at - time.monotonic())))


async def look(asked: Asked, meant: "Meant") -> tuple[list["Proof"], list[str]]:
    """What every shard that is meant runs now, and what could not be read."""
    import msgspec

    from tidegate.kinds.integrations.app.sight import where_of
    from tidegate.kinds.integrations.cli.shards import row_in, sighted
    from tidegate.kinds.integrations.core.review.proof import Proof, proof_of

    proofs: list[Proof] = []
    async with sighted(asked, meant) as (_, seen, troubles):
        gaps: dict[str, None] = {}
        for place, unit in meant:
            where = where_of(place)
            sight = seen.get(where)
            row = row_in(place, unit, sight)
            if sight is None:
                proofs.append(Proof(row=row, read=False))
                continue
            proof = proof_of(place, unit, row, sight.workloads, sight.pods)
            if proof.why and not sight.complete:
                # What is not there may only not have been seen.
                proof = msgspec.structs.replace(proof, read=False)
                gaps[f"{'/'.join(where)}: not everything there could be read"] = None
            proofs.append(proof)
        return proofs, [*troubles, *gaps]


def _progress(proofs: "Sequence[Proof]", troubles: "Sequence[str]") -> str:
    """How far it is, and the first of those that are waited for."""
    from tidegate.kinds.integrations.cli.verify_text import headline

    late = [each for each in proofs if not each.agrees]
    first = f"; {late[0].row.shard}: {late[0].why}" if late and late[0].why else ""
    trouble = f"; {troubles[0]}" if troubles else ""
    return f"{headline(proofs)}{first}{trouble}"


def _show(asked: Asked, proofs: "Sequence[Proof]", output: str) -> None:
    from tidegate.cli.output import emit, say, terminal_width, wants_colour
    from tidegate.kinds.integrations.cli.verify_text import as_data, lines
    from tidegate.kinds.integrations.core.review.proof import moved_tags

    if output in ("json", "yaml"):
        emit(as_data(proofs), output)
    else:
        colour, wide = wants_colour(asked.settings.color), output == "wide"
        for line in lines(proofs, terminal_width(), wide=wide):
            say(line, colour)
    for tag, digests in moved_tags(proofs).items():
        what = f"the tag {tag} is {len(digests)} images: {', '.join(digests)}"
        click.echo(f"warning: {what}; promise a digest, or name a registry (--registry)", err=True)


def _end(
    asked: Asked, proofs: "Sequence[Proof]", troubles: "Sequence[str]", *, waited: bool
) -> None:
    differ = any(each.read and each.why for each in proofs)
    if waited and (differ or troubles):
        click.echo("they did not agree in time", err=True)
        raise click.exceptions.Exit(TIMED_OUT)
    if differ:
        raise click.exceptions.Exit(DIFFERS)
    if troubles or not asked.sound:
        raise click.exceptions.Exit(FAILURE)
