"""`tidegate journal show`: what happened, in the order of time, and what happens next."""

import time
from typing import TYPE_CHECKING

import click

from tidegate.app.journal.entries import EntryFeed, EntryList, EntryQuery
from tidegate.cli.answers.place import AnswerPlace, answers_option, service_client
from tidegate.cli.journal.entries import FORMATS, EntryPrinter
from tidegate.cli.live import opened
from tidegate.cli.moment import moment
from tidegate.cli.output import emit
from tidegate.cli.shape import Command
from tidegate.journal.selection import EntryFilter
from tidegate.kind_table import fact_tags
from tidegate.model.target import bare
from tidegate.wiring import clock

if TYPE_CHECKING:
    from tidegate.cli.answers.feed import ServiceFeed

KINDS = tuple(sorted(fact_tags()))
# How soon what is written is shown; a person does not notice less.
POLL_S = 0.25


@click.command(
    cls=Command,
    examples="""
    tidegate journal show --since 2h                       the last two hours
    tidegate journal show --target prod-eu-1 --gate mutex  when and why a mutex held one target
    tidegate journal show --kind asked --actor user:ada    requests of one person
    tidegate journal show -n 20 -w                         the last twenty, then new ones
    """,
)
@click.option("-p", "--partition", "partitions", multiple=True, help="Only this rollout.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only facts of this kind."
)
@click.option("--target", default="", help="Only entries about this target.")
@click.option("--gate", default="", help="Only where this gate's verdict, or its brake, changed.")
@click.option("--actor", default="", help="Only entries by this actor: tidegate, user:ada.")
@click.option("--since", metavar="TIME", help="From then on: 2h, 3d, or RFC 3339.")
@click.option("--until", metavar="TIME", help="Only what was before then.")
@click.option("-n", "--last", type=click.IntRange(min=0), help="Only the last N entries.")
@click.option("-w", "--watch", is_flag=True, help="Keep showing new entries.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True)
@answers_option
def show(
    partitions: tuple[str, ...],
    kinds: tuple[str, ...],
    target: str,
    gate: str,
    actor: str,
    since: str | None,
    until: str | None,
    last: int | None,
    watch: bool,
    output: str,
    place: AnswerPlace,
) -> None:
    """Show entries: when, by which actor, about which target.

    With -w, JSON is one object per line.
    """
    now = clock().now()
    begin = moment("--since", since, now) if since is not None else None
    end = moment("--until", until, now) if until is not None else None
    wanted = EntryFilter(kinds, actor, bare(target), gate, begin, end)
    query = EntryQuery(partitions=partitions, wanted=wanted, last=last)
    client = service_client(place)
    if client is not None:
        from tidegate.cli.answers.feed import ServiceFeed

        _show(ServiceFeed(client, query), output, watch=watch)
        return
    with opened(place.database) as archive:
        _show(EntryFeed(archive, query), output, watch=watch)


def _show(feed: "EntryFeed | ServiceFeed", output: str, *, watch: bool) -> None:
    if output != "table" and not watch:
        emit(EntryList(items=tuple(feed.past())), output)
        return
    printer = EntryPrinter(output)
    printer.write(feed.past())
    while watch:
        printer.flush()
        time.sleep(POLL_S)
        printer.write(feed.news())
    printer.close()
