"""When the shards of a place get the change: its rollout, run ahead by the engine's own rules.

Each rollout by itself: what two of them share is not given out between them here. Gates of health
are taken to pass, since that is what "if all goes well" means; every other brake counts.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.partition import PartitionState
from tidegate.explain.pace import PACE_ENTRIES
from tidegate.gates.brakes import Brakes
from tidegate.kinds.integrations.core.waves.outset import Move, outset_of
from tidegate.kinds.integrations.core.waves.rehearsal import target_of
from tidegate.kinds.rollouts.app.pace import usual_pace
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.rules import RolloutRules, effective
from tidegate.kinds.rollouts.simulated.forecast import Collision, TargetForecast, forecast, likeness
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict
from tidegate.store.port import Store, last_entries


class BrakeMet(msgspec.Struct, frozen=True):
    """A brake that is on when some shards could start, and when that would be."""

    at: Instant
    verdict: Verdict
    shards: tuple[str, ...]


class ScheduledGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a group who get the change, and when."""

    name: str
    shards: tuple[str, ...]
    # When the first starts; None: not known.
    starts_at: Instant | None
    # When the last is done, its soak included; None: not known.
    done_at: Instant | None
    # What no clock opens; empty if there are dates.
    held_by: str
    # What is on when their turn has come.
    clashes: tuple[BrakeMet, ...]


class RolloutSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """The rollout of a place, stage by stage."""

    move: Move
    stages: tuple[ScheduledGroup, ...]
    # How long a change takes there, and how that is known.
    apply_time: Duration
    known_from: str
    # What goes out there at the moment and comes first; empty: nothing does.
    under_way: str
    # Gates of health that must stay open.
    health: tuple[str, ...]

    @property
    def starts_at(self) -> Instant | None:
        """When the first of all starts; None: not known."""
        return min((e.starts_at for e in self.stages if e.starts_at is not None), default=None)

    @property
    def done_at(self) -> Instant | None:
        """When the last of all is done; None: not known."""
        ends = [each.done_at for each in self.stages]
        dated = [end for end in ends if end is not None]
        return max(dated) if dated and len(dated) == len(ends) else None


class Scheduler:
    """Runs rollouts ahead, from one moment, under the brakes there are."""

    def __init__(
        self, store: Store, book: BrakeBook, at: Instant, apply_time: Duration | None = None
    ) -> None:
        self._store, self._book = store, book
        # How long a change takes; None: as long as the journal shows.
        self._at, self._apply_time = at, apply_time
        self._known = frozenset(store.partitions())

    def of_all(self, moves: Iterable[Move], *, complete: bool = True) -> list[RolloutSchedule]:
        """The schedules of all that a rollout moves; `complete`: the bundle has no errors."""
        return [self.of(move, complete) for move in moves if move.staged and move.units]

    def of(self, move: Move, complete: bool) -> RolloutSchedule:
        """One rollout from the moment it is merged to its end."""
        partition = move.place.partition
        known = self._journal(partition)
        state = outset_of(move, known, complete=complete)
        assert state is not None, "only what has rules is scheduled"
        rules, every = RolloutRules(), self._book.read(self._at)
        brakes = effective(self._book.binding(partition, rules.under_way(state), every))
        health = brakes.health if brakes is not None else ()
        state.brakes = _without_health(brakes)
        deadline = None if state.declared is None else state.declared.strategy.deadline
        recent = last_entries(self._store, partition, PACE_ENTRIES)
        usual, word = usual_pace(recent, self._apply_time, deadline)
        expected = forecast(state, self._at, {}, usual)
        return RolloutSchedule(
            move=move,
            stages=tuple(_stages(move, expected)),
            apply_time=usual,
            known_from=word,
            under_way=_under_way(known, move),
            health=tuple(each.name for each in health),
        )

    def _journal(self, partition: str) -> RolloutState | None:
        if partition not in self._known:
            return None
        return PartitionState(self._store, partition, RolloutRules()).state


def _without_health(brakes: Brakes | None) -> Brakes | None:
    return None if brakes is None else msgspec.structs.replace(brakes, health=())


def _under_way(known: RolloutState | None, move: Move) -> str:
    """The revision another rollout is still busy with; empty: there is none, or it is this one."""
    if known is None or known.rollout.completed or known.rollout.revision in (None, move.after):
        return ""
    return known.rollout.revision or ""


def _stages(move: Move, expected: Sequence[TargetForecast]) -> list[ScheduledGroup]:
    mine = {unit.name for unit in move.units} | {target_of(move.place)}
    groups: dict[str, list[TargetForecast]] = {}
    for each in expected:
        if each.target in mine:
            groups.setdefault(each.group, []).append(each)
    return [_stage(name, some, move.after) for name, some in groups.items()]


def _stage(name: str, some: Sequence[TargetForecast], after: str) -> ScheduledGroup:
    dated = [each for each in some if each.revision == after]
    held = next((e.held_by for e in some if e not in dated or e.done_at is None), "")
    starts = [each.starts_at for each in dated if each.starts_at is not None]
    ends = [each.done_at for each in dated if each.done_at is not None]
    return ScheduledGroup(
        name=name,
        shards=tuple(each.target for each in some),
        starts_at=min(starts, default=None),
        done_at=max(ends) if len(ends) == len(some) else None,
        held_by=held,
        clashes=_clashes(some),
    )


def _clashes(some: Iterable[TargetForecast]) -> tuple[BrakeMet, ...]:
    """The brakes that any of them meets, with when it is met first, and the shards."""
    found: dict[object, list[tuple[Collision, str]]] = {}
    for each in some:
        for one in each.collisions:
            found.setdefault(likeness(one.verdict), []).append((one, each.target))
    clashes = []
    for met in found.values():
        first = min((one for one, _ in met), key=lambda one: one.at)
        clashes.append(BrakeMet(first.at, first.verdict, tuple(name for _, name in met)))
    return tuple(sorted(clashes, key=lambda each: (each.at, each.verdict.gate.value)))
