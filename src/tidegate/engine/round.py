"""One round of one partition: observe, decide, record, act.

What is decided is written down before anything is done about it, under a key for every task; what
came of it is written down after. A crash anywhere only delays: the next round finds the tasks that
have no outcome, and carries them out under the same keys.
"""

from asyncio import to_thread

from tidegate.engine.acting import ACTOR, Actor, acted, due_tasks, next_retry, overdue_tasks
from tidegate.engine.desk import RolloutDesk
from tidegate.engine.kind import Ended
from tidegate.engine.noticing import notice
from tidegate.engine.recording import decide_and_record
from tidegate.journal.chain import Note
from tidegate.journal.facts import Mode, Outcome
from tidegate.kinds.rollouts.core.decide import RolloutPlan
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.kinds.rollouts.fleet import Fleet
from tidegate.machine.clock import Clock
from tidegate.store.port import Lease


class Round(Ended, frozen=True, kw_only=True):
    """What came of a round: what was written down, and what it was decided from."""

    decided: Decided | None
    done: int = 0
    failed: int = 0
    world: RolloutWorld | None = None
    plan: RolloutPlan | None = None


async def run_round(
    desk: RolloutDesk, fleet: Fleet, clock: Clock, actor: Actor, lease: Lease, mode: Mode
) -> Round:
    """Observe, decide, record, act."""
    seen = await fleet.observe(desk.partition)
    head = await to_thread(desk.catch_up)
    now = clock.now()
    news = [Note(now, ACTOR, fact) for fact in notice(desk.state, seen, now)]
    late = overdue_tasks(desk.state, now)
    news += [acted(now, task, Outcome.DROPPED, "left undone too long") for task in late]
    if news:
        desk.stage(news)
    troubles = await desk.book.gather(desk.state, now, desk.wake)
    recorded = await to_thread(decide_and_record, desk, lease, head, now, mode, ACTOR)
    if recorded is None:
        return Round(decided=None)
    done, failed = 0, 0
    if mode is Mode.ACT:
        tasks = due_tasks(desk.state, now)
        done, failed = await actor.carry_out(desk, fleet, clock, lease, tasks)
    plan, again = recorded.plan, next_retry(desk.state)
    moments = [each for each in (plan.recheck_at, again) if each is not None]
    look_again = min(moments, default=None)
    return Round(
        decided=recorded.decided,
        done=done,
        failed=failed,
        recheck_at=look_again,
        world=recorded.world,
        plan=plan,
        troubles=troubles,
        frees=bool(plan.freed),
    )
