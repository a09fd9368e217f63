"""Carries dry runs out: two jobs, what they said, and whether that is the same."""

from contextlib import aclosing, suppress

from tidegate.kinds.integrations.core.waves.rehearsal import (
    LINES_MAX,
    MARK,
    LogDifference,
    compare,
    job_of,
    mark_of,
    target_of,
    unit_of,
)
from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.core.workloads.estate import (
    INTEGRATION_LABEL,
    ManagedPlace,
    label_text,
)
from tidegate.kinds.integrations.core.workloads.live import CONTAINER
from tidegate.kinds.integrations.fleet.snapshot import NamespaceSnapshots
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kubernetes.port import JOB, POD, Cluster, Object, Take
from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.plan import ChangeKind
from tidegate.model.target import Status, Target

# How a job ended: its exit code, and its lines.
Ended = tuple[int, list[str]]


class Rehearsing:
    """Dry runs of new images."""

    def __init__(self, snapshots: NamespaceSnapshots) -> None:
        self._snapshots = snapshots
        # What a dry run showed, by place and the two revisions.
        self._shown: dict[tuple[str, str, str], tuple[int, LogDifference]] = {}
        # Dry runs whose rollout was taken back: there is nothing more to take back of them.
        self._returned: set[tuple[str, str]] = set()

    async def report(
        self, place: ManagedPlace, rules: ImageRules, old: str | None
    ) -> tuple[Target, ...]:
        """Where the dry run of a place stands; none where the rules ask for none."""
        if rules.dry_run is None:
            return ()
        name, revision = target_of(place), place.revision
        if old is None:
            # All shards have it: there is nothing to try any more.
            return (Target(name, Status.Succeeded, revision=revision),)
        if (place.name, revision) in self._returned:
            return (Target(name, Status.Succeeded, revision=old),)
        shown = self._shown.get((place.name, old, revision))
        if shown is None:
            status, detail = await self._look(place, rules, old)
            if status is not Status.Succeeded:
                known = None if status is Status.ToApply else revision
                return (Target(name, status, revision=known, detail=detail),)
            shown = self._shown[place.name, old, revision]
        status, detail = _judged(rules, *shown)
        return (Target(name, status, revision=revision, detail=detail),)

    async def _look(self, place: ManagedPlace, rules: ImageRules, old: str) -> tuple[Status, str]:
        cluster = self._cluster(place)
        ended: list[Ended] = []
        for revision in (old, place.revision):
            jobs = await _jobs(cluster, place, mark_of(unit_of(place, rules), revision))
            if not jobs:
                return Status.ToApply, ""
            job = jobs[-1]
            outcome = await outcome_of(cluster, job)
            if outcome is None:
                return Status.Progressing, f"trying {place.revision} beside {old}"
            ended.append(outcome)
        (_, before), (code, after) = ended
        self._shown[place.name, old, place.revision] = code, compare(before, after)
        return Status.Succeeded, ""

    async def act(
        self, place: ManagedPlace, rules: ImageRules, task: RolloutTask, old: str | None
    ) -> str:
        """Begin the two jobs, anew if there were any; of a return there is nothing to do."""
        if task.change.kind is not ChangeKind.APPLY or old is None:
            self._returned.add((place.name, place.revision))
            return "nothing to take back"
        self._returned.discard((place.name, place.revision))
        self._shown.pop((place.name, old, place.revision), None)
        cluster, unit = self._cluster(place), unit_of(place, rules)
        names: set[str] = set()
        for revision in (old, place.revision):
            job = job_of(place, unit, revision, task.key)
            await cluster.apply(job, take=Take.BACK)
            names.add(job["metadata"]["name"])
        for each in await _jobs(cluster, place):
            if each.ours and each.name not in names:
                with suppress(StaleError):
                    await cluster.delete(each)
        return f"trying {place.revision} beside {old} on {unit.name}"

    def _cluster(self, place: ManagedPlace) -> Cluster:
        return self._snapshots.find(place.managed.namespace.cluster)


async def _jobs(cluster: Cluster, place: ManagedPlace, mark: str = "") -> list[Object]:
    """The jobs of dry runs here, or of those of one mark; the youngest last."""
    selector = f"{INTEGRATION_LABEL}={label_text(place.integration.name)},"
    selector += f"{MARK}={mark}" if mark else MARK
    reading = await cluster.read(place.managed.namespace.name, [JOB], selector)

    def age(job: Object) -> tuple[str, str]:
        return str(job.document["metadata"].get("creationTimestamp", "")), job.name

    return sorted(reading.objects, key=age)


def _judged(rules: ImageRules, code: int, difference: LogDifference) -> tuple[Status, str]:
    if code != 0:
        return Status.Failed, f"its dry run ended with exit code {code}"
    assert rules.dry_run is not None
    if difference.count == 0:
        return Status.Succeeded, ""
    if difference.digest in rules.dry_run.accepts:
        return Status.Succeeded, f"{_differ(difference)}, accepted"
    how = f"if that is right, write dryRun.accepts: [{difference.digest}]"
    return Status.Failed, f"{_differ(difference)}: {difference.words}; {how}"


def _differ(difference: LogDifference) -> str:
    return "1 line differs" if difference.count == 1 else f"{difference.count} lines differ"


async def outcome_of(cluster: Cluster, job: Object) -> Ended | None:
    """How a job ended, and what it said; None: it has not."""
    status = job.document.get("status") or {}
    done = {
        each.get("type") for each in status.get("conditions") or () if each.get("status") == "True"
    }
    if not done & {"Complete", "Failed"}:
        return None
    pods = await cluster.read(job.namespace, [POD], f"job-name={job.name}")
    if not pods.objects:
        raise OutsideError(
            f"{cluster.name}: {job.where}: its pod is gone, and with it what it said"
        )
    pod = pods.objects[-1]
    try:
        said = cluster.logs(job.namespace, pod.name, CONTAINER, tail=LINES_MAX)
        async with aclosing(said):
            lines = [line async for line in said]
    except StaleError as error:
        raise OutsideError(str(error)) from error
    return 0 if "Complete" in done else (_exit_code(pod) or 1), lines


def _exit_code(pod: Object) -> int:
    for each in (pod.document.get("status") or {}).get("containerStatuses") or ():
        if each.get("name") == CONTAINER:
            ended = (each.get("state") or {}).get("terminated") or {}
            return int(ended.get("exitCode") or 0)
    return 0
