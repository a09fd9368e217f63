"""`tidegate journal compact`: old entries are dropped, the state they led to stays."""

import click

from tidegate.app.journal.chains import chains_of
from tidegate.app.journal.compaction import (
    CompactionReport,
    CompactionRequest,
    plan_compaction,
)
from tidegate.app.journal.compaction import compact as compact_journal
from tidegate.cli.answers.place import own_journal_option
from tidegate.cli.live import actor, confirmed, opened
from tidegate.cli.moment import moment
from tidegate.cli.render.progress import Progress
from tidegate.cli.shape import Command
from tidegate.kind_table import rules_of
from tidegate.wiring import clock


@click.command(
    cls=Command,
    examples="""
    tidegate journal compact --dry-run
    tidegate journal compact --keep 90d --yes
    tidegate journal compact simulated/demo --keep 0s
    """,
)
@click.argument("partitions", nargs=-1)
@click.option(
    "--keep", default="30d", show_default=True, help="Keep entries younger than this: 90d, 12h."
)
@click.option("--dry-run", is_flag=True, help="Show what would be dropped, and drop nothing.")
@click.option("--reason", default="", help="Why; kept in the journal.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@own_journal_option
def compact(
    partitions: tuple[str, ...], keep: str, dry_run: bool, reason: str, yes: bool, database: str
) -> None:
    """Drop old entries of rollouts, and keep the state they led to.

    Each chain is verified first, and can be verified afterwards. Dropped entries cannot be
    restored: export the journal, or back it up, before.
    """
    now = clock().now()
    request = CompactionRequest(
        before=moment("--keep", keep, now), partitions=partitions, reason=reason
    )
    with opened(database, writes=not dry_run) as archive:
        total = sum(chain.kept for chain in chains_of(archive, partitions))
        with Progress("verified", total) as progress:
            plan = plan_compaction(archive, rules_of, request, progress.tell)
        dropped = sum(each.dropped for each in plan.report.items)
        confirmed("\n".join(_lines(plan.report)), dropped, yes or dry_run, free=0)
        if not dry_run:
            compact_journal(archive, rules_of, plan, actor(), now)


def _lines(report: CompactionReport) -> list[str]:
    return [
        f"{each.partition}: {each.dropped} of {each.entries} entries go for good, the state stays"
        for each in report.items
    ] or ["nothing is old enough to be dropped"]
