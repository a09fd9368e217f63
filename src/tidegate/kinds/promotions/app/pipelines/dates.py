"""The expected dates of a pipeline: when each subscriber is offered its version."""

from collections.abc import Iterator

from tidegate.app.documents import RolloutDates, TargetDates
from tidegate.explain.pace import DatePace
from tidegate.explain.sentence import sentence
from tidegate.kinds.promotions.core.channels.foresight import (
    LOOKS_BRIEF,
    LOOKS_MAX,
    SubscriberForecast,
    forecast_subscribers,
)
from tidegate.kinds.promotions.core.channels.plan import PipelineWorld
from tidegate.kinds.promotions.core.requests.model import combination
from tidegate.model.time import SECOND, Instant, format_second

_DAY = 24 * 3600 * SECOND
# A merge has no date: people and queues decide about it.
_NONE, _MERGE = "0s", "an offer is made at once; its merge waits for people and has no date"


def pipeline_dates(
    partition: str, world: PipelineWorld, now: Instant, pace: DatePace, target: str | None = None
) -> RolloutDates:
    """The dates of every subscriber that has not its version, or of one."""
    until = Instant(now + pace.days * _DAY)
    looks = LOOKS_BRIEF if pace.brief else LOOKS_MAX
    found = forecast_subscribers(world.channels, now, until, looks)
    return RolloutDates(
        rollout=partition,
        apply_time=_NONE,
        apply_time_from=_MERGE,
        items=tuple(
            _dates(world, name, one, now)
            for name, one in found.items()
            if (target is None or name == target) and not one.is_done
        ),
    )


def _dates(world: PipelineWorld, name: str, one: SubscriberForecast, now: Instant) -> TargetDates:
    depends = (*_merges(world, name), *(sentence(each) for each in one.waits_for))
    return TargetDates(
        target=name,
        group="",
        starts_at=None if one.at is None else format_second(max(one.at, now)),
        done_at=None,
        depends_on=depends,
        held_by=None if one.held_by is None else sentence(one.held_by),
        not_before=None if one.not_before is None else format_second(one.not_before),
    )


def _merges(world: PipelineWorld, name: str) -> Iterator[str]:
    """The open merge request of a subscriber's channels."""
    subscriber = next(each for each in world.channels.subscribers if each.name == name)
    channels = combination(subscriber.channels)
    for each in world.requests.requests if world.requests is not None else ():
        if each.carries(channels):
            yield f"!{each.number} is merged"
