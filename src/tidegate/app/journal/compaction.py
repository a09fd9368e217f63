"""Old entries are dropped, the state they led to stays.

Partitions of every kind are compacted: their state is a fold that a Folded fact can hold. A
partition with other facts (brakes) is small, and unchanged.
"""

from collections.abc import Sequence

import msgspec

from tidegate.app.journal.chains import chains_of, verify_chains
from tidegate.app.partitions.journals import RulesOf
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Folded
from tidegate.journal.pieces import Chain
from tidegate.model.document import Document, Part
from tidegate.model.errors import OutsideError, StaleError, UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Instant
from tidegate.store.archive_port import Archive
from tidegate.store.port import Head, Tell

# A write to a rollout while it is folded makes the fold stale; then it is folded again.
TRIES_MAX = 5


class CompactionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to compact."""

    # Entries before this moment are dropped.
    before: Instant
    # None named: all.
    partitions: tuple[str, ...] = ()
    reason: str = ""


class CompactedChain(Part, frozen=True):
    """One chain, and how many of its entries are dropped."""

    partition: str
    entries: int
    dropped: int


class CompactionReport(Document, frozen=True, kw_only=True):
    """Entries that are dropped, or would be; the state they led to is kept."""

    items: tuple[CompactedChain, ...]


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


class CompactionPlan(msgspec.Struct, frozen=True):
    """Chains that hold and can be compacted, and what is said of it."""

    request: CompactionRequest
    foldings: tuple[Folding, ...]
    report: CompactionReport


def plan_compaction(
    archive: Archive, rules_of: RulesOf, request: CompactionRequest, tell: Tell | None = None
) -> CompactionPlan:
    """Verify chains, and say what would be dropped of each.

    OutsideError if one does not hold; UserError if one is named that has no state.
    """
    chains = chains_of(archive, request.partitions)
    for each in verify_chains(archive, chains, tell).items:
        if each.broken is not None:
            what = f"{each.partition}: {each.broken.what}; nothing was dropped"
            raise OutsideError(what)
    found = [_fold(archive, rules_of, chain, request.before) for chain in chains]
    _name_others(chains, found, request.partitions)
    # To drop one entry and to write another is to gain nothing.
    foldings = tuple(each for each in found if each is not None and each.dropped > 1)
    items = (
        CompactedChain(
            partition=each.chain.partition, entries=each.chain.kept, dropped=each.dropped
        )
        for each in foldings
    )
    return CompactionPlan(request, foldings, CompactionReport(items=tuple(items)))


def compact(
    archive: Archive, rules_of: RulesOf, plan: CompactionPlan, actor: str, now: Instant
) -> CompactionReport:
    """Drop what was planned; where a chain moved on meanwhile, it is folded again."""
    for folding in plan.foldings:
        _carry_out(archive, rules_of, folding, plan.request, (actor, now))
    return plan.report


def _carry_out(
    archive: Archive,
    rules_of: RulesOf,
    folding: Folding,
    request: CompactionRequest,
    by: tuple[str, Instant],
) -> None:
    """Compact a chain as it was folded; if it moved on meanwhile, fold it again."""
    actor, now = by
    for left in reversed(range(TRIES_MAX)):
        chain = folding.chain
        fact = Folded(state=msgspec.Raw(folding.state), facts=chain.seq, reason=request.reason)
        note, after = JournalNote(now, actor, fact), Head(chain.seq, chain.hash)
        try:
            archive.compact(chain.partition, note, keep_after=folding.keep_after, after=after)
        except StaleError:
            if not left:
                raise
        else:
            return
        (moved,) = chains_of(archive, (chain.partition,))
        again = _fold(archive, rules_of, moved, request.before)
        if again is None:
            return  # a fact was written that no rollout has
        folding = again


def _fold(archive: Archive, rules_of: RulesOf, chain: Chain, before: Instant) -> Folding | None:
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


def _name_others(
    chains: Sequence[Chain], found: Sequence[Folding | None], named: tuple[str, ...]
) -> None:
    """UserError for the first partition that is named and has no state."""
    for chain, folding in zip(chains, found, strict=True):
        if folding is None and chain.partition in named:
            raise UserError((Problem(chain.partition, "not a rollout", "its facts are kept"),))
