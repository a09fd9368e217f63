"""What becomes of every object, decided: `plan` and `apply` decide as the rounds of `serve` do."""

from collections import Counter
from collections.abc import Mapping
from itertools import groupby

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.integrations.core.objects.decide import ObjectWorld, decide, with_objects
from tidegate.kinds.integrations.core.objects.stand import stands_of, waves_of
from tidegate.kinds.integrations.core.workloads.change import (
    ClusterReading,
    ObjectAction,
    PlannedChange,
)
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest, candidates_of
from tidegate.kinds.integrations.core.workloads.estate import Estate
from tidegate.model.reason import Gate
from tidegate.model.removal import removals_max
from tidegate.model.verdict import Verdict, all_pass

_BRAKES = frozenset((Gate.HOLD, Gate.FREEZE, Gate.BLOCK, Gate.PIN, Gate.APPROVAL, Gate.HEALTH))


def changes_of(
    estate: Estate, seen: Mapping[str, ClusterReading], request: ChangeRequest | None = None
) -> tuple[PlannedChange, ...]:
    """What becomes of every object that is declared, and of ours that no longer are."""
    request = request or ChangeRequest()
    changes = candidates_of(estate, seen, request)
    found = {each.key: each for one in seen.values() for each in one.found}
    stands = stands_of(changes, estate, found)
    shared = ObjectWorld(
        managed=sum(each.ours for each in found.values()),
        removing=sum(each.removes for each in stands),
        removals=request.removals,
        allows_mass_delete=request.allow_mass_delete,
        declared=bool(estate.places),
        waves=waves_of(estate),
        brakes=_brakes(request),
        by_hand=True,
    )
    made: list[PlannedChange] = []
    pairs = list(zip(changes, stands, strict=True))
    going = Counter(change.cluster for change, stand in pairs if stand.removes)
    worlds = {name: _there(shared, one, going[name]) for name, one in seen.items()}
    for (cluster, _), some in groupby(pairs, key=lambda pair: pair[0].key[:2]):
        mine = list(some)
        world = with_objects(worlds.get(cluster, shared), tuple(stand for _, stand in mine))
        options = decide(world, request.now).options
        made += (
            _decided(change, option.verdicts)
            for (change, _), option in zip(mine, options, strict=True)
        )
    return tuple(made)


def _there(shared: ObjectWorld, reading: ClusterReading, removing: int) -> ObjectWorld:
    """The world of one cluster: the limit on removals is kept there, and over all clusters."""
    if shared.removing > removals_max(shared.managed, shared.removals):
        return shared
    managed = sum(each.ours for each in reading.found)
    return msgspec.structs.replace(shared, managed=managed, removing=removing)


def _brakes(request: ChangeRequest) -> Brakes:
    if request.brakes is None:
        return Brakes()
    return msgspec.structs.replace(request.brakes, kind=KindOfChange.INTEGRATIONS)


def _decided(change: PlannedChange, verdicts: tuple[Verdict, ...]) -> PlannedChange:
    """A change as its gates have it; those that pass say nothing that is not known."""
    shut = next((each for each in verdicts if each.outcome.value != "pass"), None)
    if all_pass(verdicts) or shut is None or not _acts(change):
        return change
    verb = ObjectAction.HELD if shut.gate in _BRAKES else ObjectAction.WAITING
    if change.verb is ObjectAction.REMOVE and shut.gate is Gate.REMOVAL:
        return msgspec.structs.replace(change, verb=ObjectAction.KEPT, verdicts=(shut,))
    return msgspec.structs.replace(change, verb=verb, verdicts=(*change.verdicts, shut))


def _acts(change: PlannedChange) -> bool:
    return all_pass(change.verdicts) and change.verb not in (
        ObjectAction.UNCHANGED,
        ObjectAction.UNKNOWN,
    )
