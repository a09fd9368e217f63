"""Changes under brakes: what a hold, freeze, block or pin covers is held, with its verdict."""

from collections.abc import Iterable

import msgspec

from tidegate.gates.ask import Ask, Purpose, shut_now
from tidegate.gates.brakes import LISTS, Brakes, Coverages
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.integrations.core.workloads.change import ACTING, ObjectAction, PlannedChange
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.model.time import Duration, Instant


def braked(
    brakes: Brakes, now: Instant, estate: Estate, changes: Iterable[PlannedChange]
) -> tuple[PlannedChange, ...]:
    """Changes as the brakes have it."""
    every = tuple(changes)
    if not any(getattr(brakes, field) for field in LISTS):
        return every
    labels = {unit.name: unit.labels for place in estate.places for unit in place.units}
    brakes = msgspec.structs.replace(brakes, kind=KindOfChange.INTEGRATIONS)
    coverages = Coverages(brakes, labels)

    def held(change: PlannedChange) -> PlannedChange:
        if change.verb not in ACTING:
            return change
        purpose = Purpose.REMOVE if change.verb is ObjectAction.REMOVE else Purpose.ROLL_OUT
        ask = Ask(purpose=purpose, now=now, revision=None, need=Duration(0))
        shut = shut_now(coverages.of(change.shard or change.name), ask)
        if shut is None:
            return change
        return msgspec.structs.replace(
            change, verb=ObjectAction.HELD, verdicts=(*change.verdicts, shut)
        )

    return tuple(map(held, every))
