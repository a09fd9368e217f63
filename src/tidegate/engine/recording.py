"""Deciding, and writing the decision down together with what it claims of what rollouts share.

Claims are taken in the transaction that records the plan. Where somebody else was faster, the plan
is made again with their claims in sight, so that what is recorded is the wait, with who is in the
way. Only what changed is worth a line.
"""

import msgspec

from tidegate.engine.desk import RolloutDesk
from tidegate.journal.chain import Note
from tidegate.journal.facts import Mode
from tidegate.kinds.rollouts.core.decide import RolloutPlan, decide
from tidegate.kinds.rollouts.core.journal.facts import Decided
from tidegate.kinds.rollouts.core.journal.record import bound, minutes
from tidegate.kinds.rollouts.core.journal.state import world_of
from tidegate.kinds.rollouts.core.world import RolloutWorld
from tidegate.model.time import Instant
from tidegate.store.port import Claim, Head, Lease, LostClaimError

# How often a plan is made again because others were faster; then the round is given up.
TRIES_MAX = 5


class Recorded(msgspec.Struct, frozen=True):
    """A decision that stands in the journal, as far as it says anything new."""

    world: RolloutWorld
    plan: RolloutPlan
    decided: Decided


def decide_and_record(
    desk: RolloutDesk, lease: Lease, head: Head, now: Instant, mode: Mode, actor: str
) -> Recorded | None:
    """Decide on the state of a desk and write down what is new; None if nothing is declared."""
    tries = 0
    while True:
        brakes = desk.book.brakes_of(desk.partition, desk.state, now)
        world = world_of(desk.state, brakes)
        if world is None:
            if desk.is_staged:
                desk.write((), after=head, token=lease.token)
            return None
        plan = decide(world, now)
        try:
            return _record(desk, lease, head, world, plan, now, mode, actor)
        except LostClaimError:
            tries += 1
            if tries == TRIES_MAX:
                raise


def _record(
    desk: RolloutDesk,
    lease: Lease,
    head: Head,
    world: RolloutWorld,
    plan: RolloutPlan,
    now: Instant,
    mode: Mode,
    actor: str,
) -> Recorded:
    binding = bound(desk.state, world)
    seq = desk.next_seq + (binding is not None)
    decided = minutes(desk.partition, seq, desk.state, world, plan, now, mode)
    acts = mode is Mode.ACT
    notes: list[Note] = []
    if _says_something(decided):
        notes = [Note(now, actor, decided)]
        if binding is not None:
            notes.insert(0, Note(now, actor, binding))
    frees = sorted({claim.key for claim in plan.freed}) if acts else []
    if notes or frees or desk.is_staged:
        claims = _claims(desk.partition, plan, decided, now) if acts else []
        desk.write(notes, after=head, token=lease.token, claims=claims, frees=frees)
    return Recorded(world, plan, decided)


def _claims(partition: str, plan: RolloutPlan, decided: Decided, now: Instant) -> list[Claim]:
    """The places a plan takes, each under the key of the task it is for."""
    keys = {task.target: task.key for task in decided.tasks}
    return [Claim(one.name, one.place, partition, keys[one.target], now) for one in plan.claims]


def _says_something(decided: Decided) -> bool:
    """A round in which nothing changed and nothing is done is not worth a line.

    What is only observed follows from the verdicts, and would be the same in every round.
    """
    if decided.mode is Mode.OBSERVE:
        return bool(decided.changed)
    return bool(decided.changed or decided.tasks or decided.events or decided.forgotten)
