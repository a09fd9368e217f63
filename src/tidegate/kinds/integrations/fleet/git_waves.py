"""Images that move through Git: a rollout decides, and its acts are overrides in merge requests.

What a shard runs is read from its cluster, as for any rollout. A shard whose override is offered,
or merged and not carried out yet, is being updated: so groups, slots, soak and budget count it just
as if its workload had been changed directly. One whose merge request a person closed has failed: a
refusal counts, and `retry` asks again. What carries Git out may be any system.
"""

import asyncio
from collections.abc import Iterable

from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace
from tidegate.kinds.integrations.wave_requests_port import WaveRequest, WaveRequests
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import ChangeKind
from tidegate.model.target import Status, Target
from tidegate.net.picture_links import PictureLinks

_NO_FORGE = "images move through Git here (via: git): name the forge of the bundle (`forge`)"


class GitWaves:
    """Reports and acts of places whose images move through Git."""

    def __init__(self, requests: WaveRequests | None, pictures: PictureLinks | None = None) -> None:
        self._requests = requests
        self._pictures = pictures or PictureLinks()
        self._locks: dict[str, asyncio.Lock] = {}
        # Moves that are asked for and not offered yet: acts of one wave share a merge request.
        self._asked: dict[str, dict[str, str]] = {}

    async def reports(self, place: ManagedPlace, reports: Iterable[Target]) -> tuple[Target, ...]:
        """What units report, with what is offered for them or merged and not running yet."""
        request = await self._requests.newest(place) if self._requests is not None else None
        if request is not None and request.revision != place.revision:
            request = None  # of an earlier default: it is closed, or the next act replaces it
        return tuple(_seen(place, each, request) for each in reports)

    async def act(self, place: ManagedPlace, task: RolloutTask) -> str:
        """Offer a unit its image; those that are asked for at the same time go together."""
        if self._requests is None:
            raise OutsideError(_NO_FORGE)
        if task.change.kind is ChangeKind.REMOVE or task.change.revision is None:
            raise StaleError(f"{task.target}: what Git does not have is removed by what applies it")
        asked = self._asked.setdefault(place.name, {})
        asked[task.target] = task.change.revision
        async with self._locks.setdefault(place.name, asyncio.Lock()):
            moves = self._asked.pop(place.name, {})
            if moves:
                picture = self._pictures.of_task(place.partition, task.key)
                return await self._requests.offer(place, moves, picture)
        found = await self._requests.newest(place)
        if found is None or task.target not in found.units:
            raise StaleError(f"{task.target}: it was not offered; it is tried again")
        return found.url

    async def tidy(self, place: ManagedPlace) -> None:
        """Close a merge request of an earlier default: merged, it would move shards out of turn."""
        if self._requests is None:
            return
        async with self._locks.setdefault(place.name, asyncio.Lock()):
            found = await self._requests.newest(place)
            if found is not None and not found.declined and found.revision != place.revision:
                await self._requests.supersede(place)


def _seen(place: ManagedPlace, report: Target, request: WaveRequest | None) -> Target:
    unit = place.unit(report.name)
    if unit is None:
        return report
    offered = request.units.get(report.name) if request is not None else None
    if request is not None and offered is not None and offered != report.revision:
        if request.declined:
            detail = f"{request.url} was closed without a merge"
            return Target(report.name, Status.Failed, revision=offered, detail=detail)
        detail = f"in {request.url}, which is open"
        return Target(report.name, Status.Progressing, revision=offered, detail=detail)
    wanted = place.wanted(unit)
    if report.revision != wanted:
        detail = f"Git has {wanted}, and it runs {report.revision or 'nothing that is known'}"
        return Target(report.name, Status.Progressing, revision=wanted, detail=detail)
    return report
