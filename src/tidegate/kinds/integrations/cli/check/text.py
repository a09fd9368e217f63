"""What a check found, as people read it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET

from tidegate.explain.table import layout
from tidegate.kinds.integrations.app.check.report import NOTHING_AFFECTED, CheckedRun, CheckReport
from tidegate.kinds.integrations.core.review.fault import CheckFault

# So many shards are named in a row, and so many new lines shown; the rest is in data and logs.
NAMED_MAX, LINES_SHOWN = 3, 20
MARKS = {
    CheckFault.OK: "✓",
    CheckFault.BASE: "…",
    CheckFault.CHANGE: "✗",
    CheckFault.FLAKE: "…",
    CheckFault.OUTSIDE: "…",
    CheckFault.OURS: "■",
}
_Group = tuple[str, str, str, str]
HEAD = ("INTEGRATION", "ENVIRONMENT", "IMAGE", "BEFORE", "SHARDS")


def check_lines(report: CheckReport, width: int | None) -> Iterator[str]:
    """What was run, or would be, and why; what was not; and what to look at."""
    if not report.runs:
        yield NOTHING_AFFECTED
    elif any(each.result is UNSET for each in report.runs):
        groups = _groups(report.runs).items()
        rows = [(*_start(group, runs), _reasons(runs)) for group, runs in groups]
        yield from layout((*HEAD, "WHY"), rows, width)
    else:
        groups = _groups(report.runs).items()
        rows = [
            (*_start(group, runs), _counted(runs), str(_new_lines(runs)), _reasons(runs))
            for group, runs in groups
        ]
        yield from layout((*HEAD, "RESULT", "NEW LINES", "WHY"), rows, width)
    yield from _skipped(report)
    yield from _details(report.runs)


def _skipped(report: CheckReport) -> Iterator[str]:
    """What is affected and not run, by why."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in report.skipped:
        reasons.setdefault((each.integration, each.why), []).append(_short(each.shard))
    for (integration, why), shards in reasons.items():
        yield f"not run: {integration}: {_named(shards)}: {why}"


def _details(runs: Sequence[CheckedRun]) -> Iterator[str]:
    """Of everything that did not simply end well and say the same: what, and where to read on."""
    found: dict[tuple[str, str], list[CheckedRun]] = {}
    for each in runs:
        if each.result is not UNSET:
            found.setdefault((each.integration, each.revision), []).append(each)
    for (integration, image), some in found.items():
        stated = [*_judgements(some), *_lines(some)]
        if stated:
            yield f"{integration} {image}"
            yield from (f"  {line}" for line in stated)
            yield f"  log: {some[0].log}"


def _fault(run: CheckedRun) -> CheckFault:
    return CheckFault[str(run.result).upper()]


def _judgements(runs: Iterable[CheckedRun]) -> Iterator[str]:
    said: dict[tuple[CheckFault, str], list[str]] = {}
    for each in runs:
        if each.words:
            said.setdefault((_fault(each), str(each.words)), []).append(_short(each.shard))
    for (fault, words), shards in said.items():
        word = "" if fault is CheckFault.OK else f"{fault.value}: "
        yield f"{MARKS[fault]} {_named(shards)}: {word}{words}"


def _lines(runs: Sequence[CheckedRun]) -> Iterator[str]:
    """New lines, each once, with who says it; who failed first.

    A line that several say, each of itself, is one line with SHARD in the place of their names.
    """
    said: dict[str, dict[str, str]] = {}
    for each in sorted(runs, key=lambda each: _fault(each) is CheckFault.OK):
        shard = _short(each.shard)
        for line in dict.fromkeys(each.new_lines or ()):
            said.setdefault(line.replace(shard, "SHARD"), {}).setdefault(shard, line)
    alone = len(runs) == 1
    for line, speakers in list(said.items())[:LINES_SHOWN]:
        text = line if len(speakers) > 1 else next(iter(speakers.values()))
        yield f"+ {text}" + ("" if alone else f"  ({_named(list(speakers))})")
    if len(said) > LINES_SHOWN:
        yield f"and {len(said) - LINES_SHOWN} more new lines"


def _counted(runs: Iterable[CheckedRun]) -> str:
    counts = Counter(map(_fault, runs))
    return ", ".join(f"{counts[fault]:,} {fault.value}" for fault in CheckFault if counts[fault])


def _new_lines(runs: Iterable[CheckedRun]) -> int:
    return len({line for each in runs for line in each.new_lines or ()})


def failing_before(report: CheckReport) -> str:
    """That some fail without the change, too; empty: none does."""
    results = [_fault(each) for each in report.runs if each.result is not UNSET]
    base = results.count(CheckFault.BASE)
    if not base:
        return ""
    nothing = "; nothing was learnt about it" if base == len(results) else ""
    what = f"without the change, too: not its fault{nothing}"
    return f"{base} of {len(results)} fail {what}"


def _groups(runs: Iterable[CheckedRun]) -> dict[_Group, list[CheckedRun]]:
    found: dict[_Group, list[CheckedRun]] = {}
    for run in runs:
        key = run.integration, run.environment or "-", run.revision, run.revision_before or "-"
        found.setdefault(key, []).append(run)
    return found


def _start(group: _Group, runs: Sequence[CheckedRun]) -> tuple[str, ...]:
    names = [_short(run.shard) for run in runs]
    whole = len(names) == 1 and names[0] == group[0]
    return (*group, "-" if whole else _named(names))


def _reasons(runs: Sequence[CheckedRun]) -> str:
    """Why any of them is run, the reason most of them have first."""
    counts = Counter(reason for run in runs for reason in run.why)
    first = [reason for reason, _ in counts.most_common()]
    more = f"; and {len(first) - NAMED_MAX} more" if len(first) > NAMED_MAX else ""
    return "; ".join(first[:NAMED_MAX]) + more


def _named(names: Sequence[str]) -> str:
    if len(names) <= NAMED_MAX:
        return ", ".join(names)
    return f"{len(names):,} shards: {', '.join(names[:NAMED_MAX])}, …"


def _short(shard: str) -> str:
    return shard.partition("/")[2] or shard
