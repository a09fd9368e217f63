"""From what was read and decided to the facts that are recorded: only what differs from before."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from tidegate.journal.fact import Mode
from tidegate.journal.keys import task_key
from tidegate.journal.verdict_marks import marks_of
from tidegate.kinds.promotions.core.decide import PromotionDecision
from tidegate.kinds.promotions.core.journal.facts import (
    EnvironmentVerdicts,
    PromotionDecided,
    PromotionRead,
    PromotionTask,
    Verified,
)
from tidegate.kinds.promotions.core.journal.known import PromotionReading, PromotionState
from tidegate.kinds.promotions.core.verification import EnvironmentRuns, running_checks
from tidegate.kinds.promotions.core.world import OfferState, PromotionWorld
from tidegate.model.time import Instant


def read_fact(state: PromotionState, reading: PromotionReading) -> PromotionRead | None:
    """What a reading found that is not as before; None: nothing that matters to a decision."""
    known = state.read
    news: dict[str, Any] = {
        name: getattr(reading, name)
        for name in PromotionReading.__struct_fields__
        if known is None or getattr(known, name) != getattr(reading, name)
    }
    if not news and not _awaits_reading(state):
        return None
    return PromotionRead(**news)


def _awaits_reading(state: PromotionState) -> bool:
    """Whether a merge was seen that the last reading was too early for."""
    return any(
        offer.state is OfferState.MERGED
        and offer.changed_at is not None
        and (state.read_at is None or state.read_at <= offer.changed_at)
        for offer in state.offers.values()
    )


def verified_fact(
    state: PromotionState, version: str, seen: Iterable[EnvironmentRuns]
) -> Verified | None:
    """The checks with another result than before; None: there is none.

    `version`: the newest, where what was seen does not name the version that was requested.
    """
    checks = running_checks(state.checks, version, seen)
    news = tuple(each for each in checks if state.checks.get(each.environment) != each)
    return Verified(checks=news) if news else None


def decided_fact(
    partition: str,
    seq: int,
    state: PromotionState,
    world: PromotionWorld,
    decision: PromotionDecision,
    now: Instant,
    mode: Mode,
) -> PromotionDecided:
    """What is recorded of a plan, as entry number `seq` of its partition."""
    stands = stands_of(world, decision)
    named = [(",".join(each.environments), each) for each in decision.changes]
    tasks = tuple(
        PromotionTask(task_key(partition, str(seq), target), target, change)
        for target, change in named
    )
    return PromotionDecided(
        now=now,
        mode=mode,
        version=world.version,
        tasks=tasks,
        changed=tuple(each for each in stands if state.stands.get(each.target) != each),
        recheck_at=decision.recheck_at,
        digest=digest(stands, tasks),
    )


def stands_of(world: PromotionWorld, decision: PromotionDecision) -> list[EnvironmentVerdicts]:
    """What every gate says of every environment."""
    targets = world.targets()
    return [
        EnvironmentVerdicts(targets[option.target].name, marks_of(option.verdicts))
        for option in decision.options
    ]


def digest(stands: Iterable[EnvironmentVerdicts], tasks: Iterable[PromotionTask]) -> str:
    """A digest of a whole plan: two plans that decide and explain the same have the same."""
    texts = [f"{each.target} {each.verdicts}" for each in stands]
    texts += [f"{each.target} {each.change.version}" for each in tasks]
    return blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()
