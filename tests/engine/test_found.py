"""What the loop under faults found, each defect as small as it can be reported."""

import asyncio

import msgspec
import pytest

from tests.engine.stage import PARTITION, TERM, Process, Tripwire, set_up
from tidegate.engine.breaker import Breaker
from tidegate.engine.execute import Executor, Limits, _Wave
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted, Mode, TaskOutcome
from tidegate.journal.lease import Lease
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.core.journal.facts import (
    Decided,
    RolloutDeclared,
    RolloutTask,
    TargetsObserved,
)
from tidegate.kinds.rollouts.core.journal.pending_tasks import unwanted
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold, world_of
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.errors import OutsideError
from tidegate.model.plan import Change, ChangeKind
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.store.client.memory import MemoryStore

DEADLINE = Duration(60 * SECOND)
DECLARED = RolloutDeclared(
    strategy=Strategy(StrategyType.PROGRESSIVE, deadline=DEADLINE),
    groups=(Membership("all", 0, ("a", "b")),),
    revision="v2",
)
HOUR = Instant(3600 * SECOND)


def task(kind: ChangeKind, target: str = "a") -> RolloutTask:
    """A task as a decision makes it."""
    return RolloutTask(
        f"k/{target}", target, Change(kind, None if kind is ChangeKind.REMOVE else "v2")
    )


def folded(*facts: Fact) -> RolloutState:
    """The state after some facts, a second apart."""
    state = RolloutState()
    for second, fact in enumerate(facts, start=1):
        state = fold(state, Instant(second * SECOND), fact, "tidegate")
    return state


def decided(one: RolloutTask) -> Decided:
    """The fact that a task was decided."""
    return Decided(now=Instant(0), mode=Mode.ACT, summary=Summary.WAITING, tasks=(one,))


def test_a_target_that_was_not_asked_does_not_time_out() -> None:
    """Its slot would go to another target, and then it would start all the same."""
    world = world_of(folded(DECLARED, decided(task(ChangeKind.APPLY))), None)
    assert world is not None
    plan = decide(world, HOUR)
    assert plan.options[0].verdicts[0].reason is RolloutReason.InFlightUndated


def test_a_removal_under_way_is_not_decided_again() -> None:
    """A new key a round would be a new removal a round."""
    left = Target("c", Status.Succeeded, Instant(0), "v1")
    facts = (DECLARED, TargetsObserved(reports=(left,)))
    before, after = (
        world_of(folded(*facts, *more), None)
        for more in ((), (decided(task(ChangeKind.REMOVE, "c")),))
    )
    assert before is not None
    assert after is not None
    assert [each.name for each in before.departed] == ["c"]
    assert not after.departed


def test_who_is_in_a_group_again_is_not_removed() -> None:
    """Whatever was decided while it was not."""
    state = folded(DECLARED, decided(task(ChangeKind.REMOVE)))
    assert unwanted(state, task(ChangeKind.REMOVE)) == "it is in a group again"


@pytest.mark.parametrize("status", [Status.Failed, Status.Succeeded, Status.Progressing])
def test_a_target_s_own_word_settles_a_task_whose_answer_was_lost(status: Status) -> None:
    """Behind an open task its failure would be hidden from the budget."""
    lost = Acted(key="k/a", target="a", outcome=TaskOutcome.FAILED, detail="connection reset")
    told = TargetsObserved(reports=(Target("a", status, Instant(2 * SECOND), "v2"),))
    state = folded(DECLARED, decided(task(ChangeKind.APPLY)), lost, told)
    assert not state.pending
    assert state.reports["a"].status is status


def test_our_clock_does_not_make_an_older_report_pass_for_a_newer() -> None:
    """The target's clock is an hour ahead of ours: what we asked of it still came later."""
    old = Target("a", Status.Succeeded, HOUR, "v1")
    done = Acted(key="k/a", target="a", outcome=TaskOutcome.DONE)
    state = folded(DECLARED, TargetsObserved(reports=(old,)), decided(task(ChangeKind.APPLY)), done)
    assert state.reports["a"] == Target("a", Status.Progressing, HOUR, "v2")


def test_a_retry_voids_what_was_said_by_the_clock_that_said_it() -> None:
    """By ours, which is ahead, the answer to the retry would be void as well."""
    failed = Target("a", Status.Failed, Instant(7), "v2")
    retried = msgspec.structs.replace(decided(task(ChangeKind.APPLY)), forgotten=("a",))
    again = Target("a", Status.Succeeded, Instant(8), "v2")
    state = folded(
        DECLARED, TargetsObserved(reports=(failed,)), retried, TargetsObserved(reports=(failed,))
    )
    assert "a" not in state.reports
    fold(state, Instant(9 * SECOND), TargetsObserved(reports=(again,)), "tidegate")
    assert state.reports["a"] == again


def test_observing_the_same_is_written_down_once() -> None:
    """Else a worker that only observes fills the journal with what it would do."""
    stage = set_up(MemoryStore(), Tripwire())
    process = Process(stage)
    for _ in range(3):
        asyncio.run(process.round(Mode.OBSERVE))
    kinds = [entry.kind for entry in stage.store.read(PARTITION)]
    assert kinds.count("decided") == 1


def test_an_answer_that_outlives_the_lease_is_not_acted_on() -> None:
    """By then another worker may lead."""
    stage = set_up(MemoryStore(), Tripwire())
    process = Process(stage)
    lease = stage.store.lease(PARTITION, process.name, stage.clock.now(), TERM)
    assert lease is not None
    confirm = process.part.confirm

    def slowly(token: int) -> None:
        confirm(token)
        stage.clock.at = Instant(stage.clock.at + TERM)

    process.part.confirm = slowly  # type: ignore[method-assign]
    asyncio.run(process.make(lease).run())
    assert not stage.fleet.done
    assert list(process.part.state.pending) == ["a"]


def test_no_act_outlives_its_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """One write fails; the other act, still under way, ends before the round is over."""
    stage = set_up(MemoryStore(), Tripwire())
    process = Process(stage)
    ended: list[str] = []

    async def one(_wave: object, task: RolloutTask) -> None:
        if task.target == "a":
            raise OutsideError("the database is gone")
        await asyncio.sleep(0.01)
        ended.append(task.target)

    monkeypatch.setattr(_Wave, "one", one)
    lease = Lease(PARTITION, "w", 1, HOUR)
    tasks = [task(ChangeKind.APPLY, "a"), task(ChangeKind.APPLY, "b")]
    with pytest.raises(OutsideError):
        asyncio.run(Executor(Limits(), Breaker()).carry_out(process.make(lease), [tasks]))
    assert ended == ["b"]
