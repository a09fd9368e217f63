"""What targets do, in a word each: they move, wait, are held or stopped, are done or failed."""

from collections import Counter
from collections.abc import Iterator

from tidegate.explain.view import PartitionView, TargetRow
from tidegate.model.reason import Gate, Outcome
from tidegate.model.verdict import Verdict

_MOVING = ("Updating", "Soaking")
FAILED = ("Failed", "No answer")
DONE = ("Done", "Ignored", "Joined later", "Pinned")
# A target that waits at one of these is held: a brake covers it.
_BRAKES = frozenset((Gate.HOLD, Gate.FREEZE, Gate.BLOCK, Gate.PIN))
# What `pause` and `abort` shut is stopped, and not held.
_STOPS = frozenset((Gate.RUNNING,))
# Targets that did not fail, and do not change before a person settles why.
UNCHANGEABLE = "targets that cannot be changed"
MISTAKES = "mistakes in labels"
# Changes that people requested, and that cannot be carried out as requested.
REQUESTS = "requests that cannot be carried out"


def target_counts(view: PartitionView, *, moves: bool) -> Counter[str]:
    """Targets by what they do; `moves`: a worker starts what may start."""
    words = ("moving", "waiting", "done", "failed", "held", "stopped")
    counts: Counter[str] = Counter({"rollouts": 1, **dict.fromkeys(words, 0)})
    for each in view.targets:
        if has_failed(each):
            counts["failed"] += 1
        # What may start, and is started by no worker, does not move.
        elif each.state in _MOVING or (each.starts and moves):
            counts["moving"] += 1
        elif each.state in DONE:
            counts["done"] += 1
        else:
            counts["waiting"] += 1
            counts["held"] += is_held(each)
            counts["stopped"] += is_stopped(each)
    return counts


def has_failed(row: TargetRow) -> bool:
    """Whether a target failed, or gave no answer; one that was returned since is still looked at.

    A failure is returned in the round that finds it: else it would be seen for no time at all.
    """
    return row.state in FAILED or row.returned


def needs_of(view: PartitionView) -> Iterator[tuple[str, str]]:
    """What only a person can do, in words, and the gate, target or partition it is about.

    A failure is a target that the counts have under failed, so that both say the same.
    """
    needs = view.needs
    failed = [each.name for each in view.targets if has_failed(each)]
    over = view.partition in needs.failures
    yield from (("approvals", each) for each in needs.approvals)
    yield from (("failures", each) for each in failed if over or each in needs.failures)
    if over and (not failed or view.summary == "Aborted"):
        yield f"{view.summary.lower()} rollouts", view.partition
    for each in needs.failures:
        if each not in failed and each != view.partition:
            yield UNCHANGEABLE, each
    yield from ((MISTAKES, each) for each in needs.mistakes)
    yield from ((REQUESTS, each) for each in needs.requests)


def is_held(row: TargetRow) -> bool:
    """Whether a brake covers a target that waits."""
    return _is_shut(_first(row), _BRAKES)


def is_stopped(row: TargetRow) -> bool:
    """Whether a target waits because a person paused or ended its rollout."""
    return _is_shut(_first(row), _STOPS)


def look_of(row: TargetRow, *, moves: bool) -> str:
    """What a target is drawn as; `moves`: a worker starts what may start."""
    if has_failed(row):
        return "failed"
    if row.state == "Soaking":
        return "soaking"
    if row.state in _MOVING or (row.starts and moves):
        return "moving"
    if row.state in DONE:
        return "done" if row.state == "Done" else "ignored"
    return "held" if is_held(row) else "stopped" if is_stopped(row) else "waiting"


def _first(row: TargetRow) -> tuple[Verdict, ...]:
    return row.options[0].verdicts if row.options else ()


def waiting_holds(view: PartitionView) -> set[str]:
    """The holds that keep something waiting, by name: only a person removes them."""
    said = {
        id(option.verdicts): option.verdicts
        for each in view.targets
        if each.waits
        for option in each.options[:1]
    }
    return {
        str(verdict.facts[0])
        for verdicts in said.values()
        for verdict in verdicts
        if verdict.gate is Gate.HOLD and verdict.outcome is not Outcome.PASS
    }


def _is_shut(verdicts: tuple[Verdict, ...], gates: frozenset[Gate]) -> bool:
    """Whether one of these gates is shut."""
    return any(each.gate in gates and each.outcome is not Outcome.PASS for each in verdicts)
