"""What a brake covers and that it was set or lifted, as lines for people."""

from collections.abc import Iterator

from tidegate.app.brakes.change import BrakeReport, ExemptionReport, LiftReport
from tidegate.app.brakes.reach import BrakeReach, FreezeSpan, PartitionReach
from tidegate.app.brakes.release import BrakeRelease
from tidegate.app.text.consequence_text import consequence_words
from tidegate.app.text.worker_text import leader_words
from tidegate.model.counted import counted
from tidegate.model.time import Instant, format_age, format_second, parse_instant

# How many of the times to come `freeze add` shows.
SPANS_SHOWN = 3


def reach_lines(reach: BrakeReach, revision: str | None, now: Instant) -> Iterator[str]:
    """What is said before a brake is set; the last line is the one that is asked about.

    `revision`: of a block, what it stops.
    """
    if reach.brake == "freeze":
        yield from _times(reach.times, now)
    for each in reach.unknown:
        yield f'Warning: no target "{each.name}" in any rollout; {each.hint}'
    tell = {"hold": _held, "freeze": _frozen, "pin": _pinned}
    lines = tell[reach.brake](reach) if reach.brake in tell else _blocked(reach, revision)
    said = list(lines)
    yield from said
    if not said and not reach.unknown:
        yield "covers no target of any rollout known here"


def _times(spans: tuple[FreezeSpan, ...], now: Instant) -> Iterator[str]:
    for span in spans[:SPANS_SHOWN]:
        start = parse_instant(span.starts_at)
        word = "now" if start <= now else format_second(start)
        yield f"frozen from {word} to {_second(span.ends_at)}"
    if len(spans) > SPANS_SHOWN:
        yield f"and {len(spans) - SPANS_SHOWN} times more within a year"
    if not spans:
        yield "all its times are past: it has no effect"


def _held(reach: BrakeReach) -> Iterator[str]:
    # Where nothing waits and nothing moves, there is nothing to say.
    for each in _busy(reach):
        yield f"{each.partition}: nothing new will start{_finish(len(each.moving))}"
    if reach.rollouts:
        waiting = sum(len(each.waiting) for each in reach.rollouts)
        moving = sum(len(each.moving) for each in reach.rollouts)
        where = counted(len(reach.rollouts), "rollout")
        yield f"Holds {counted(waiting, 'waiting target')} in {where}{_finish(moving)}"


def _busy(reach: BrakeReach) -> list[PartitionReach]:
    return [each for each in reach.rollouts if each.waiting or each.moving]


def _finish(moving: int) -> str:
    return f"; {counted(moving, 'target')} in progress will finish" if moving else ""


def _frozen(reach: BrakeReach) -> Iterator[str]:
    for each in _busy(reach):
        yield f"{each.partition}: {len(each.waiting)} waiting, {len(each.moving)} in progress"
    if reach.rollouts:
        where = counted(len(reach.rollouts), "rollout")
        yield f"covers {counted(reach.targets, 'target')} in {where}"


def _pinned(reach: BrakeReach) -> Iterator[str]:
    for each in reach.rollouts:
        verb = "stays" if each.targets == 1 else "stay"
        yield f"{each.partition}: {counted(each.targets, 'target')} {verb}, 0 restarts"


def _blocked(reach: BrakeReach, revision: str | None) -> Iterator[str]:
    for each in reach.rollouts:
        if each.blocked:
            waiting, touched = len(each.waiting), each.targets - len(each.waiting)
            yield (
                f"{each.partition}: stops {each.revision}: "
                f"{waiting} waiting will not get it, {touched} have it or are getting it"
            )
        if each.withdrawn:
            what = counted(len(each.withdrawn), "upgrade")
            yield f"{each.partition}: takes back {what} not started: {', '.join(each.withdrawn)}"
    yield f"{revision} will not start in {counted(len(reach.rollouts), 'rollout')}"


def release_lines(release: BrakeRelease) -> Iterator[str]:
    """What follows if brakes are lifted; nothing, where nothing moves."""
    for each in release.rollouts:
        yield f"{each.partition}: {'; '.join(consequence_words(each.leads_to))}"
    if release.rollouts:
        where = counted(len(release.rollouts), "rollout")
        what = f"{counted(release.moved, 'target')} in {where}"
        yield f"{what} no longer held by {release.brake} {', '.join(release.names)}"


def set_line(report: BrakeReport, now: Instant) -> str:
    """That a brake is on, or when it will be, and which workers it binds.

    Where no worker is running it binds none, and is only recorded: that may be the wrong journal.
    """
    return f"{_state(report)}{_bound(report, now)}"


def _bound(report: BrakeReport, now: Instant) -> str:
    workers = counted(report.others, "worker")
    if report.binds:
        rest = report.covers - len(report.binds)
        more = f"; {counted(rest, 'other')} it covers: no worker leads" if rest else ""
        rollouts = counted(len(report.binds), "rollout")
        return f": binds {rollouts}, {leader_words(report.binds, now)}{more}"
    if report.others and report.covers:
        return f"; no worker leads what it covers ({workers} on this journal)"
    if report.others:
        return f"; it covers no rollout yet ({workers} on this journal)"
    return "; no worker is running on this journal: nothing is acted on, it binds the next one"


def _state(report: BrakeReport) -> str:
    if report.in_force:
        until = f" until {report.expires}" if report.expires is not None else ""
        on = "on" if report.binds or report.others else "recorded"
        return f"{report.brake} {report.name} is {'replaced' if report.replaced else on}{until}"
    next_ = report.next
    begins = "all its times are past"
    if next_ is not None:
        begins = f"{_second(next_.starts_at)} – {_second(next_.ends_at)}"
    return f"Freeze {report.name} {'re' if report.replaced else ''}scheduled: {begins}"


def exempt_line(report: ExemptionReport) -> str:
    """That targets are exempted from a freeze, and until when."""
    return f"freeze {report.freeze} has an exception until {report.exception.expires}"


def lift_lines(report: LiftReport) -> Iterator[str]:
    """That brakes are lifted, and how long each was on."""
    at = parse_instant(report.at)
    for each in report.items:
        age = format_age(at - parse_instant(each.since))
        was = f"it was on for {age}" if each.in_force else f"recorded {age} ago, it was not on"
        yield f"{report.brake} {each.name} is lifted; {was}"


def _second(text: str) -> str:
    return format_second(parse_instant(text))
