"""What a story prints: decisions as lines a person reads from left to right."""

from itertools import groupby

from tests.explained import details
from tests.scenarios.story import Doc
from tidegate.app.text.view_text import GROUP_HEAD, group_rows
from tidegate.explain.sentence import sentence
from tidegate.explain.table import layout
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.table import headline, state_word
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.wire import compat_line as wire
from tidegate.kinds.rollouts.wire.rollout_doc import RolloutReading
from tidegate.model.errors import UserError
from tidegate.model.plan import ChangeKind, Option
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant, format_duration
from tidegate.model.verdict import Verdict, all_pass

COLUMNS_MAX = 100
# So many targets in a row that say the same are drawn as one line.
ALIKE_MIN = 5
# The state of such a target says it all.
_PLAIN = frozenset((ProgressReason.Done, ProgressReason.Failed))

# What happens, to whom, its state, and why.
Row = tuple[str, str, str, tuple[str, ...]]


def plan_lines(reading: RolloutReading, plan: RolloutPlan) -> list[str]:
    """A decision: a line a target, then what is true of the whole."""
    rows = _target_rows(reading.world, plan, reading.now)
    rows += _departed_rows(reading.world, plan, reading.now)
    return [
        *_columns(_folded(rows)),
        *_footer(reading, plan),
        *sorted({f"warning {warning.text()}" for warning in reading.warnings}),
    ]


def problem_lines(error: UserError, prefix: str = "error ") -> list[str]:
    """What is wrong with a document."""
    return [prefix + problem.text() for problem in error.problems]


def status_lines(world: RolloutWorld, plan: RolloutPlan) -> list[str]:
    """How the rollout and its groups stand."""
    return [
        headline(world, plan),
        *layout(GROUP_HEAD, group_rows(details(world, plan, Instant(0)).groups)),
    ]


def offset(moment: Instant, now: Instant) -> str:
    """A moment as people say it: how far from now."""
    return ("+" if moment >= now else "") + format_duration(moment - now)


def some(names: list[str]) -> str:
    """Names, or the first and the last of many."""
    if len(names) < ALIKE_MIN:
        return " ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"


def _target_rows(world: RolloutWorld, plan: RolloutPlan, now: Instant) -> list[Row]:
    starting = set(plan.started)
    back = {o.target: o for o in plan.options if o.change.kind is ChangeKind.RETURN}
    rows: list[Row] = []
    for i, target in enumerate(world.targets):
        option, word = plan.options[i], "hold"
        why = _shut(option.verdicts, now)
        if i in starting:
            word, why = "start", []
            if option.change.revision is not None:
                why.append(f"gets {option.change.revision}")
        if i in back:
            word = "back" if all_pass(back[i].verdicts) else word
            why.append(_way_back(back[i], now))
        rows.append((word, target.name, state_word(world, plan, i), tuple(why)))
    return rows


def _way_back(option: Option, now: Instant) -> str:
    why = "  ".join(_shut(option.verdicts, now)) or "now"
    return f"back to {option.change.revision or 'what it had'}: {why}"


def _departed_rows(world: RolloutWorld, plan: RolloutPlan, now: Instant) -> list[Row]:
    rows: list[Row] = []
    for option in plan.options:
        if option.change.kind is ChangeKind.REMOVE:
            name = world.departed[option.target - len(world.targets)].name
            word = "gone" if all_pass(option.verdicts) else "hold"
            rows.append((word, name, "In no group", tuple(_shut(option.verdicts, now))))
    return rows


def _shut(verdicts: tuple[Verdict, ...], now: Instant) -> list[str]:
    """Every gate that does not pass: its reason, its sentence, and until when."""
    return [
        f"{one.reason.value} ({sentence(one)}){_until(one, now)}"
        for one in verdicts
        if one.outcome is not Outcome.PASS and one.reason not in _PLAIN
    ]


def _until(verdict: Verdict, now: Instant) -> str:
    if verdict.until is None:
        return ""
    return f" until {'about ' if verdict.estimate else ''}{offset(verdict.until, now)}"


def _folded(rows: list[Row]) -> list[Row]:
    """Many neighbours that say the same become one row."""
    folded: list[Row] = []
    for (word, state, why), alike in groupby(rows, key=lambda row: (row[0], row[2], row[3])):
        names = [name for _, name, _, _ in alike]
        if len(names) < ALIKE_MIN:
            folded += [(word, name, state, why) for name in names]
        else:
            folded.append((word, some(names), state, why))
    return folded


def _columns(rows: list[Row]) -> list[str]:
    """Rows in columns; reasons that do not fit beside each other stand beneath each other."""
    names = max((len(row[1]) for row in rows), default=0)
    states = max((len(row[2]) for row in rows), default=0)
    lines: list[str] = []
    for word, name, state, why in rows:
        start = f"{word.ljust(5)}  {name.ljust(names)}  {state.ljust(states)}"
        line = "  ".join((start, *why)).rstrip()
        if len(line) <= COLUMNS_MAX:
            lines.append(line)
            continue
        lines.append(f"{start}  {why[0]}")
        lines += [" " * (len(start) + 2) + reason for reason in why[1:]]
    return lines


def _footer(reading: RolloutReading, plan: RolloutPlan) -> list[str]:
    lines: list[str] = []
    if plan.recheck_at is not None:
        lines.append(f"recheck {offset(plan.recheck_at, reading.now)}")
    of = plan.course.revision
    declared = reading.world.revision
    lines.append(f"summary {plan.summary.value}")
    if declared is not None and of != declared:
        lines[-1] += f" of {of}, while {declared} is declared"
    if plan.events:
        lines.append("events " + " ".join(event.value for event in plan.events))
    return lines


def compat_line(answer: wire.CompatAnswer) -> str:
    """What the library answers, on one line."""
    if isinstance(answer.error, str):
        return f"compat  error {answer.error}"
    parts = ["compat"]
    starts = [one.cluster for one in answer.to_rollout if one.status == "ToApply"]
    keeps = [f"{one.cluster}={one.status}" for one in answer.to_rollout if one.status != "ToApply"]
    lists: Doc = {
        "start": starts,
        "keep": keeps,
        "timeOut": [one.cluster for one in answer.time_out],
        "removed": [one.cluster for one in answer.removed],
    }
    parts += [f"{word} {some(names)}" for word, names in lists.items() if names]
    if answer.max_failure_breach:
        parts.append("breach")
    if answer.recheck_after_ns is not None:
        parts.append(f"recheck +{format_duration(answer.recheck_after_ns)}")
    return "  ".join(parts if len(parts) > 1 else ["compat", "nothing to do"])
