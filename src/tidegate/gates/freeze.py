"""A freeze is a calendar in which nothing starts; targets in progress finish.

Its spans are concrete and in UTC: rules, calendar files and time zones were worked out where they
entered, up to a named horizon. A span begins at its first instant and is over at its last.

With `finish_before`, nothing starts that cannot be done, its soak included, before the freeze: each
span then reaches back by what a start takes. Worked numbers: a freeze from 18:00 to 20:00, 30 m to
apply and 1 h of soak: a start is possible until 16:29:59.9…, and again from 20:00 on.
"""

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from tidegate.gates.block import is_like
from tidegate.gates.scope import Brake, Scope, in_force
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, verdict


class Span(msgspec.Struct, frozen=True, gc=False):
    """A stretch of time; its end is no part of it."""

    start: Instant
    end: Instant


class Exemption(msgspec.Struct, frozen=True, kw_only=True):
    """Targets that may start in spite of a freeze, for a time."""

    scope: Scope
    owner: str
    why: str
    expires_at: Instant
    # The revisions it is for, as a pattern; None: every revision.
    revision: str | None = None


class Freeze(Brake, frozen=True, kw_only=True):
    """Nothing starts at these times. Make one with `spans` in order and apart (`joined`)."""

    spans: tuple[Span, ...]
    # What lies behind this moment was not worked out; None: there is nothing behind it.
    known_until: Instant | None = None
    finish_before: bool = False
    exemptions: tuple[Exemption, ...] = ()


# A freeze that covers a target, with those of its exemptions that cover it too.
Frozen = tuple[Freeze, tuple[Exemption, ...]]


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in order, with those that touch or overlap made one; empty ones are dropped."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if span.end <= span.start:
            continue
        if found and span.start <= found[-1].end:
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
        else:
            found.append(span)
    return tuple(found)


def freeze_verdicts(
    freezes: Iterable[Frozen], revision: str | None, need: Duration | None, now: Instant
) -> list[Verdict]:
    """What the freezes that cover a target say: each that is on, or that none is and until when.

    `need` is what a start takes until it has soaked; None: not known.
    """
    said: list[Verdict] = []
    opens_until: list[Instant] = []
    for freeze, exemptions in freezes:
        if not in_force(freeze, now):
            continue
        shut = _shut(freeze, need, now)
        if shut is None:
            opens_until += _next_shut(freeze, need, now)
            continue
        said.append(_excepted(freeze, exemptions, shut, revision, now) or shut)
    if said:
        return said
    return [verdict(BrakeReason.NotFrozen, until=min(opens_until, default=None))]


def freezes_that_spare(freezes: Iterable[Frozen], now: Instant) -> list[Verdict]:
    """What the same freezes say of a target that is under way already."""
    found: list[Verdict] = []
    for freeze, _ in freezes:
        span = _span_at(freeze, now) if in_force(freeze, now) else None
        if span is not None:
            end = _first(freeze, span.end)
            found.append(verdict(BrakeReason.FreezeSpares, freeze.name, freeze.owner, until=end))
    return found


def freeze_moments(freezes: Iterable[Frozen], need: Duration | None, now: Instant) -> list[Instant]:
    """When any of them says something else, whatever the others say: to look again then."""
    moments: list[Instant] = []
    for freeze, exemptions in freezes:
        ahead = _next_span(freeze, now)
        moments += [ahead.start] if ahead is not None else []
        moments += _next_shut(freeze, need, now)
        moments += [each.expires_at for each in exemptions]
    return [moment for moment in moments if moment > now]


def _shut(freeze: Freeze, need: Duration | None, now: Instant) -> Verdict | None:
    """Why nothing starts now; None if something may."""
    known = freeze.known_until
    if known is not None and now >= known:
        return verdict(BrakeReason.CalendarEnds, freeze.name, freeze.owner, known)
    span = _span_at(freeze, now)
    if span is not None:
        # What is cut off at the horizon may well go on behind it.
        end, cut = _first(freeze, span.end), span.end == known
        said = (freeze.name, freeze.why, freeze.owner)
        return verdict(BrakeReason.Frozen, *said, until=end, estimate=cut)
    ahead = _next_span(freeze, now) if freeze.finish_before else None
    if ahead is None:
        return None
    end = _first(freeze, ahead.end)
    if need is None:
        said_begin = (freeze.name, freeze.why, freeze.owner, ahead.start)
        return verdict(BrakeReason.FinishUnknown, *said_begin, until=end)
    if now >= ahead.start - need:
        said_need = (freeze.name, freeze.why, freeze.owner, need, ahead.start)
        return verdict(BrakeReason.TooLateBeforeFreeze, *said_need, until=end)
    return None


def _excepted(
    freeze: Freeze,
    exemptions: tuple[Exemption, ...],
    shut: Verdict,
    revision: str | None,
    now: Instant,
) -> Verdict | None:
    """The exemption that lasts longest speaks; nothing excepts from a calendar we cannot read."""
    if shut.reason is BrakeReason.CalendarEnds:
        return None
    mine = [each for each in exemptions if now < each.expires_at and _is_for(each, revision)]
    if not mine:
        return None
    best = max(mine, key=lambda each: (each.expires_at, each.owner, each.why))
    until = min(best.expires_at, shut.until) if shut.until is not None else best.expires_at
    return verdict(BrakeReason.FreezeExcepted, freeze.name, best.why, best.owner, until=until)


def _is_for(exemption: Exemption, revision: str | None) -> bool:
    pattern = exemption.revision
    return pattern is None or (revision is not None and is_like(revision, pattern))


def _next_shut(freeze: Freeze, need: Duration | None, now: Instant) -> list[Instant]:
    """When it will be on next, as far as the calendar is known."""
    ahead, known, expiry = _next_span(freeze, now), freeze.known_until, freeze.expires_at
    moments = [known] if known is not None and (expiry is None or known < expiry) else []
    if ahead is not None:
        early = need or 0 if freeze.finish_before else 0
        moments.append(Instant(ahead.start - early))
    return [min(moments)] if moments else []


def _span_at(freeze: Freeze, now: Instant) -> Span | None:
    at = bisect_right(freeze.spans, now, key=lambda span: span.start) - 1
    return freeze.spans[at] if at >= 0 and now < freeze.spans[at].end else None


def _next_span(freeze: Freeze, now: Instant) -> Span | None:
    """The next one that begins later, and before the freeze itself expires."""
    at = bisect_right(freeze.spans, now, key=lambda span: span.start)
    if at == len(freeze.spans):
        return None
    span, expiry = freeze.spans[at], freeze.expires_at
    return span if expiry is None or span.start < expiry else None


def _first(freeze: Freeze, end: Instant) -> Instant:
    """What comes first: the end of a span, of the freeze, or of what is known of it."""
    others = (freeze.expires_at, freeze.known_until)
    return min([end, *(moment for moment in others if moment is not None)])
