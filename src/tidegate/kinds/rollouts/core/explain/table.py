"""A rollout plan as tables of text: the groups, and one row a target."""

from collections.abc import Iterator, Sequence

from tidegate.explain.sentence import sentence
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.reasons import Outcome
from tidegate.model.target import State, Status, Target
from tidegate.model.time import Instant, format_age
from tidegate.model.verdict import Verdict

Row = tuple[str, ...]

_HUMAN = {
    State.WAITING: "Waiting",
    State.HOLDING: "Updating",  # to another revision
    State.IN_FLIGHT: "Updating",
    State.SOAKING: "Soaking",
    State.DONE: "Done",
    State.FAILED: "Failed",
    State.TIMED_OUT: "No answer",
    State.JOINED: "Joined later",
}

GROUP_HEAD: Row = (
    "GROUP", "INDEX", "STATUS", "WAITING", "UPDATING", "SOAKING", "DONE", "FAILED", "IGNORED",
)  # fmt: skip
TARGET_HEAD: Row = ("GROUP", "TARGET", "STATE", "SINCE", "UNTIL", "WHY")

# What a row goes on with, beneath.
BENEATH = "    "
# With less room than this the last column, which may be cut, says too little to stand there.
LAST_LEAST = 24


def human_state(target: Target, state: State) -> str:
    """What a target is doing, in the words people use."""
    if target.ignored or target.status is Status.Skip:
        return "Ignored"
    if state is State.DONE and target.status is Status.NewCluster:
        return "Joined later"
    return _HUMAN[state]


def state_word(world: RolloutWorld, plan: RolloutPlan, position: int) -> str:
    """What one target of a plan is doing, in the words people use."""
    if position in plan.pinned:
        return "Pinned"
    return human_state(world.targets[position], plan.states[position])


def headline(world: RolloutWorld, plan: RolloutPlan) -> str:
    """The rollout on one line."""
    tallies = [report.tally for report in plan.groups]
    done, failed = sum(t.done for t in tallies), sum(t.failed for t in tallies)
    counted = sum(t.counted for t in tallies)
    parts = [plan.summary.value, world.strategy.type.value]
    if plan.course.revision is not None:
        parts.append(f"revision {plan.course.revision}")
    parts.append(f"{done} of {counted} done")
    if failed:
        parts.append(f"{failed} failed")
    if plan.started:
        parts.append(f"{len(plan.started)} start now")
    if plan.course.revision != world.revision and world.revision is not None:
        parts.append(f"{world.revision} waits its turn")
    return " · ".join(parts)


def group_rows(world: RolloutWorld, plan: RolloutPlan) -> list[Row]:
    """One row a group."""
    rows: list[Row] = []
    for report in plan.groups:
        group, tally = world.groups[report.group], report.tally
        counts = (tally.waiting, tally.in_flight, tally.soaking, tally.done)
        numbers = (*counts, tally.failed, tally.ignored)
        rows.append(
            (group.label, str(group.index), report.status.value, *(str(n) for n in numbers))
        )
    return rows


def target_rows(world: RolloutWorld, plan: RolloutPlan, now: Instant) -> list[Row]:
    """One row a target: the first gate that is shut says why, in full."""
    starting = set(plan.started)
    back = {o.target: o for o in plan.options if o.change.kind is ChangeKind.RETURN}
    rows: list[Row] = []
    for group in world.groups:
        for i in range(group.first, group.last):
            target, option = world.targets[i], plan.options[i]
            shut = first_shut(option.verdicts)
            why = "starts now" if i in starting else sentence(shut) if shut else ""
            if i in back:
                gate = first_shut(back[i].verdicts)
                goes = f"returns to {back[i].change.revision} now"
                why = f"{why}; {sentence(gate) if gate else goes}"
            since = format_age(now - target.since) if target.since is not None else ""
            until = format_age(shut.until - now) if shut and shut.until is not None else ""
            state = state_word(world, plan, i)
            rows.append((group.label, target.name, state, since, until, why))
    return rows


def first_shut(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The verdict that says most about why nothing happens: a stop before a wait."""
    for outcome in (Outcome.STOP, Outcome.WAIT):
        for verdict in verdicts:
            if verdict.outcome is outcome:
                return verdict
    return None


def layout(
    head: Row, rows: Sequence[Row], width: int | None = None, *, headed: bool = True
) -> list[str]:
    """Columns with two spaces between them; the last is cut to the width, where there is one.

    Columns that do not fit go on beneath, on a line of the same row: none is lost.
    """
    sizes = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    decks = _decks(sizes, width)
    table = [head, *rows] if headed else rows
    return [line for row in table for line in _row_lines(row, sizes, decks, width)]


def _decks(sizes: Sequence[int], width: int | None) -> list[range]:
    """Which columns stand on which line of a row. 10 and 75 of 80: [0], [1]."""
    if width is None:
        return [range(len(sizes))]
    decks, first, taken = [], 0, 0
    for column, size in enumerate(sizes):
        needs = min(size, LAST_LEAST) if column == len(sizes) - 1 else size
        if column > first and taken + needs > width:
            decks.append(range(first, column))
            first, taken = column, len(BENEATH)
        taken += size + 2
    return [*decks, range(first, len(sizes))]


def _row_lines(
    row: Row, sizes: Sequence[int], decks: Sequence[range], width: int | None
) -> Iterator[str]:
    for deck in decks:
        cells = [row[column].ljust(sizes[column]) for column in deck]
        line = (BENEATH if deck.start else "") + "  ".join(cells).rstrip()
        if line.strip() or not deck.start:
            cut = width is not None and len(line) > width
            yield line[: width - 1] + "…" if cut and width is not None else line
