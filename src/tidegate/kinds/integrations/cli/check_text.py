"""What a check found, as people and programs read it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from tidegate.explain.table import layout
from tidegate.kinds.integrations.app.check_runs import Result
from tidegate.kinds.integrations.cli.revisions import Revisions
from tidegate.kinds.integrations.core.review.affected import Affected, Case
from tidegate.kinds.integrations.core.review.fault import Fault
from tidegate.kinds.integrations.core.waves.rehearsal import Difference

# So many shards are named in a row, and so many new lines shown; the rest is in data and logs.
NAMED_MAX, LINES_SHOWN = 3, 20
MARKS = {
    Fault.NOBODY: "✓",
    Fault.BASE: "…",
    Fault.CHANGE: "✗",
    Fault.FLAKE: "…",
    Fault.OUTSIDE: "…",
    Fault.OURS: "■",
}
# What programs are told where people read a sentence.
_WORDS = {Fault.NOBODY: "ok"}
# Where what a case says is kept.
Log = Callable[[Case], str]
_Group = tuple[str, str, str, str]
HEAD = ("INTEGRATION", "ENVIRONMENT", "IMAGE", "BEFORE", "SHARDS")


def plan_table(affected: Affected, width: int | None) -> list[str]:
    """What would be run, and why; then what would not."""
    groups = _groups(affected.cases)
    rows = [(*_start(group, cases), _reasons(cases)) for group, cases in groups.items()]
    return [*layout((*HEAD, "WHY"), rows, width), *skipped_lines(affected)]


def result_table(results: Sequence[Result], affected: Affected, width: int | None) -> list[str]:
    """What came of each integration with each image, and why it was run."""
    by_case = {id(each.case): each for each in results}
    rows = []
    for group, cases in _groups(affected.cases).items():
        found = [by_case[id(case)] for case in cases]
        told = _counted(found)
        rows.append((*_start(group, cases), told, str(_new_lines(found)), _reasons(cases)))
    head = (*HEAD, "RESULT", "NEW LINES", "WHY")
    return [*layout(head, rows, width), *skipped_lines(affected)]


def skipped_lines(affected: Affected) -> Iterator[str]:
    """What is affected and not run, by why."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in affected.skipped:
        reasons.setdefault((each.integration, each.why), []).append(_short(each.shard))
    for (integration, why), shards in reasons.items():
        yield f"not run: {integration}: {_named(shards)}: {why}"


def detail_lines(results: Sequence[Result], log: Log) -> Iterator[str]:
    """Of everything that did not simply end well and say the same: what, and where to read on."""
    found: dict[tuple[str, str], list[Result]] = {}
    for each in results:
        found.setdefault((each.case.integration, each.case.head.revision), []).append(each)
    for (integration, image), some in found.items():
        told = [*_judgements(some), *_lines(some)]
        if told:
            yield f"{integration} {image}"
            yield from (f"  {line}" for line in told)
            yield f"  log: {log(some[0].case)}"


def _judgements(results: Iterable[Result]) -> Iterator[str]:
    said: dict[tuple[Fault, str], list[str]] = {}
    for each in results:
        judgement = each.judgement
        if judgement.words:
            key = judgement.fault, judgement.words
            said.setdefault(key, []).append(_short(each.case.shard))
    for (fault, words), shards in said.items():
        word = "" if fault is Fault.NOBODY else f"{fault.value}: "
        yield f"{MARKS[fault]} {_named(shards)}: {word}{words}"


def _lines(results: Sequence[Result]) -> Iterator[str]:
    """New lines, each once, with who says it; who failed first.

    A line that several say, each of itself, is one line with SHARD in the place of their names.
    """
    said: dict[str, dict[str, str]] = {}
    for each in sorted(results, key=lambda each: each.judgement.fault is Fault.NOBODY):
        shard = _short(each.case.shard)
        for line in dict.fromkeys(each.judgement.difference.added):
            said.setdefault(line.replace(shard, "SHARD"), {}).setdefault(shard, line)
    alone = len(results) == 1
    for line, speakers in list(said.items())[:LINES_SHOWN]:
        text = line if len(speakers) > 1 else next(iter(speakers.values()))
        yield f"+ {text}" + ("" if alone else f"  ({_named(list(speakers))})")
    if len(said) > LINES_SHOWN:
        yield f"and {len(said) - LINES_SHOWN} more new lines"


def as_data(
    compared: Revisions,
    affected: Affected,
    results: Sequence[Result] | None,
    code: int,
    log: Log | None = None,
) -> dict[str, Any]:
    """The same for programs; these names are API."""
    by_case = {id(each.case): each for each in results or ()}
    return {
        "kind": "Check",
        "base": compared.base.commit,
        "head": compared.head.commit,
        "findings": [msgspec.structs.asdict(each) for each in compared.new_findings],
        "mixed": list(compared.mixed),
        "runs": [_run(case, by_case.get(id(case)), log) for case in affected.cases],
        "skipped": [msgspec.structs.asdict(each) for each in affected.skipped],
        "exitCode": code,
    }


def _run(case: Case, result: Result | None, log: Log | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "integration": case.integration,
        "shard": case.shard,
        "environment": case.environment,
        "image": case.head.image,
        "before": case.base.image if case.base is not None else None,
        "arguments": case.head.arguments,
        "why": list(case.why),
    }
    if result is not None:
        judgement = result.judgement
        found |= {
            "result": _WORDS.get(judgement.fault, judgement.fault.name.lower()),
            "words": judgement.words,
            "log": log(case) if log is not None else None,
            "tries": len(result.head),
            "exitCode": result.head[-1].code,
            "newLines": list(judgement.difference.added),
            "goneLines": list(judgement.difference.gone),
        }
    return found


def summary(results: Sequence[Result]) -> str:
    """What everything came to, on one line."""
    return f"{len(results):,} tried: {_counted(results)}"


def _counted(results: Iterable[Result]) -> str:
    counts = Counter(each.judgement.fault for each in results)
    return ", ".join(f"{counts[fault]:,} {fault.value}" for fault in Fault if counts[fault])


def _new_lines(results: Iterable[Result]) -> int:
    found: list[Difference] = [each.judgement.difference for each in results]
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
