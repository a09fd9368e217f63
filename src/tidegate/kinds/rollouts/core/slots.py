"""Slots bound how many targets change at once: in flight, soaking and starting ones hold one each.

Mandatory groups start whole, outside the ceiling. A target still being updated to another revision
holds a slot too, and may start the new one in it: that adds no target to those that change.

Worked numbers: maxConcurrency 3, one in flight, one soaking → one starts. maxConcurrency 1, one
target stuck in flight on the previous revision → that one starts the new one, in the slot it holds.
"""

from tidegate.kinds.rollouts.core.census import Census
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.world import RolloutPhase, RolloutWorld
from tidegate.model.target import State
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, verdict


class Slots:
    """The room under maxConcurrency, shared by everything outside mandatory groups."""

    def __init__(
        self,
        limit: int,
        in_flight: int,
        soaking: int = 0,
        holding: int = 0,
        frees_at: Instant | None = None,
    ) -> None:
        self.limit = limit
        self.in_flight = in_flight
        self.soaking = soaking
        self.holding = holding
        self.started = 0
        self._left_held = 0  # of those holding, the ones that start in the slot they hold
        self._room = limit - in_flight - soaking - holding
        self._room_in_held = limit - in_flight - soaking
        self._frees_at = frees_at
        self._free = verdict(RolloutReason.SlotFree, in_flight + soaking + holding, limit)
        self.held = verdict(RolloutReason.SlotHeld, limit)

    def take(self, state: State) -> Verdict | None:
        """The verdict with which a target gets a slot; None if there is none for it."""
        if state is State.HOLDING and self._room_in_held > 0:
            self._room_in_held -= 1
            self.started += 1
            self._left_held += 1
            return self.held
        if state is not State.HOLDING and self._room > 0 and self._room_in_held > 0:
            self._room -= 1
            self._room_in_held -= 1
            self.started += 1
            return self._free
        return None

    @property
    def exhausted(self) -> bool:
        """Whether no target gets a slot any more, not even the one it has."""
        return self._room_in_held <= 0

    def standing(self) -> Verdict:
        """The slots' verdict for targets that do not start."""
        if self.limit == 0:
            return verdict(RolloutReason.ConcurrencyZero)
        if self._room > 0 and self._room_in_held > 0:
            return self._free
        in_flight = self.in_flight + self.holding - self._left_held
        return verdict(
            RolloutReason.NoSlotFree,
            self.limit,
            in_flight,
            self.soaking,
            self.started,
            until=self._frees_at,
            estimate=self._frees_at is not None and in_flight > 0,
        )


def count_slots(
    world: RolloutWorld, census: Census, phase: RolloutPhase | None = None
) -> Slots | None:
    """The slots of one phase, or of everything outside mandatory groups; None: no ceiling."""
    limit = world.strategy.max_concurrency
    if limit is None:
        return None
    outside = [p for p, group in enumerate(world.groups) if not group.mandatory]
    positions = outside if phase is None else phase.groups
    tallies = [census.tallies[p] for p in positions]
    moments = [tally.frees_at for tally in tallies if tally.frees_at is not None]
    return Slots(
        limit.of(sum(world.groups[p].size for p in positions)),
        sum(tally.in_flight for tally in tallies),
        sum(tally.soaking for tally in tallies),
        sum(tally.holding for tally in tallies),
        min(moments, default=None),
    )


def size_outside(world: RolloutWorld) -> int:
    """How many targets maxConcurrency is a share of: all outside mandatory groups."""
    return sum(group.size for group in world.groups if not group.mandatory)
