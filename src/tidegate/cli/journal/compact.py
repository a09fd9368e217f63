"""`tidegate journal compact`: old entries go, the state they led to stays.

Rollouts and organisations are compacted: their state is a fold that a Folded fact can hold. A
partition with other facts (brakes) is small, and left alone.
"""

import click
import msgspec

from tidegate.cli.journal import known_partition, opened
from tidegate.cli.live import confirmed, signed
from tidegate.cli.main import FAILURE
from tidegate.cli.moment import moment
from tidegate.cli.progress import Progress
from tidegate.cli.setting_options import database_option
from tidegate.cli.shape import Command
from tidegate.journal.facts import Folded
from tidegate.journal.pieces import Chain
from tidegate.kind_table import rules_of
from tidegate.model.errors import StaleError
from tidegate.model.time import Instant
from tidegate.store.archive_port import Archive
from tidegate.store.port import Head
from tidegate.wiring import clock

# Whoever writes to a rollout while it is folded makes the fold stale; then it is folded again.
TRIES_MAX = 5


class Folding(msgspec.Struct, frozen=True):
    """What compacting one partition does."""

    chain: Chain
    keep_after: int
    # The state after the chain's last entry.
    state: bytes

    @property
    def dropped(self) -> int:
        """How many entries go."""
        return self.keep_after - self.chain.base_seq


@click.command(
    cls=Command,
    examples="""
    tidegate journal compact --dry-run
    tidegate journal compact --keep 90d --yes
    tidegate journal compact simulated/demo --keep 0s
    """,
)
@click.argument("partitions", nargs=-1)
@click.option("--keep", default="30d", show_default=True, help="Keep what is younger: 90d, 12h.")
@click.option("--dry-run", is_flag=True, help="Only say what would be dropped.")
@click.option("--reason", default="", help="Why; kept in the journal.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_option
def compact(
    partitions: tuple[str, ...], keep: str, dry_run: bool, reason: str, yes: bool, database: str
) -> None:
    """Drop old entries of rollouts, and keep the state they led to.

    Each chain is verified first, and can be verified afterwards. Dropped entries cannot be
    restored: export the journal, or back it up, before.
    """
    now = clock().now()
    before = moment("--keep", keep, now)
    with opened(database, writes=not dry_run) as archive:
        for name in partitions:
            known_partition(archive, name)
        chains = [c for c in archive.chains() if not partitions or c.partition in partitions]
        _verify(archive, chains)
        found = [_fold(archive, chain, before) for chain in chains]
        _name_others(chains, found, partitions)
        # To drop one entry and to write another is to gain nothing.
        foldings = [each for each in found if each is not None and each.dropped > 1]
        _confirm(foldings, yes or dry_run)
        if not dry_run:
            for folding in foldings:
                _carry_out(archive, folding, before, now, reason)


def _verify(archive: Archive, chains: list[Chain]) -> None:
    """A chain that does not hold is not cut: it may be all the evidence there is."""
    with Progress("verified", sum(chain.kept for chain in chains)) as progress:
        for chain in chains:
            broken = archive.verify(chain.partition, progress.tell)
            if broken is not None:
                what = f"{chain.partition}: {broken.what}; nothing was dropped"
                click.echo(f"Error: {what}", err=True)
                raise click.exceptions.Exit(FAILURE)


def _fold(archive: Archive, chain: Chain, before: Instant) -> Folding | None:
    """What to drop of a chain; None if its facts are not those of a state."""
    rules = rules_of(chain.partition)
    state, keep_after, old = rules.empty(), chain.base_seq, True
    for entry in archive.read(chain.partition, limit=chain.kept):
        fact = entry.fact()
        if not isinstance(fact, rules.facts):
            return None
        state = rules.fold(state, entry.at, fact, entry.actor)
        old = old and entry.at < before
        keep_after = entry.seq if old else keep_after
    return Folding(chain, keep_after, rules.encode(state))


def _name_others(chains: list[Chain], found: list[Folding | None], named: tuple[str, ...]) -> None:
    """Whoever asks for a partition that is no rollout is told so."""
    for chain, folding in zip(chains, found, strict=True):
        if folding is None and chain.partition in named:
            what = f"{chain.partition}: not a rollout; its facts are kept"
            raise click.UsageError(what)


def _confirm(foldings: list[Folding], yes: bool) -> None:
    lines = [
        f"{each.chain.partition}: {each.dropped} of {each.chain.kept} entries go, the state stays"
        for each in foldings
    ]
    text = "\n".join(lines) or "nothing is old enough to be dropped"
    confirmed(text, sum(each.dropped for each in foldings), yes)


def _carry_out(
    archive: Archive, folding: Folding, before: Instant, now: Instant, reason: str
) -> None:
    """Compact a chain as it was folded; if it moved on meanwhile, fold it again."""
    for left in reversed(range(TRIES_MAX)):
        chain = folding.chain
        fact = Folded(state=msgspec.Raw(folding.state), facts=chain.seq, reason=reason)
        note = signed(fact, now)
        after = Head(chain.seq, chain.hash)
        try:
            archive.compact(chain.partition, note, keep_after=folding.keep_after, after=after)
        except StaleError:
            if not left:
                raise
        else:
            return
        (moved,) = (each for each in archive.chains() if each.partition == chain.partition)
        again = _fold(archive, moved, before)
        if again is None:
            return  # somebody wrote a fact that no rollout has
        folding = again
