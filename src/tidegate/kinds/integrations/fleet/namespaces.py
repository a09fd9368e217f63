"""Namespaces as they are and as they are to be: one reading, and what would become of each object.

What differs is asked of the server by a dry run, once for each version of the object: so it is
known whose fields changed, and what the server refuses.
"""

import asyncio
from collections import defaultdict

import msgspec

from tidegate.kinds.integrations.app.executor import ObjectExecutor, preview
from tidegate.kinds.integrations.app.survey import KINDS, OURS, found_of, pulled_by
from tidegate.kinds.integrations.core.objects.facts import NamespaceTerms
from tidegate.kinds.integrations.core.objects.stand import ObjectStand, stands_of, waves_of
from tidegate.kinds.integrations.core.workloads.change import (
    ClusterReading,
    Key,
    ObjectAction,
    PlannedChange,
)
from tidegate.kinds.integrations.core.workloads.changes import ChangeRequest, candidates_of
from tidegate.kinds.integrations.core.workloads.estate import KIND, Estate, ManagedPlace
from tidegate.kinds.integrations.fleet.fleet import IntegrationsFleet
from tidegate.kinds.integrations.fleet.snapshot import NamespaceSnapshot, Where, where_of
from tidegate.kubernetes.port import Object
from tidegate.model.errors import OutsideError
from tidegate.model.limit import Limit
from tidegate.registry.image import pulled_digest

# Namespaces that no integration names are looked for this often.
SEARCH_S = 60.0
# And no longer than this, so that one cluster does not delay the others.
GLANCE_S = 10.0
# So many problems of a bundle are recorded, each cut to so many characters.
PROBLEMS_MAX, PROBLEM_MAX = 3, 200


class NamespaceObservation(msgspec.Struct, frozen=True, kw_only=True):
    """One reading: what would become of every object, and what is needed to do it."""

    terms: NamespaceTerms
    stands: tuple[ObjectStand, ...]
    changes: tuple[PlannedChange, ...]
    objects: dict[Key, Object]


class Namespaces:
    """The namespaces of an estate, and those that hold objects of ours all the same."""

    def __init__(self, fleet: IntegrationsFleet, removals: Limit) -> None:
        self._fleet = fleet
        self._removals = removals
        self._left: dict[str, set[str]] = {}
        self._searched_at: float | None = None
        # What a dry run answered, by object: for one version of it, and one that it is to be.
        self._answers: dict[Key, tuple[str, PlannedChange, PlannedChange]] = {}

    async def all(self) -> dict[str, Where]:
        """Every namespace, by the name of its partition."""
        estate = await self._fleet.estates.read()
        declared = [where_of(place) for place in _places(estate)]
        await self._search({cluster for cluster, _ in declared})
        left = [(cluster, name) for cluster, some in self._left.items() for name in sorted(some)]
        return {partition_of(where): where for where in dict.fromkeys((*declared, *left))}

    async def _search(self, clusters: set[str]) -> None:
        """Look for objects of ours in namespaces that no integration names any more."""
        now = asyncio.get_running_loop().time()
        if self._searched_at is not None and now - self._searched_at < SEARCH_S:
            return
        self._searched_at = now
        await asyncio.gather(*map(self._search_one, sorted(clusters)))

    async def _search_one(self, name: str) -> None:
        try:
            async with asyncio.timeout(GLANCE_S):
                reading = await self._fleet.snapshots.find(name).read("", KINDS, OURS)
        except (OutsideError, TimeoutError, OSError):
            return  # not allowed, or not now: what was found before stays
        self._left[name] = {each.namespace for each in reading.objects if each.ours}

    async def observe(self, where: Where, *, allow_mass_delete: bool) -> NamespaceObservation:
        """What a namespace holds and what would become of it; OutsideError if it cannot be read."""
        every = await self._fleet.estates.read()
        estate = _only(every, where)
        snapshot = await self._fleet.snapshots.of(where)
        objects = _objects(where, snapshot)
        seen = self._reading(estate, where, snapshot, objects)
        request = ChangeRequest(sound=every.complete)
        # 1,000 objects take a tenth of a second: not in the event loop.
        changes = await asyncio.to_thread(candidates_of, estate, {where[0]: seen}, request)
        changes = await self._asked(changes, where, objects)
        stands = stands_of(changes, estate, {each.key: each for each in seen.found})
        problems = tuple(each.text()[:PROBLEM_MAX] for each in every.problems[:PROBLEMS_MAX])
        terms = NamespaceTerms(
            managed=sum(each.ours for each in seen.found),
            declared=bool(every.places),
            removals=self._removals,
            allows_mass_delete=allow_mass_delete,
            waves=waves_of(estate),
            problems=problems,
        )
        return NamespaceObservation(terms=terms, stands=stands, changes=changes, objects=objects)

    def _reading(
        self,
        estate: Estate,
        where: Where,
        snapshot: NamespaceSnapshot,
        objects: dict[Key, Object],
    ) -> ClusterReading:
        running: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for workload, pods in snapshot.pods.items():
            running[where[1], workload] |= {pulled_digest(pod.image_id) for pod in pods}
        busy: dict[str, str] = {}
        for place in estate.places:
            self._fleet.resharding.see(place, snapshot)
            for each in self._fleet.resharding.under_way(place):
                busy |= {unit.name: each.words for unit in each.units}
        return ClusterReading(
            found=tuple(found_of(key, each) for key, each in objects.items()),
            gaps={where[1]: "; ".join(snapshot.gaps)} if snapshot.gaps else {},
            pulled=pulled_by(objects, running),
            resharding=busy,
        )

    async def _asked(
        self, changes: tuple[PlannedChange, ...], where: Where, objects: dict[Key, Object]
    ) -> tuple[PlannedChange, ...]:
        """What differs, as a dry run on the server has it; each difference is asked for once."""
        known: dict[Key, PlannedChange] = {}
        unknown: list[PlannedChange] = []
        for each in changes:
            if each.verb is not ObjectAction.CONFIGURE:
                self._answers.pop(each.key, None)
                continue
            answer = self._answers.get(each.key)
            if answer is not None and answer[:2] == (objects[each.key].version, each):
                known[each.key] = answer[2]
            else:
                unknown.append(each)
        if unknown:
            clusters = {where[0]: self._fleet.snapshots.find(where[0])}
            executor = ObjectExecutor(clusters=clusters, objects=objects)
            answers, _ = await preview(unknown, executor)
            for each, told in zip(unknown, answers, strict=True):
                known[each.key] = told
                self._answers[each.key] = objects[each.key].version, each, told
        return tuple(known.get(each.key, each) for each in changes)


def partition_of(where: Where) -> str:
    """What the objects of a namespace are called, as one."""
    return f"{KIND}/{where[0]}.{where[1]}"


def _places(estate: Estate) -> tuple[ManagedPlace, ...]:
    return estate.every_place


def _only(estate: Estate, where: Where) -> Estate:
    """An estate with the places of one namespace."""
    return msgspec.structs.replace(
        estate,
        places=tuple(place for place in estate.places if where_of(place) == where),
        imageless=tuple(each for each in estate.imageless if where_of(each[0]) == where),
    )


def _objects(where: Where, snapshot: NamespaceSnapshot) -> dict[Key, Object]:
    there = (*snapshot.services, *(snapshot.objects[name] for name in snapshot.workloads))
    return {(where[0], where[1], each.kind.name, each.name): each for each in there}
