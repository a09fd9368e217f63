"""What a check found, as people read it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from tidegate.explain.table import layout
from tidegate.kinds.integrations.app.check_runs import CheckResult
from tidegate.kinds.integrations.core.review.affected import Affected, Case
from tidegate.kinds.integrations.core.review.fault import CheckFault
from tidegate.kinds.integrations.core.waves.rehearsal import LogDifference

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
# Where what a case says is kept.
Log = Callable[[Case], str]
_Group = tuple[str, str, str, str]
HEAD = ("INTEGRATION", "ENVIRONMENT", "IMAGE", "BEFORE", "SHARDS")


def plan_table(affected: Affected, width: int | None) -> list[str]:
    """What would be run, and why; then what would not."""
    groups = _groups(affected.cases)
    rows = [(*_start(group, cases), _reasons(cases)) for group, cases in groups.items()]
    return [*layout((*HEAD, "WHY"), rows, width), *skipped_lines(affected)]


def result_table(
    results: Sequence[CheckResult], affected: Affected, width: int | None
) -> list[str]:
    """What came of each integration with each image, and why it was run."""
    by_case = {id(each.case): each for each in results}
    rows = []
    for group, cases in _groups(affected.cases).items():
        found = [by_case[id(case)] for case in cases]
        stated = _counted(found)
        rows.append((*_start(group, cases), stated, str(_new_lines(found)), _reasons(cases)))
    head = (*HEAD, "RESULT", "NEW LINES", "WHY")
    return [*layout(head, rows, width), *skipped_lines(affected)]


def skipped_lines(affected: Affected) -> Iterator[str]:
    """What is affected and not run, by why."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in affected.skipped:
        reasons.setdefault((each.integration, each.why), []).append(_short(each.shard))
    for (integration, why), shards in reasons.items():
        yield f"not run: {integration}: {_named(shards)}: {why}"


def detail_lines(results: Sequence[CheckResult], log: Log) -> Iterator[str]:
    """Of everything that did not simply end well and say the same: what, and where to read on."""
    found: dict[tuple[str, str], list[CheckResult]] = {}
    for each in results:
        found.setdefault((each.case.integration, each.case.head.revision), []).append(each)
    for (integration, image), some in found.items():
        stated = [*_judgements(some), *_lines(some)]
        if stated:
            yield f"{integration} {image}"
            yield from (f"  {line}" for line in stated)
            yield f"  log: {log(some[0].case)}"


def _judgements(results: Iterable[CheckResult]) -> Iterator[str]:
    said: dict[tuple[CheckFault, str], list[str]] = {}
    for each in results:
        judgement = each.judgement
        if judgement.words:
            key = judgement.fault, judgement.words
            said.setdefault(key, []).append(_short(each.case.shard))
    for (fault, words), shards in said.items():
        word = "" if fault is CheckFault.OK else f"{fault.value}: "
        yield f"{MARKS[fault]} {_named(shards)}: {word}{words}"


def _lines(results: Sequence[CheckResult]) -> Iterator[str]:
    """New lines, each once, with who says it; who failed first.

    A line that several say, each of itself, is one line with SHARD in the place of their names.
    """
    said: dict[str, dict[str, str]] = {}
    for each in sorted(results, key=lambda each: each.judgement.fault is CheckFault.OK):
        shard = _short(each.case.shard)
        for line in dict.fromkeys(each.judgement.difference.added):
            said.setdefault(line.replace(shard, "SHARD"), {}).setdefault(shard, line)
    alone = len(results) == 1
    for line, speakers in list(said.items())[:LINES_SHOWN]:
        text = line if len(speakers) > 1 else next(iter(speakers.values()))
        yield f"+ {text}" + ("" if alone else f"  ({_named(list(speakers))})")
    if len(said) > LINES_SHOWN:
        yield f"and {len(said) - LINES_SHOWN} more new lines"


def summary(results: Sequence[CheckResult]) -> str:
    """The summary, on one line."""
    return f"{len(results):,} tried: {_counted(results)}"


def _counted(results: Iterable[CheckResult]) -> str:
    counts = Counter(each.judgement.fault for each in results)
    return ", ".join(f"{counts[fault]:,} {fault.value}" for fault in CheckFault if counts[fault])


def _new_lines(results: Iterable[CheckResult]) -> int:
    found: list[LogDifference] = [each.judgement.difference for each in results]
    return len({line for each in found for line in each.added})


def _groups(cases: Iterable[Case]) -> dict[_Group, list[Case]]:
    found: dict[_Group, list[Case]] = {}
    for case in cases:
        before = case.base.revision if case.base is not None else "-"
        key = case.integration, case.environment or "-", case.head.revision, before
        found.setdefault(key, []).append(case)
    return found


def _start(group: _Group, cases: Sequence[Case]) -> tuple[str, ...]:
    names = [_short(case.shard) for case in cases]
    whole = len(names) == 1 and names[0] == group[0]
    return (*group, "-" if whole else _named(names))


def _reasons(cases: Sequence[Case]) -> str:
    """Why any of them is run, the reason most of them have first."""
    counts = Counter(reason for case in cases for reason in case.why)
    first = [reason for reason, _ in counts.most_common()]
    more = f"; and {len(first) - NAMED_MAX} more" if len(first) > NAMED_MAX else ""
    return "; ".join(first[:NAMED_MAX]) + more


def _named(names: Sequence[str]) -> str:
    if len(names) <= NAMED_MAX:
        return ", ".join(names)
    return f"{len(names):,} shards: {', '.join(names[:NAMED_MAX])}, …"


def _short(shard: str) -> str:
    return shard.partition("/")[2] or shard
