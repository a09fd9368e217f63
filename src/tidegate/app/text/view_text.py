"""A partition as tables and trees of text, from its document: of every kind alike."""

from collections.abc import Sequence

from tidegate.app.documents import GroupDoc, OptionDoc, RequestDoc, TargetDoc
from tidegate.app.text.worker_text import start_words
from tidegate.app.workers import PartitionWorker
from tidegate.explain.table import Row, layout
from tidegate.explain.verdict_part import first_shut_part, part_lines
from tidegate.journal.fact import some_names
from tidegate.model.time import Instant, format_age, format_second, parse_instant

GROUP_HEAD: Row = (
    "GROUP", "INDEX", "STATUS", "WAITING", "UPDATING", "SOAKING", "DONE", "FAILED", "IGNORED",
)  # fmt: skip
REQUEST_HEAD: Row = ("REQUEST", "STATE", "BY", "AGE", "FOR", "CHANGE", "WHY")
TARGET_HEAD: Row = ("GROUP", "TARGET", "STATE", "SINCE", "EXPECTED", "WHY")
# How an option says that it leads back, and that the target goes.
_BACK, _REMOVE = "return ", "remove"


def group_rows(groups: Sequence[GroupDoc]) -> list[Row]:
    """One row a group."""
    return [
        (
            each.name,
            str(each.index),
            each.status,
            str(each.counts.waiting),
            str(each.counts.in_flight),
            str(each.counts.soaking),
            str(each.counts.done),
            str(each.counts.failed),
            str(each.counts.ignored),
        )
        for each in groups
    ]


def request_rows(
    requests: Sequence[RequestDoc], now: Instant, worker: PartitionWorker | None = None
) -> list[Row]:
    """One row a request: what, for which targets, where it is, which actor and why."""
    starts = start_words(worker)
    return [
        (
            each.id,
            each.state,
            each.by,
            format_age(now - parse_instant(each.at)),
            some_names(each.targets) or "all",
            each.change,
            starts if each.starts else each.why,
        )
        for each in requests
    ]


def request_lines(
    requests: Sequence[RequestDoc],
    now: Instant,
    width: int | None,
    worker: PartitionWorker | None = None,
) -> list[str]:
    """What people requested and is not carried out yet, as a table; empty: nothing is."""
    if not requests:
        return []
    return [*layout(REQUEST_HEAD, request_rows(requests, now, worker), width), ""]


def target_rows(
    targets: Sequence[TargetDoc], now: Instant, worker: PartitionWorker | None = None
) -> list[Row]:
    """One row a target: the gate that says most says why."""
    starts = start_words(worker)
    idle = _is_idle(worker)
    return [_target(each, now, starts, "" if idle else _expected(each, now)) for each in targets]


def _is_idle(worker: PartitionWorker | None) -> bool:
    """Whether no worker does anything, so that no date would be kept."""
    return worker is not None and not worker.moves


def _target(row: TargetDoc, now: Instant, starts: str, expected: str) -> Row:
    why = starts if row.starts else row.why
    for option in row.options[1:]:
        if option.change.startswith(_BACK):
            shut = first_shut_part(option.verdicts)
            goes = f"returns to {option.change.removeprefix(_BACK)} now"
            why = f"{why}; {shut.message if shut is not None else goes}"
    since = format_age(now - parse_instant(row.since)) if row.since is not None else ""
    return (row.group, row.name, row.state, since, expected, why)


def _expected(row: TargetDoc, now: Instant) -> str:
    """What `when` says of a target, in a few words; of a file, what the gate that shuts says."""
    dates = row.expected
    if dates is None:
        if row.until is None:
            return ""
        left = format_age(parse_instant(row.until) - now)
        return f"until {'~' if row.estimate else ''}{left}"
    if dates.starts_at is not None and (starts := parse_instant(dates.starts_at)) > now:
        return f"starts in {format_age(starts - now)}"
    if dates.done_at is not None:
        done = parse_instant(dates.done_at)
        return f"done in {format_age(done - now)}" if done > now else ""
    if dates.not_before is not None:
        return f"not before {format_age(parse_instant(dates.not_before) - now)}"
    return "no date"


def target_tree(row: TargetDoc, now: Instant, worker: PartitionWorker | None = None) -> list[str]:
    """One target: every option, and what every gate says of it."""
    parts = [row.name, row.state]
    if row.group:
        parts.append(f"in {row.group}")
    if row.since is not None:
        since = parse_instant(row.since)
        status = f"{row.status} " if row.status else ""
        parts.append(f"{status}since {format_second(since)} ({format_age(now - since)})")
    if row.revision:
        other = row.next and row.next != row.revision
        parts.append(f"on {row.revision}" + (f", wants {row.next}" if other else ""))
    if row.starts:
        parts.append(start_words(worker))
    lines = ["  ".join(parts), *([] if _is_idle(worker) else _dates(row, now))]
    # Of a last look that is over, how far off a moment was says nothing of now.
    ahead_of = None if worker is not None and worker.stale else now
    several = sum(_title(each) == "" for each in row.options) > 1
    for option in row.options:
        title = _title(option)
        if not title and several:
            title = f"{option.change}: {'now' if option.starts else 'waits'}"
        lines += [*([title] if title else []), *part_lines(option.verdicts, ahead_of)]
    return lines


def _dates(row: TargetDoc, now: Instant) -> list[str]:
    """The dates of a target that is to get something, as `when` has them."""
    dates = row.expected
    if dates is None or (dates.done_at is not None and parse_instant(dates.done_at) <= now):
        return []
    moments = ((dates.starts_at, "starts"), (dates.done_at, "done"))
    words = [
        f"{word} {format_second(at)} (in {format_age(at - now)})"
        for text, word in moments
        if text is not None and (at := parse_instant(text)) > now
    ]
    if dates.not_before is not None:
        bound = format_second(parse_instant(dates.not_before))
        words.append(f"{'' if words else 'nothing more '}not before {bound}")
    return [f"expected: {', '.join(words) or 'no date'}"]


def _title(option: OptionDoc) -> str:
    """What is said of a way back and of a removal; empty: it is neither."""
    if option.change.startswith(_BACK):
        go = "now" if option.starts else "when every gate below is open"
        return f"back to {option.change.removeprefix(_BACK)}: {go}"
    if option.change == _REMOVE:
        return "removed: now" if option.starts else "kept for now"
    return ""
