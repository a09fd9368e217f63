"""The facts in which a reading of a fleet differs from what is known: only these are recorded."""

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.kinds.rollouts.core.journal.facts import RolloutDeclared, TargetsObserved
from tidegate.kinds.rollouts.core.journal.state import RolloutState, is_void
from tidegate.kinds.rollouts.fleet import Observation
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant

# For so long after a task was sent, a reading of its target may not show it yet.
LAG_MAX = Duration(30 * SECOND)


def news_of(
    state: RolloutState, seen: Observation, now: Instant
) -> Iterator[RolloutDeclared | TargetsObserved]:
    """The facts in which a reading differs from what is known."""
    declared = _declared(state, seen.declared)
    if declared != state.declared:
        yield declared
    told = seen.reports if seen.dated else _dated(state, seen.reports, now)
    lags = None if seen.dated else now
    reports = tuple(report for report in told if _is_news(state, report, lags))
    heard = {report.name for report in seen.reports}
    # From a partial reading nothing is concluded about those it does not mention; nor is it ever
    # about members: a reading may be from before they reported, and to forget what we had them
    # begin is to begin it twice. A member that lost what it had has to say so (ToApply).
    silent = state.reports.keys() - heard if seen.complete else set()
    if silent:
        silent -= {name for group in seen.declared.groups for name in group.clusters}
    gone = tuple(sorted(silent - state.pending.keys()))
    if reports or gone or seen.complete != state.complete:
        yield TargetsObserved(reports=reports, gone=gone, complete=seen.complete)


def _declared(state: RolloutState, seen: RolloutDeclared) -> RolloutDeclared:
    """What was good before a revision stays so, however many have left it since."""
    known = state.declared
    if known is None or known.last_good is None or known.revision != seen.revision:
        return seen
    return msgspec.structs.replace(seen, last_good=known.last_good)


def _dated(state: RolloutState, reports: Iterable[Target], now: Instant) -> Iterator[Target]:
    """Reports with the moment at which each was first seen to be so; `since` is but a hint."""
    for report in reports:
        known = state.reports.get(report.name)
        if known is report:
            continue  # it says what it said
        if known is None and report.name in state.void:
            continue  # it is what a retry made void, until something is done about it
        if known is not None and _same(known, report):
            since = known.since
        elif known is None and report.since is not None:
            # It is reported for the first time: it may have been so for long.
            since = min(now, report.since)
        else:
            since = now
        yield msgspec.structs.replace(report, since=since)


def _same(one: Target, other: Target) -> bool:
    return (one.status, one.revision) == (other.status, other.revision)


def _is_news(state: RolloutState, report: Target, now: Instant | None) -> bool:
    """Whether a report says anything; `now` where the reading lags behind by moments at most."""
    known = state.reports.get(report.name)
    if report.status is Status.ToApply:
        # It has nothing. While its task is being sent, the reading only lags behind.
        if known is None or known.status is Status.ToApply or report.name in state.pending:
            return False
        if known.status is not Status.Progressing:
            return True
        return now is not None and known.since is not None and now - known.since > LAG_MAX
    if is_void(state, report):
        return False
    if known is not None and _is_older(report, known):
        return False
    return known != report


def _is_older(report: Target, known: Target) -> bool:
    """A reading may lag behind what we did ourselves: an older word on another revision is no news.

    On the same revision every word counts, whatever its clock says: clocks differ, and a success
    must not be missed for that.
    """
    if report.since is None or known.since is None or report.revision == known.revision:
        return False
    return report.since <= known.since
