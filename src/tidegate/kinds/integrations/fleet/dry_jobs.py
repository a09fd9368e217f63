"""A Job in the cluster of a shard as a runner: with that shard's secrets, and nowhere else.

What it runs reads the data that are live there, so it can tell two images apart and not two states
of a bundle. A Job is gone once it was looked at, or the check no longer waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tidegate.kinds.integrations.core.waves.rehearsal import job_of
from tidegate.kinds.integrations.core.workloads.estate import Piece, Unit
from tidegate.kinds.integrations.dry_runs_port import DryRunRequest, Tell
from tidegate.kinds.integrations.fleet.rehearsal import outcome_of
from tidegate.kubernetes.port import JOB, Cluster, Take
from tidegate.model.errors import OutsideError, StaleError

# How often a Job is looked at.
EVERY_S = 2.0
# A Job that cannot be deleted within this is left; it runs once and changes nothing.
DELETE_S = 20.0
Find = Callable[[str], Cluster]


class JobRunner:
    """Runs Jobs where shards run."""

    reads_data = False

    def __init__(
        self,
        find: Find,
        close: Callable[[], Awaitable[None]] | None = None,
        every_s: float = EVERY_S,
    ) -> None:
        self._find = find
        self._close = close
        self._every_s = every_s

    async def run(self, dry_run: DryRunRequest, said: Tell, noted: Tell) -> int:
        """Make a Job, wait for its end, and tell what it said."""
        piece = dry_run.input.piece
        if piece is None or piece.place is None or piece.shard is None:
            raise OutsideError(f"{dry_run.shard} runs on no cluster, so no Job can stand for it")
        cluster = self._find(piece.cluster)
        unit = Unit(dry_run.shard, (piece.shard,))
        job = job_of(piece.place, unit, dry_run.input.revision, dry_run.key)
        name = job["metadata"]["name"]
        noted(f"+ job/{name} in {piece.cluster}/{piece.namespace}")
        try:
            await cluster.apply(job, take=Take.BACK)
            code, lines = await self._ended(cluster, piece, name)
        finally:
            await asyncio.shield(_delete(cluster, piece.namespace, name))
        for line in lines:
            said(line)
        return code

    async def close(self) -> None:
        """Let go of the clusters."""
        if self._close is not None:
            await self._close()

    async def _ended(self, cluster: Cluster, piece: Piece, name: str) -> tuple[int, list[str]]:
        while True:
            job = await cluster.get(JOB, piece.namespace, name)
            if job is None:
                raise OutsideError(f"{cluster.name}: job/{piece.namespace}/{name} is gone")
            ended = await outcome_of(cluster, job)
            if ended is not None:
                return ended
            await asyncio.sleep(self._every_s)


async def _delete(cluster: Cluster, namespace: str, name: str) -> None:
    with suppress(TimeoutError, OutsideError, StaleError):
        async with asyncio.timeout(DELETE_S):
            job = await cluster.get(JOB, namespace, name)
            if job is not None and job.ours:
                await cluster.delete(job)
