"""Keeps the trials of all units that are on trial, by asking their pods.

A shard that passed its trial is read for a while yet, because an image may fail late.
"""

from collections.abc import Iterable, Sequence

from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.core.waves.trial import Trial, advanced, begun
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit
from tidegate.kinds.integrations.core.workloads.live import Pod
from tidegate.kinds.integrations.fleet.snapshot import NamespaceSnapshot
from tidegate.kinds.integrations.runs_port import Runs
from tidegate.kubernetes.port import Cluster
from tidegate.machine.clock import Clock
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.registry.image import revision_of

# For so long after its trial, and its soak, a unit is watched.
WATCHED_AFTER = Duration(3600 * SECOND)
# And asked no more often than this: those on trial come first.
WATCHED_EVERY = Duration(30 * SECOND)

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
        self._asked_at: dict[_Key, Instant] = {}

    def begin(self, place: ManagedPlace, unit: Unit, revision: str, pods: Iterable[Pod]) -> None:
        """A unit was given a revision: whatever it did before does not count."""
        self.restarts.update({pod.uid: pod.restarts for pod in pods})
        for shard in unit.shards:
            key = place.name, shard.workload, revision
            self._trials[key] = begun(self._trials.get(key, Trial()))
            self._passed_at.pop(key, None)

    async def read(
        self, place: ManagedPlace, rules: ImageRules, snapshot: NamespaceSnapshot, cluster: Cluster
    ) -> dict[str, Trial]:
        """The trials of a place, by workload, after reading the runs of those on trial.

        All are, whatever they run: what goes out need not be what the bundle wants by now, and
        the worker that applied it may be gone.
        """
        keys: dict[str, _Key] = {}
        asked: list[tuple[_Key, Pod]] = []
        for shard in place.shards:
            workload = snapshot.workloads.get(shard.workload)
            if workload is not None:
                revision = revision_of(workload.image, place.repository)
                key = keys[shard.workload] = place.name, shard.workload, revision
                asked += ((key, pod) for pod in self._to_ask(key, rules, snapshot, workload.image))
        await self._ask(asked, rules, snapshot, cluster)
        return {name: self._trials[key] for name, key in keys.items()}

    def _to_ask(
        self, key: _Key, rules: ImageRules, snapshot: NamespaceSnapshot, image: str
    ) -> Sequence[Pod]:
        self._trials.setdefault(key, Trial())
        passed, now = self._passed_at.get(key), self._clock.now()
        if passed is not None:
            over = now - passed > rules.strategy.soak + WATCHED_AFTER
            if over or now - self._asked_at.get(key, passed) < WATCHED_EVERY:
                return ()
        pods = snapshot.pods.get(key[1], ())
        return [pod for pod in pods if pod.image == image and pod.ready and not pod.ending][:1]

    async def _ask(
        self,
        asked: Sequence[tuple[_Key, Pod]],
        rules: ImageRules,
        snapshot: NamespaceSnapshot,
        cluster: Cluster,
    ) -> None:
        if not asked:
            return
        now = self._clock.now()
        self._asked_at.update((key, now) for key, _ in asked)
        stated = await self._runs.read(cluster, [snapshot.objects[pod.uid] for _, pod in asked])
        for key, pod in asked:
            run = stated.get(pod.uid)
            if run is None:
                continue
            trial = advanced(self._trials[key], pod.uid, run, needed=rules.runs)
            self._trials[key] = trial
            if trial.passed:
                self._passed_at.setdefault(key, now)
