"""`tidegate journal verify`: every chain from its first kept entry to its last."""

import click

from tidegate.cli.journal import known_partition, opened
from tidegate.cli.main import FAILURE
from tidegate.cli.output import FORMATS, emit
from tidegate.cli.progress import Progress
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.explain.table import layout
from tidegate.journal.chain import Break
from tidegate.journal.pieces import Chain

_HEAD = ("PARTITION", "ENTRIES", "DROPPED", "HASH", "RESULT")


@click.command(
    cls=Command,
    examples="""
    tidegate journal verify
    tidegate journal verify --database backup.db -o json
    """,
)
@click.option("-p", "--partition", "partitions", multiple=True, help="Only this one.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@database_option
def verify(partitions: tuple[str, ...], output: str, database: str) -> None:
    """Check that no entry was changed, moved or removed.

    Exits 1 if one was, and names the first. HASH is that of a chain's last entry: kept
    elsewhere, it shows later whether the whole chain was rebuilt.
    """
    with opened(database) as archive:
        for name in partitions:
            known_partition(archive, name)
        chains = [c for c in archive.chains() if not partitions or c.partition in partitions]
        total = sum(chain.kept for chain in chains)
        with Progress("verified", total) as progress:
            found = [(chain, archive.verify(chain.partition, progress.tell)) for chain in chains]
    if output == "table":
        for line in layout(_HEAD, [_row(chain, broken) for chain, broken in found]):
            click.echo(line)
    else:
        items = [_document(chain, broken) for chain, broken in found]
        emit({"kind": "ChainList", "items": items}, output)
    if any(broken is not None for _, broken in found):
        raise click.exceptions.Exit(FAILURE)


def _row(chain: Chain, broken: Break | None) -> tuple[str, ...]:
    result = "ok" if broken is None else broken.what
    counts = (str(chain.kept), str(chain.base_seq))
    return (chain.partition, *counts, chain.hash.hex(), result)


def _document(chain: Chain, broken: Break | None) -> dict[str, object]:
    return {
        "partition": chain.partition,
        "entries": chain.kept,
        "dropped": chain.base_seq,
        "seq": chain.seq,
        "hash": chain.hash.hex(),
        "ok": broken is None,
        "broken": None if broken is None else {"seq": broken.seq, "what": broken.what},
    }
