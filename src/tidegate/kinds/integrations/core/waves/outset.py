"""How the rollouts of a change would set out: who gets another image, who stays, what ran before.

Between two estates, place by place. Where there are rules, a rollout moves shards without an image
of their own; where there are none, `apply` moves all at once.
"""

import msgspec

from tidegate.kinds.integrations.core.waves.declaration import declared_of
from tidegate.kinds.integrations.core.waves.rehearsal import with_dry_run
from tidegate.kinds.integrations.core.waves.reshape import KeyOwner, Reshape, reshapes_of, share_of
from tidegate.kinds.integrations.core.workloads.estate import Estate, ManagedPlace, Unit, kind_of
from tidegate.kinds.integrations.core.workloads.workloads import image_of
from tidegate.kinds.rollouts.core.journal.state import RolloutState
from tidegate.kinds.rollouts.core.strategy import Rollout
from tidegate.model.target import Status, Target
from tidegate.model.time import Instant

# Since when shards have run before: so long that it is soaked by any rule.
LONG_AGO = Instant(0)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """What a change does to the images of one place."""

    place: ManagedPlace
    # As it was; None: it is new.
    old: ManagedPlace | None
    # Who gets another image, or a first one, because of what the place says for all.
    units: tuple[Unit, ...] = ()
    # Who gets another one because of what is written for it alone.
    alone: tuple[Unit, ...] = ()
    # Who has an image of its own, and so stays.
    kept: tuple[Unit, ...] = ()

    @property
    def before(self) -> str:
        """What all shards here were to run; empty: there was none."""
        return self.old.revision if self.old is not None else ""

    @property
    def after(self) -> str:
        """What all shards here are to run."""
        return self.place.revision

    @property
    def staged(self) -> bool:
        """Whether a rollout moves them, by rules."""
        return self.place.managed.rollout is not None


def moves_of(base: Estate, head: Estate) -> tuple[Move, ...]:
    """Every place in which shards get another image, or keep theirs while others do."""
    before = {place.name: place for place in base.places}
    found = (_move(before.get(place.name), place) for place in head.places)
    return tuple(each for each in found if each.units or each.alone or each.kept)


def _move(old: ManagedPlace | None, place: ManagedPlace) -> Move:
    was = {unit.name: old.wanted(unit) for unit in old.units} if old is not None else {}
    moved = [unit for unit in place.units if was.get(unit.name) != place.wanted(unit)]
    default_moves = old is not None and old.revision != place.revision
    kept = [u for u in place.units if u.pinned_by and u not in moved] if default_moves else ()
    return Move(
        place=place,
        old=old,
        units=tuple(unit for unit in moved if not unit.pinned_by),
        alone=tuple(unit for unit in moved if unit.pinned_by),
        kept=tuple(kept),
    )


def outset_of(
    move: Move, known: RolloutState | None = None, *, complete: bool = True
) -> RolloutState | None:
    """The rollout of a place right after the change; None: no rollout moves it.

    `known`: what a journal has of it. Else all run what the base says, and have for long.
    `complete`: nothing is wrong with the bundle.
    """
    rules = move.place.managed.rollout
    if rules is None:
        return None
    state = known if known is not None and known.declared is not None else _settled(move)
    running = {name: each.revision for name, each in state.reports.items() if each.revision}
    others = _others(move.old, state)
    declared = declared_of(move.place, rules, running, others)
    declared = with_dry_run(move.place, rules, declared)
    return msgspec.structs.replace(state, declared=declared, complete=complete)


def _settled(move: Move) -> RolloutState:
    old = move.old
    if old is None:
        return RolloutState()
    reports = {
        unit.name: Target(unit.name, Status.Succeeded, LONG_AGO, old.wanted(unit))
        for unit in old.units
    }
    return RolloutState(
        reports=reports,
        rollout=Rollout(revision=old.revision, completed=True, last_good=old.revision),
    )


def _others(old: ManagedPlace | None, state: RolloutState) -> dict[str, str]:
    """Units that are not ours to move, as the journal has it; not those with a pin in the base."""
    pinned = {unit.name for unit in old.units if unit.pinned_by} if old is not None else set()
    declared = state.declared
    known = declared.pinned if declared is not None else {}
    return {name: why for name, why in known.items() if name not in pinned}


def reshapes_between(base: Estate, head: Estate) -> tuple[Reshape, ...]:
    """Sets of shards that are split otherwise than they were: the old one ends before the new."""
    before = {place.name: place for place in base.places}
    found: list[Reshape] = []
    for place in head.places:
        old = before.get(place.name)
        if old is not None and old != place and kind_of(old.managed) != "CronJob":
            found += reshapes_of(place, _owners(old))
    return tuple(found)


def _owners(place: ManagedPlace) -> list[KeyOwner]:
    """Every owner of a key, if what is declared ran."""
    return [
        KeyOwner(shard.workload, *share_of(shard), image_of(shard, place.managed, place.ground))
        for shard in place.shards
    ]
