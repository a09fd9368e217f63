"""Keeps the trials of all units that are on trial, by asking their pods.

Whoever has stood a trial is asked for a while yet, because an image may fail late; then no more.
"""

from collections.abc import Iterable, Sequence

from tidegate.core.integrations.estate import Place, Unit
from tidegate.core.integrations.images import revision_of
from tidegate.core.integrations.live import Pod
from tidegate.core.integrations.rules import Rules
from tidegate.core.integrations.trial import Trial, advanced, begun
from tidegate.core.model.time import SECOND, Duration, Instant
from tidegate.engine.integrations.sight import Sight
from tidegate.ports.clock import Clock
from tidegate.ports.cluster import Cluster
from tidegate.ports.runs import Runs

# For so long after its trial, and its soak, a unit is watched.
WATCHED_AFTER = Duration(3600 * SECOND)

# A workload of a place, on a revision.
_Key = tuple[str, str, str]


class Trials:
    """Trials by place, workload and revision."""

    def __init__(self, runs: Runs, clock: Clock) -> None:
        self._runs = runs
        self._clock = clock
        self._trials: dict[_Key, Trial] = {}
        self._passed_at: dict[_Key, Instant] = {}
        # How often each pod had been started again when the trial began.
        self.restarts: dict[str, int] = {}
        # What units were last given by us.
        self._given: dict[tuple[str, str], str] = {}

    def begin(self, place: Place, unit: Unit, revision: str, pods: Iterable[Pod]) -> None:
        """A unit was given a revision: whatever it did before does not count."""
        self._given[place.name, unit.name] = revision
        self.restarts.update({pod.uid: pod.restarts for pod in pods})
        for shard in unit.shards:
            key = place.name, shard.workload, revision
            self._trials[key] = begun(self._trials.get(key, Trial()))
            self._passed_at.pop(key, None)

    async def read(
        self, place: Place, rules: Rules, sight: Sight, cluster: Cluster
    ) -> dict[str, Trial]:
        """The trials of a place, by workload, after asking whoever is on trial."""
        asked: list[tuple[_Key, Pod]] = []
        found: dict[str, Trial] = {}
        for unit in place.units:
            for shard in unit.shards:
                workload = sight.workloads.get(shard.workload)
                if workload is None:
                    continue
                revision = revision_of(workload.image, place.repository)
                if not self._is_tried(place, unit, revision):
                    # Nobody put it there now: it is on no trial.
                    found[shard.workload] = Trial(passed=True)
                    continue
                key = place.name, shard.workload, revision
                asked += ((key, pod) for pod in self._to_ask(key, rules, sight, workload.image))
        await self._ask(asked, rules, sight, cluster)
        for (name, workload_name, revision), trial in self._trials.items():
            workload = sight.workloads.get(workload_name)
            if name == place.name and workload is not None and workload_name not in found:
                if revision_of(workload.image, place.repository) == revision:
                    found[workload_name] = trial
        return found

    def _is_tried(self, place: Place, unit: Unit, revision: str) -> bool:
        return revision in (place.revision, self._given.get((place.name, unit.name)))

    def _to_ask(self, key: _Key, rules: Rules, sight: Sight, image: str) -> Sequence[Pod]:
        self._trials.setdefault(key, Trial())
        passed = self._passed_at.get(key)
        watched = rules.strategy.soak + WATCHED_AFTER
        if passed is not None and self._clock.now() - passed > watched:
            return ()
        pods = sight.pods.get(key[1], ())
        return [pod for pod in pods if pod.image == image and pod.ready and not pod.ending][:1]

    async def _ask(
        self, asked: Sequence[tuple[_Key, Pod]], rules: Rules, sight: Sight, cluster: Cluster
    ) -> None:
        if not asked:
            return
        told = await self._runs.read(cluster, [sight.objects[pod.uid] for _, pod in asked])
        for key, pod in asked:
            run = told.get(pod.uid)
            if run is None:
                continue
            trial = advanced(self._trials[key], pod.uid, run, needed=rules.runs)
            self._trials[key] = trial
            if trial.passed:
                self._passed_at.setdefault(key, self._clock.now())
