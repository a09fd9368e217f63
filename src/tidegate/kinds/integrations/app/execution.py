"""Reads how shards ran what they are promised, reading after reading.

What is remembered is which runs were counted. It is lost with the process; then a pod that is met
in the middle of its life is believed if its last run ended well, as where images move in waves.
"""

from tidegate.kinds.integrations.app.estate import FindCluster
from tidegate.kinds.integrations.app.shards import Units, read_namespaces, read_runs
from tidegate.kinds.integrations.app.verification import proofs_in
from tidegate.kinds.integrations.core.waves.execution import ShardExecution, executed, tried
from tidegate.kinds.integrations.core.waves.trial import Trial
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace
from tidegate.kinds.integrations.fleet.snapshot import where_of
from tidegate.kinds.integrations.runs_port import Runs
from tidegate.registry.image import image_named

# Workloads that are remembered: more than any pipeline has on stage.
_KEPT_MAX = 20_000


class ShardExecutions:
    """The runs of shards, of what each is promised now."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        # By place and workload: of which image, and its trial.
        self._trials: dict[tuple[str, str], tuple[str, Trial]] = {}

    async def read(
        self, units: Units, find: FindCluster, needed: int
    ) -> list[ShardExecution | None]:
        """One for each unit; None: it is to run nothing."""
        readings = await read_namespaces(units, find)
        runs = await read_runs(units, readings, self._runs)
        if len(self._trials) > _KEPT_MAX:
            self._trials.clear()
        found: list[ShardExecution | None] = []
        for (place, unit), proof in zip(units, proofs_in(units, readings), strict=True):
            if unit.stopped:
                found.append(None)
                continue
            snapshot = readings.snapshots.get(where_of(place))
            pods = {} if snapshot is None else snapshot.pods
            promised = image_named(proof.row.wants, place.repository)
            trials: dict[str, Trial] = {}
            for shard in unit.shards:
                name, its = shard.workload, pods.get(shard.workload, ())
                before = self._before(place, name, promised)
                after = tried(before, proof.row.kind, promised, its, runs, needed=needed)
                trials[name] = after
                self._trials[place.name, name] = promised, after
            found.append(executed(unit, proof, promised, trials, pods, needed=needed))
        return found

    async def close(self) -> None:
        """Close what runs are read from."""
        await self._runs.close()

    def _before(self, place: ManagedPlace, workload: str, promised: str) -> Trial:
        """Its trial so far; what it showed of another image does not count, nor of this before."""
        image, trial = self._trials.get((place.name, workload), ("", Trial()))
        return trial if image == promised else Trial()
