"""When each subscriber is offered its version, if nothing but time passes: the rules, run ahead.

Soak, schedules, freezes and expiries of brakes open by the clock, and each says until when it is as
it is. So the plan is made again at every such moment, with the facts of now. What no clock opens is
named: a deployment that was not seen, an approval, a quarantine.
"""

from collections.abc import Mapping

import msgspec

from tidegate.kinds.promotions.core.channels.decide import ChannelDecision, decide
from tidegate.kinds.promotions.core.channels.model import ChannelWorld
from tidegate.kinds.promotions.core.explain.view import first_shut
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

# Moments at which the plan is made again: two a day for a schedule, over the days that are asked
# for, of many subscribers with schedules of their own.
LOOKS_MAX = 5_000
# For an answer that is not about dates alone.
LOOKS_BRIEF = 24


class SubscriberForecast(msgspec.Struct, frozen=True, kw_only=True):
    """When one subscriber is offered its version, or what keeps it."""

    # None: not before `not_before`, or not by the clock alone.
    at: Instant | None = None
    # What no clock opens; None: nothing.
    held_by: Verdict | None = None
    # Gates that the clock opens first.
    waits_for: tuple[Verdict, ...] = ()
    # Up to when it was looked; None: it has a date, or never gets one by the clock alone.
    not_before: Instant | None = None
    is_done: bool = False


def forecast_subscribers(
    world: ChannelWorld, now: Instant, until: Instant, looks: int = LOOKS_MAX
) -> Mapping[str, SubscriberForecast]:
    """What is expected of every subscriber, by its name."""
    found: dict[str, SubscriberForecast] = {}
    names = [each.name for each in world.subscribers]
    moment: Instant | None = now
    first = last = decide(world, now)
    for _ in range(looks):
        if moment is None or moment > until:
            break
        last = decide(world, moment)
        for at in last.wanted:
            known = SubscriberForecast(at=moment, waits_for=_timed(first, at))
            found.setdefault(names[at], known)
        if len(found) == len(names):
            break
        moment = last.recheck_at
    for at, name in enumerate(names):
        if name not in found:
            found[name] = _without_date(first, last, at, moment)
    return found


def _timed(decision: ChannelDecision, at: int) -> tuple[Verdict, ...]:
    """Shut gates that the clock opens."""
    return tuple(each for each in _shut(decision, at) if each.until is not None)


def _shut(decision: ChannelDecision, at: int) -> list[Verdict]:
    verdicts = decision.options[at].verdicts
    passing = (ProgressReason.InFlightSaying,)
    return [
        each for each in verdicts if each.outcome is not Outcome.PASS and each.reason not in passing
    ]


def _without_date(
    first: ChannelDecision, last: ChannelDecision, at: int, moment: Instant | None
) -> SubscriberForecast:
    shut = _shut(last, at)
    if any(each.reason is ProgressReason.Done for each in shut):
        return SubscriberForecast(is_done=True)
    held = first_shut(tuple(each for each in shut if each.until is None))
    waits = _timed(first, at)
    if held is not None:
        return SubscriberForecast(held_by=held, waits_for=waits)
    return SubscriberForecast(not_before=moment, waits_for=waits)
