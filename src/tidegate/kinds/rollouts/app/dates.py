"""`when` of a rollout: the rules, run ahead with the time that changes usually take."""

import copy
from collections.abc import Iterable

from tidegate.app.documents import RolloutDates, TargetDates
from tidegate.explain.pace import DatePace
from tidegate.journal.chain import JournalEntry
from tidegate.kinds.rollouts.app.pace import usual_pace
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.simulated.forecast import STEPS_MAX, TargetForecast, forecast
from tidegate.model.time import Instant, format_duration, format_instant

# Steps times targets of an answer that is not about dates alone: some tenths of a second.
BRIEF_WORK = 30_000


def rollout_dates(
    partition: str,
    state: RolloutState,
    world: RolloutWorld,
    now: Instant,
    entries: Iterable[JournalEntry],
    pace: DatePace,
    target: str | None = None,
) -> RolloutDates:
    """When each target, or one, is expected to start and to be done."""
    usual, known_from = usual_pace(entries, pace.apply_time, world.strategy.deadline)
    ahead = copy.copy(state)
    ahead.brakes = world.brakes  # as they are now, not as they were recorded last
    size = len(world.targets)
    steps = max(1, BRIEF_WORK // max(1, size)) if pace.brief else STEPS_MAX
    expected = forecast(ahead, now, {}, usual, min(steps, STEPS_MAX))
    return RolloutDates(
        rollout=partition,
        apply_time=format_duration(usual),
        apply_time_from=known_from,
        items=tuple(_date(each) for each in expected if target in (None, each.target)),
    )


def _date(one: TargetForecast) -> TargetDates:
    return TargetDates(
        target=one.target,
        group=one.group,
        starts_at=format_instant(one.starts_at) if one.starts_at is not None else None,
        done_at=format_instant(one.done_at) if one.done_at is not None else None,
        depends_on=tuple(one.depends_on),
        held_by=one.held_by or None,
        not_before=format_instant(one.not_before) if one.not_before is not None else None,
    )
