"""`tidegate journal verify`: every chain from its first kept entry to its last."""

import click

from tidegate.app.journal.chains import ChainList, ChainRow, chains_of, verify_chains
from tidegate.cli.answers.place import AnswerPlace, answers_option, service_client
from tidegate.cli.live import opened
from tidegate.cli.main import FAILURE
from tidegate.cli.output import FORMATS, emit
from tidegate.cli.render.progress import Progress
from tidegate.cli.shape import Command
from tidegate.explain.table import layout

_HEAD = ("PARTITION", "ENTRIES", "DROPPED", "HASH", "RESULT")


@click.command(
    cls=Command,
    examples="""
    tidegate journal verify
    tidegate journal verify --database backup.db -o json
    """,
)
@click.option("-p", "--partition", "partitions", multiple=True, help="Only this rollout.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@answers_option
def verify(partitions: tuple[str, ...], output: str, place: AnswerPlace) -> None:
    """Check that no entry was changed, moved or removed.

    Exits 1 if one was, and names the first. HASH is that of a chain's last entry: kept
    elsewhere, it shows later whether the whole chain was rebuilt.
    """
    found = _verified(place, partitions)
    if output == "table":
        for line in layout(_HEAD, [_row(each) for each in found.items]):
            click.echo(line)
    else:
        emit(found, output)
    if not all(each.ok for each in found.items):
        raise click.exceptions.Exit(FAILURE)


def _verified(place: AnswerPlace, partitions: tuple[str, ...]) -> ChainList:
    client = service_client(place)
    if client is not None:
        return client.get("/verify", {"rollout": list(partitions)}, ChainList)
    with opened(place.database) as archive:
        chains = chains_of(archive, partitions)
        with Progress("verified", sum(chain.kept for chain in chains)) as progress:
            return verify_chains(archive, chains, progress.tell)


def _row(row: ChainRow) -> tuple[str, ...]:
    result = "ok" if row.broken is None else row.broken.what
    return (row.partition, str(row.entries), str(row.dropped), row.hash, result)
