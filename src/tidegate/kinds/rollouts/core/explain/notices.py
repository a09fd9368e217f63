"""The notices that are due for a rollout: from a plan and from the notices sent before.

Notices follow from what is true now, not from what changed since the last round: the next leader
derives the same ones. Sent notices are remembered by key, so that none is sent twice. A key
names the run of a rollout (its uid and revision), the event, and the subject:

    start            something of the revision is under way
    stop  stopped    it failed or was aborted
    stop  paused     a person paused it
    failure  x       target x failed, or gave no answer
    approvalNeeded g only an approval of g is in the way
    done             every target has it; sent only where the start was

What ends may come again: a key is taken back when the rollout is no longer stopped or paused, when
the approval was given, and for failures when they are retried. A target that fails, recovers and
fails again by itself is reported once.
"""

from collections.abc import Iterator, Mapping

from tidegate.explain.notice import DueNotices, Notice, NoticeKind
from tidegate.explain.sentence import opens, sentence
from tidegate.explain.table import first_shut
from tidegate.kinds.rollouts.core.course import CourseMode as Rules
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.explain.table import failed_words
from tidegate.kinds.rollouts.core.strategy import Rollout
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.plan import Event
from tidegate.model.reason import Gate, Outcome
from tidegate.model.target import State, Status
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict


def due(
    name: str,
    rollout: Rollout,
    world: RolloutWorld,
    plan: RolloutPlan,
    told: Mapping[str, Instant],
) -> DueNotices:
    """The notices due for a rollout, given those already sent.

    `rollout` is how it is remembered once the plan is recorded.
    """
    run = f"{rollout.uid or ''}@{plan.course.revision or ''}/"
    present = {key(run, each, subject): why for each, subject, why in _true_now(world, plan)}
    started = key(run, NoticeKind.START, "") in told
    fresh = {
        each: why
        for each, why in present.items()
        if each not in told and (started or _happening(run, each) is not NoticeKind.DONE)
    }
    retired = tuple(each for each in told if _is_over(each, run, present, plan))
    return DueNotices(tuple(_notices(name, run, plan, fresh)), retired)


def key(run: str, happening: NoticeKind, subject: str) -> str:
    """What a notice is remembered by."""
    return f"{run}{happening.value}/{subject}"


_FAILED = frozenset((State.FAILED, State.TIMED_OUT))
# Events that may be reported again once they have ended.
_PASSING = (NoticeKind.STOP, NoticeKind.APPROVAL)

_Truth = tuple[NoticeKind, str, str]


def _true_now(world: RolloutWorld, plan: RolloutPlan) -> Iterator[_Truth]:
    """Every event of a plan: the event, its subject, why."""
    if plan.summary is Summary.SUCCEEDED:
        yield NoticeKind.DONE, "", _standing(plan)
    elif plan.course.mode is not Rules.SETTLED:
        if plan.started or any(report.tally.touched for report in plan.groups):
            yield NoticeKind.START, "", _standing(plan)
        yield from _stops(plan)
        yield from _failures(world, plan)
        yield from _approvals(plan)


def _standing(plan: RolloutPlan) -> str:
    """How far it is, in a few words."""
    tallies = [report.tally for report in plan.groups]
    done, counted = sum(t.done for t in tallies), sum(t.counted for t in tallies)
    failed = sum(t.failed for t in tallies)
    parts = [f"{done} of {counted} done"]
    parts += [failed_words(plan, failed)] if failed else []
    parts += [f"{len(plan.started)} start now"] if plan.started else []
    return ", ".join(parts)


def _stops(plan: RolloutPlan) -> Iterator[_Truth]:
    if plan.summary in (Summary.FAILED, Summary.ABORTED):
        shut = (first_shut(option.verdicts) for option in plan.options)
        budget = (each for each in shut if each is not None and each.gate is Gate.BUDGET)
        over = next(budget, None)
        yield NoticeKind.STOP, "stopped", sentence(over) if over else _standing(plan)
    elif plan.course.paused:
        yield NoticeKind.STOP, "paused", "the rollout is paused"


def _failures(world: RolloutWorld, plan: RolloutPlan) -> Iterator[_Truth]:
    for i, (target, state) in enumerate(zip(world.targets, plan.states, strict=True)):
        counts = not target.ignored and target.status is not Status.Skip and i not in plan.pinned
        shut = first_shut(plan.options[i].verdicts)
        if state in _FAILED and counts and shut is not None:
            yield NoticeKind.FAILURE, target.name, sentence(shut)


def _approvals(plan: RolloutPlan) -> Iterator[_Truth]:
    """Approvals that are the only thing some target waits for."""
    seen: set[int] = set()
    for option in plan.options:
        if id(option.verdicts) in seen:
            continue
        seen.add(id(option.verdicts))
        shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
        if shut and all(_wants_approval(each) for each in shut):
            for each in shut:
                yield NoticeKind.APPROVAL, _gate_name(each), f"{sentence(each)}: {opens(each)}"


def _wants_approval(verdict: Verdict) -> bool:
    return verdict.gate is Gate.APPROVAL and verdict.outcome is Outcome.WAIT


def _gate_name(verdict: Verdict) -> str:
    """The group or the gate an approval is for: the first fact of every such reason."""
    return str(verdict.facts[0]) if verdict.facts else ""


def _is_over(told: str, run: str, present: Mapping[str, str], plan: RolloutPlan) -> bool:
    """Whether a notice that was sent may be sent again."""
    if not told.startswith(run):
        return True  # of an earlier run
    happening = _happening(run, told)
    if happening is NoticeKind.FAILURE:
        # Where one group is retried, failures of the others are those that were reported.
        return Event.RETRIED in plan.events and told not in present
    if happening is NoticeKind.APPROVAL:
        subject = told.removeprefix(f"{run}{happening.value}/")
        return told not in present and not _is_awaited(plan, subject)
    return happening in _PASSING and told not in present


def _is_awaited(plan: RolloutPlan, subject: str) -> bool:
    """Whether an approval is still missing, though something else may be in the way too."""
    return any(
        _wants_approval(verdict) and _gate_name(verdict) == subject
        for verdicts in {id(option.verdicts): option.verdicts for option in plan.options}.values()
        for verdict in verdicts
    )


def _happening(run: str, told: str) -> NoticeKind | None:
    word = told.removeprefix(run).partition("/")[0]
    return next((each for each in NoticeKind if each.value == word), None)


def _notices(name: str, run: str, plan: RolloutPlan, fresh: Mapping[str, str]) -> Iterator[Notice]:
    """Failures that are found together share one notice; anything else has its own."""
    revision = plan.course.revision or ""
    failures = [each for each in fresh if _happening(run, each) is NoticeKind.FAILURE]
    for each, why in fresh.items():
        happening = _happening(run, each)
        if happening is None or happening is NoticeKind.FAILURE:
            continue
        subject = each.removeprefix(f"{run}{happening.value}/")
        yield Notice(name, happening, revision, (subject,) if subject else (), why, (each,))
    if failures:
        head = f"{run}{NoticeKind.FAILURE.value}/"
        subjects = tuple(each.removeprefix(head) for each in failures)
        first = f"{subjects[0]} {fresh[failures[0]]}"
        more = f", and {len(subjects) - 1} more" if len(subjects) > 1 else ""
        yield Notice(name, NoticeKind.FAILURE, revision, subjects, first + more, tuple(failures))
