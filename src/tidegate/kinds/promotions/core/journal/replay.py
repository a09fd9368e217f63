"""Decisions about a promotion, made again from its journal by today's rules."""

from collections.abc import Iterable, Iterator

from tidegate.journal.chain import JournalEntry
from tidegate.journal.facts import Folded
from tidegate.journal.replay import DecisionDifference, Replayed
from tidegate.kinds.promotions.core.decide import VersionChange, decide
from tidegate.kinds.promotions.core.journal.facts import EnvironmentVerdicts, PromotionDecided
from tidegate.kinds.promotions.core.journal.known import PromotionState, world_of
from tidegate.kinds.promotions.core.journal.record import digest, stands_of
from tidegate.kinds.promotions.core.journal.state import fold


def replay(entries: Iterable[JournalEntry]) -> Iterator[Replayed]:
    """Every recorded decision, in order; entries before the first known state are skipped."""
    state, known = PromotionState(), False
    for entry in entries:
        fact = entry.fact()
        known = known or entry.seq == 1 or isinstance(fact, Folded)
        if not known:
            continue
        if isinstance(fact, PromotionDecided):
            found = _again(state, fact)
            if found is not None:
                yield Replayed(entry.seq, len(found[0]), found[1])
        state = fold(state, entry.at, fact, entry.actor)


def _again(
    state: PromotionState, fact: PromotionDecided
) -> tuple[list[EnvironmentVerdicts], DecisionDifference | None] | None:
    world = world_of(state, state.brakes)
    if world is None:
        return None
    decision = decide(world, fact.now)
    stands = stands_of(world, decision)
    changes = decision.changes
    # Earlier decisions did not name the branch of the offer that they updated.
    same = [_what(each) for each in changes] == [_what(task.change) for task in fact.tasks]
    if same and digest(stands, fact.tasks) == fact.digest:
        return stands, None
    then = state.stands | {each.target: each for each in fact.changed}
    for each in stands:
        if then.get(each.target) != each:
            before, after = _lines(then.get(each.target)), _lines(each)
            return stands, DecisionDifference(each.target, before, after)
    offered = tuple(task.target for task in fact.tasks)
    now = tuple(",".join(each.environments) for each in changes)
    return stands, DecisionDifference("the promotion", offered or ("nothing",), now or ("nothing",))


def _what(change: VersionChange) -> tuple[str, tuple[str, ...], str]:
    return change.version, change.environments, change.request


def _lines(stand: EnvironmentVerdicts | None) -> tuple[str, ...]:
    if stand is None:
        return ("not known",)
    return tuple(f"{outcome} {gate} {reason}" for gate, outcome, reason, _ in stand.verdicts)
