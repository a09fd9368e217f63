"""Namespaces as a worker runs them: their objects are read, and made what Git declares."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from tidegate.engine.kind import ActRefusedError, Kind
from tidegate.engine.plain.rules import PlainWorld
from tidegate.engine.plain.state import PlainTask
from tidegate.journal.fact import Fact
from tidegate.journal.facts import TaskOutcome
from tidegate.kinds.integrations.app.executor import (
    ObjectExecutor,
    ObjectOutcome,
    ObjectResult,
    apply,
)
from tidegate.kinds.integrations.core.objects.facts import ObjectsSeen
from tidegate.kinds.integrations.core.objects.stand import ObjectStand, digest_of
from tidegate.kinds.integrations.core.workloads.change import ObjectAction, PlannedChange
from tidegate.kinds.integrations.fleet.fleet import IntegrationsFleet
from tidegate.kinds.integrations.fleet.namespaces import NamespaceObservation, Namespaces
from tidegate.kinds.integrations.fleet.snapshot import Where
from tidegate.kinds.integrations.rules import NamespaceRules, NamespaceState
from tidegate.kubernetes.port import Object, kind_of
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.limit import Limit
from tidegate.model.plan import Plan
from tidegate.model.removal import REMOVALS
from tidegate.model.time import Instant

_REFUSED = frozenset((ObjectOutcome.CONFLICT, ObjectOutcome.REFUSED))
_OTHERWISE = "it is declared otherwise by now"


class NamespaceKind(Kind[NamespaceState, PlainWorld, Plan, NamespaceObservation]):
    """The namespaces that integrations of a bundle run in."""

    def __init__(self, fleet: IntegrationsFleet, removals: Limit = REMOVALS) -> None:
        super().__init__(NamespaceRules())
        self._fleet = fleet
        self._namespaces = Namespaces(fleet, removals)
        self._wheres: dict[str, Where] = {}
        self._last: dict[str, NamespaceObservation] = {}

    async def partitions(self) -> list[str]:
        """One for each namespace."""
        found = await self._namespaces.all()
        self._wheres |= found
        return list(found)

    async def changes(self) -> AsyncIterator[str]:
        """All namespaces when the bundle changed, and each in which something did."""
        before: object = None
        known: dict[str, int] = {}
        while True:
            estate = await self._fleet.estates.read()
            for partition, where in list(self._wheres.items()):
                count = self._fleet.snapshots.changes(where)
                if estate is not before or known.get(partition) != count:
                    yield partition
                known[partition] = count
            before = estate
            await asyncio.sleep(self._fleet.look_s)

    def system_of(self, partition: str) -> str:
        """The cluster of a namespace: one that fails does not stop the others."""
        return self._where(partition)[0]

    async def observe(self, partition: str) -> NamespaceObservation:
        """What is there, and what would become of it."""
        found = await self._namespaces.observe(
            self._where(partition), allow_mass_delete=self.allow_mass_removal
        )
        self._last[partition] = found
        return found

    def news(
        self, state: NamespaceState, seen: NamespaceObservation, now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """Objects that stand otherwise than is known."""
        stands = {each.object: each for each in seen.stands}
        changed = tuple(each for name, each in stands.items() if state.objects.get(name) != each)
        gone = tuple(sorted(state.objects.keys() - stands.keys()))
        if state.seen and state.terms == seen.terms and not changed and not gone:
            return ()
        return [(now, ObjectsSeen(terms=seen.terms, objects=changed, gone=gone))]

    async def act(self, partition: str, _state: NamespaceState, task: Any) -> str:
        """Make the objects of a shard what they are to be, as they were seen in this round."""
        assert isinstance(task, PlainTask)
        where, last = self._where(partition), self._last.get(partition)
        if last is None:
            raise StaleError("it was not looked at since")
        removes = task.change.startswith(ObjectAction.REMOVE.value)
        mine = _mine(last, task.target, removes)
        if not mine or digest_of(stand for stand, _ in mine) != task.change:
            raise StaleError(_OTHERWISE)
        try:
            async with self._fleet.snapshots.unit(where, task.target):
                await self._check_missing(where, [change for _, change in mine])
                results = await apply(
                    [change for _, change in mine], self._executor(where, last.objects)
                )
        finally:
            self._fleet.snapshots.forget(where)
        return _told(results)

    async def _check_missing(self, where: Where, changes: list[PlannedChange]) -> None:
        """What is to be created was not made by its rollout meanwhile, with another image."""
        cluster = self._fleet.snapshots.find(where[0])
        for each in changes:
            if each.verb is ObjectAction.CREATE and each.manifest is not None:
                kind = kind_of(each.manifest)
                if await cluster.get(kind, each.namespace, each.name) is not None:
                    raise StaleError(f"{each.where} is there by now")

    def _executor(self, where: Where, objects: dict[Any, Object]) -> ObjectExecutor:
        cluster = self._fleet.snapshots.find(where[0])
        return ObjectExecutor(clusters={where[0]: cluster}, objects=objects, exact=True)

    def _where(self, partition: str) -> Where:
        known = self._wheres.get(partition)
        if known is None:
            raise OutsideError(f"{partition} is not known: no integration runs there")
        return known

    def rests(self, result: Any) -> bool:
        """Whether nothing is done or waits to be done."""
        done = result.record is not None and not result.record.tasks and not result.outcomes
        return super().rests(result) and done

    async def after_round(self, round_: Any) -> Mapping[str, str]:
        """What was just done is looked at again at once: until then, it is only accepted."""
        did = any(outcome is TaskOutcome.DONE for _, outcome in round_.outcomes)
        if did and round_.part.wake is not None:
            round_.part.wake()
        return {}

    def on_lease_lost(self, partition: str) -> None:
        """Another worker reads it anew."""
        self._last.pop(partition, None)


def _mine(
    last: NamespaceObservation, target: str, removes: bool
) -> list[tuple[ObjectStand, PlannedChange]]:
    """The objects of a target that are applied, or those that are removed."""
    pairs = zip(last.stands, last.changes, strict=True)
    return [
        (stand, change)
        for stand, change in pairs
        if stand.target == target and stand.acts and stand.removes == removes
    ]


def _told(results: Sequence[ObjectResult]) -> str:
    """What was done, a part for each object; the first that went wrong is raised."""
    words = [
        f"{each.change.where} {each.outcome.value}" + (f" ({each.detail})" if each.detail else "")
        for each in results
    ]
    for each in results:
        if each.outcome in _REFUSED:
            raise ActRefusedError(each.detail)
        if each.outcome is ObjectOutcome.FAILED:
            raise OutsideError(each.detail)
    return "; ".join(words)
