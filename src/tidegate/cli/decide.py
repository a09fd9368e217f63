"""`tidegate decide`: the rules as a filter, for programs in any language.

Every line in gets one line out, in order, and is flushed at once, so that a program can keep the
filter running beside it. A line that cannot be answered gets an error; the lines after it are
answered.
"""

import sys
from collections.abc import Callable
from typing import IO, Any

import click
import msgspec

from tidegate.cli.main import USAGE
from tidegate.cli.shape import Command, LazyGroup
from tidegate.model.errors import UserError

_COMMANDS = {
    "rollout": ("tidegate.cli.decide:rollout", "Which clusters of a rollout start, and why"),
    "placement": ("tidegate.cli.decide:placement", "Decision groups of a Placement's clusters"),
    "shards": ("tidegate.cli.decide:shards", "Which shards integrations have"),
    "upgrades": ("tidegate.cli.decide:upgrades", "Which clusters are upgraded, and to what"),
    "promotions": ("tidegate.cli.decide:promotions", "What the auto-promotions manager decides"),
}
_encode = msgspec.json.Encoder().encode
_MODE = click.option(
    "--mode",
    type=click.Choice(("strict", "compat", "both")),
    default="strict",
    show_default=True,
    help="Tidegate's rules, exactly the predecessor's, or both with their differences.",
)


@click.command(
    cls=LazyGroup,
    commands_by_name=_COMMANDS,
    examples="""
    tidegate decide rollout < lines.jsonl
    tidegate decide rollout --mode both states.jsonl
    tidegate decide placement < placements.jsonl
    """,
)
def decide() -> None:
    """Decide for other programs: one JSON object per line in, one answer per line out."""


@click.command(
    cls=Command,
    examples="""
    tidegate decide rollout < lines.jsonl
    tidegate decide rollout --mode compat lines.jsonl | jq .toRollout
    tidegate decide rollout --mode both lines.jsonl | jq 'select(.differences != [])'
    """,
)
@click.argument("file", type=click.File("rb"), default="-")
@_MODE
def rollout(file: IO[bytes], mode: str) -> None:
    """Decide rollouts: which clusters start now, and why every other waits.

    Exits 2 if some line could not be decided; the others are still answered.
    """
    from tidegate.kinds.rollouts.wire import rollout_modes

    _filter(file, rollout_modes.MODES[mode])


@click.command(
    cls=Command,
    examples="""
    tidegate decide placement < placements.jsonl
    echo '{"placement": …, "clusters": […], "grouping": "stable"}' | tidegate decide placement
    """,
)
@click.argument("file", type=click.File("rb"), default="-")
def placement(file: IO[bytes]) -> None:
    """Form decision groups and PlacementDecisions from a Placement and its clusters.

    With `"grouping": "stable"` and the `previous` groups on the line, a cluster that joins never
    moves another between groups.
    """
    from tidegate.documents.line import parse_line
    from tidegate.kinds.policies.wire.placement_line import reply

    _filter(file, lambda raw: reply(parse_line(raw)))


@click.command(
    cls=Command,
    examples="""
    tidegate decide shards < integrations.jsonl
    tidegate decide shards --mode compat integrations.jsonl
    tidegate decide shards --mode both integrations.jsonl | jq .differences
    """,
)
@click.argument("file", type=click.File("rb"), default="-")
@_MODE
def shards(file: IO[bytes], mode: str) -> None:
    """Say which shards integrations have: their workloads, keys and arguments.

    One integration that cannot be sharded is listed under `errors`, and stops no other.
    """
    from tidegate.kinds.integrations.wire import shard_line

    _filter(file, shard_line.MODES[mode])


@click.command(
    cls=Command,
    examples="""
    tidegate decide upgrades < worlds.jsonl
    tidegate decide upgrades worlds.jsonl | jq -c '.writes[]'
    tidegate decide upgrades --mode compat worlds.jsonl
    tidegate decide upgrades --mode both worlds.jsonl | jq -c '.differences[]'
    """,
)
@click.argument("file", type=click.File("rb"), default="-")
@_MODE
def upgrades(file: IO[bytes], mode: str) -> None:
    """Say which clusters are upgraded to what, why every other version waits, and what is kept.

    A line is a whole reading of OCM: organisations, clusters with their labels, gates, history.
    """
    from tidegate.kinds.upgrades.wire import line as upgrade_line
    from tidegate.kinds.upgrades.wire import modes as upgrade_modes

    _filter(file, upgrade_modes.MODES[mode], upgrade_line.refusal)


@click.command(
    cls=Command,
    examples="""
    tidegate decide promotions --mode compat < lines.jsonl
    tidegate decide promotions --mode compat lines.jsonl | jq -c 'select(.out.has_diff).id'
    """,
)
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--mode",
    type=click.Choice(("compat",)),
    required=True,
    help="Exactly the predecessor's rules; there are no others here yet.",
)
def promotions(file: IO[bytes], mode: str) -> None:
    """Answer as the existing auto-promotions manager: versions, batches, ids, hashes, state.

    A line names its operation in `op`: desired, batch, parse, uid, title, hash and others.
    """
    from tidegate import wiring
    from tidegate.kinds.promotions.wire import channel_line

    clock = wiring.clock()
    answers = {"compat": lambda raw: channel_line.answer_compat(raw, clock.now())}
    _filter(file, answers[mode], channel_line.refusal)


def _filter(
    file: IO[bytes],
    answer: Callable[[bytes], Any],
    refusal: Callable[[object, UserError, str], dict[str, Any]] | None = None,
) -> None:
    """Answer line after line; remember only whether one was refused."""
    refused = False
    out = sys.stdout.buffer
    for number, raw in enumerate(file, start=1):
        if not raw.strip():
            continue
        try:
            answered = answer(raw)
        except UserError as error:
            refused = True
            click.echo(f"Error: line {number}: {error.text()}", err=True)
            answered = _refusal(raw, number, error, refusal)
        out.write(_encode(answered) + b"\n")
        out.flush()
    if refused:
        raise click.exceptions.Exit(USAGE)


def _refusal(
    raw: bytes,
    number: int,
    error: UserError,
    refusal: Callable[[object, UserError, str], dict[str, Any]] | None,
) -> dict[str, Any]:
    from tidegate.documents.line import ident_of
    from tidegate.kinds.rollouts.wire.rollout_answer import answer_problems

    refused = (refusal or answer_problems)(ident_of(raw), error, f"line {number}: ")
    return {"line": number, **refused}
