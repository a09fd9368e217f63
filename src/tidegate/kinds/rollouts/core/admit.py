"""Which targets of a phase start: those whose gates all pass, up to the free slots, by rank.

A target that some brake holds takes no slot: it would keep others waiting while it waits itself.
"""

from collections.abc import Callable

from tidegate.kinds.rollouts.core.brakes import Gates, RolloutBrakes
from tidegate.kinds.rollouts.core.census import Census, Verdicts
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.slots import Slots
from tidegate.kinds.rollouts.core.world import RolloutPhase, RolloutWorld
from tidegate.model.reason import Reason
from tidegate.model.target import State
from tidegate.model.verdict import Verdict, all_pass, verdict


def admit(
    world: RolloutWorld,
    census: Census,
    phase: RolloutPhase,
    lead: Verdicts,
    slots: Slots | None,
    braking: RolloutBrakes | None = None,
) -> list[int]:
    """Start the targets of a phase whose gates all pass, while slots are free."""
    own = census.own
    waiting = [i for i in phase.order if own[i] is None]
    if not waiting:
        return []
    if braking is not None:
        return _Braked(world, census, lead, slots, braking).admit(waiting)
    if slots is None:
        for i in waiting:
            own[i] = lead
        return waiting if all_pass(lead) else []
    if not all_pass(lead):
        shut, held = (*lead, slots.standing()), (*lead, slots.held)
        for i in waiting:
            own[i] = held if census.states[i] is State.HOLDING else shut
        return []
    return _give_slots(world, census, waiting, lead, slots)


def _give_slots(
    world: RolloutWorld, census: Census, waiting: list[int], lead: Verdicts, slots: Slots
) -> list[int]:
    """Slots by rank. An ignored target takes none, but waits for those ranked before it."""
    own, states, targets = census.own, census.states, world.targets
    let_in: dict[Reason, Verdicts] = {}
    ignored_in = (*lead, verdict(RolloutReason.NoSlotNeeded))
    started: list[int] = []
    queued: list[int] = []
    behind: list[int] = []
    for at, i in enumerate(waiting):
        if queued and slots.exhausted:
            for later in waiting[at:]:
                (behind if targets[later].ignored else queued).append(later)
            break
        if targets[i].ignored:
            if queued or not slots.limit:
                behind.append(i)
                continue
            own[i] = ignored_in
        else:
            taken = slots.take(states[i])
            if taken is None:
                queued.append(i)
                continue
            own[i] = let_in.setdefault(taken.reason, (*lead, taken))
        started.append(i)
    standing = slots.standing()
    full, out = (*lead, standing), (*lead, behind_in_rank(standing) if slots.limit else standing)
    for i in queued:
        own[i] = full
    for i in behind:
        own[i] = out
    return started


def behind_in_rank(standing: Verdict) -> Verdict:
    """The verdict of an ignored target: it starts when the slots let the others start."""
    until, estimate = standing.until, standing.estimate
    return verdict(RolloutReason.BehindInRank, until=until, estimate=estimate)


_NO_SLOT_NEEDED = verdict(RolloutReason.NoSlotNeeded)


class _Braked:
    """The same under brakes: first what they say, then what is shared, then the slots."""

    def __init__(
        self,
        world: RolloutWorld,
        census: Census,
        lead: Verdicts,
        slots: Slots | None,
        braking: RolloutBrakes,
    ) -> None:
        self._world = world
        self._census = census
        self._lead = lead
        self._slots = slots
        self._braking = braking
        self._queued = False  # a counted target waits for a slot and nothing else
        # Coverages whose budget or mutex is spent; a target that has a place keeps it.
        self._spent: set[int] = set()
        self._known: dict[tuple[int, ...], Verdicts] = {}

    def admit(self, waiting: list[int]) -> list[int]:
        """The targets that start; the others get their verdicts once it is known what is left."""
        gates_of, slots = self._braking.gates, self._slots
        may_start = all_pass(self._lead)
        started: list[int] = []
        late: list[int] = [] if may_start else waiting
        for at, i in enumerate(waiting if may_start else ()):
            if self._queued and slots is not None and slots.exhausted:
                late += waiting[at:]
                break
            (started if self._let_in(i, gates_of(i)) else late).append(i)
        self._tell(late, may_start)
        return started

    def _tell(self, late: list[int], may_start: bool) -> None:
        """Give targets that do not start the verdicts that hold them."""
        own, states, targets = self._census.own, self._census.states, self._world.targets
        gates_of, owners = self._braking.gates, self._braking.owners
        slot_of = self._slots_of_the_late(may_start)
        # By coverage: counted targets without a place and without a slot share their verdicts.
        plain: dict[int, Verdicts | None] = {}
        for i in late:
            gates, target = gates_of(i), targets[i]
            alone = target.ignored or states[i] is State.HOLDING or target.name in owners
            known = None if alone else plain.get(id(gates))
            if known is None:
                shared = gates.shared(target.name)
                self._note(i, gates, shared, slot_of(i, gates.passes and all_pass(shared)))
                if not alone:
                    plain[id(gates)] = own[i]
            else:
                own[i] = known

    def _let_in(self, i: int, gates: Gates) -> bool:
        """Start a target, if everything passes: it gets its slot, its places and its verdicts."""
        if not gates.passes:
            return False
        name = self._world.targets[i].name
        if id(gates) in self._spent and name not in self._braking.owners:
            return False
        shared = gates.shared(name)
        if not all_pass(shared):
            if name not in self._braking.owners:  # nothing is given back while a plan is made
                self._spent.add(id(gates))
            return False
        slot = self._take_slot(i)
        if slot is None:
            return False
        self._note(i, gates, shared, slot)  # as it was before its own start
        if shared:
            gates.take(name)
        return True

    def _take_slot(self, i: int) -> Verdicts | None:
        if self._slots is None:
            return ()
        if self._world.targets[i].ignored:
            return None if self._queued or not self._slots.limit else (_NO_SLOT_NEEDED,)
        taken = self._slots.take(self._census.states[i])
        if taken is None:
            self._queued = True
            return None
        return (taken,)

    def _slots_of_the_late(self, may_start: bool) -> Callable[[int, bool], Verdicts]:
        """The slots' verdict for targets that do not start and that nothing else may hold."""
        slots = self._slots
        if slots is None:
            return lambda *_: ()
        full, held = (slots.standing(),), (slots.held,)
        behind = (behind_in_rank(full[0]),)
        targets, states = self._world.targets, self._census.states

        def slot_of(i: int, brakes_pass: bool) -> Verdicts:
            if states[i] is State.HOLDING and not (may_start and slots.exhausted):
                return held
            if targets[i].ignored and may_start and slots.limit:
                return behind if brakes_pass else (_NO_SLOT_NEEDED,)
            return full

        return slot_of

    def _note(self, i: int, gates: Gates, shared: Verdicts, slot: Verdicts) -> None:
        """Give a target its verdicts; equal verdicts are one tuple."""
        # Verdicts live as long as the plan, so their identity is a safe key here.
        key = (id(gates), *map(id, shared), *map(id, slot))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (*self._lead, *gates.verdicts, *shared, *slot)
        self._census.own[i] = known
