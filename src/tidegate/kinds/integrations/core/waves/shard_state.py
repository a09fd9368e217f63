"""Where a unit stands with its image, in the words every rollout uses.

Started is applied. Succeeded is on the image, available, and through its trial. Failed is a crash
loop, a cluster that gave up, or runs that keep failing. The rest is being updated, and says with
what it is busy.
"""

from collections.abc import Mapping, Sequence

from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.core.waves.trial import Trial
from tidegate.kinds.integrations.core.workloads.estate import Unit
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, Pod
from tidegate.model.target import Status, Target
from tidegate.registry.image import image_named, is_same, pulled_digest, revision_of

# A container that was started again this often and still does not run will not.
RESTARTS_MAX = 3


def standing_of(
    unit: Unit,
    rules: ImageRules,
    repository: str,
    workloads: Mapping[str, LiveWorkload],
    pods: Mapping[str, Sequence[Pod]],
    trials: Mapping[str, Trial],
    restarts_before: Mapping[str, int],
    wanted: str = "",
) -> Target:
    """What a unit reports; without `since`, which needs the report before.

    Workloads, pods and trials by the name of the workload. `wanted`: its revision in the end.
    """
    names = [shard.workload for shard in unit.shards]
    found = [workloads[name] for name in names if name in workloads]
    revisions = revisions_in(unit, workloads, pods, wanted, repository)
    if len(found) < len(names) or len(revisions) != 1:
        # Not there, or its parts differ: whatever goes out goes to all of them.
        return Target(unit.name)
    (revision,) = revisions
    said = [_said(each, rules, pods.get(each.name, ()), trials, restarts_before) for each in found]
    status, detail = max(said, key=lambda one: (_RANK[one[0]], one[1]))
    if len(said) > 1 and status is Status.Progressing:
        done = sum(one is Status.Succeeded for one, _ in said)
        detail = f"{done} of {len(said)} sub-shards done; {detail}"
    return Target(unit.name, status, revision=revision, detail=detail)


def revisions_in(
    unit: Unit,
    workloads: Mapping[str, LiveWorkload],
    pods: Mapping[str, Sequence[Pod]],
    wanted: str,
    repository: str,
) -> set[str]:
    """What the parts of a unit run that are there: one revision, unless they differ."""
    return {
        revision_in(workloads[name], pods.get(name, ()), wanted, repository)
        for name in (shard.workload for shard in unit.shards)
        if name in workloads
    }


def revision_in(workload: LiveWorkload, pods: Sequence[Pod], wanted: str, repository: str) -> str:
    """What a workload runs, by the name of what is wanted if it is the same in other words.

    Else the same image would go out again, and restart all shards, as soon as a registry is asked.
    """
    if wanted and workload.image:
        asked = image_named(wanted, repository)
        if is_same(asked, workload.image, _pulled(workload, pods)):
            return wanted
    return revision_of(workload.image, repository)


def _pulled(workload: LiveWorkload, pods: Sequence[Pod]) -> str:
    """The digest all pods of a workload run; empty where they differ or do not say."""
    its = [pod for pod in pods if pod.image == workload.image and not pod.ending]
    stated = {pulled_digest(pod.image_id) for pod in its}
    return stated.pop() if len(stated) == 1 else ""


# The worst of its parts is what a unit is.
_RANK = {Status.Succeeded: 0, Status.Progressing: 1, Status.Failed: 2}


def _said(
    workload: LiveWorkload,
    rules: ImageRules,
    pods: Sequence[Pod],
    trials: Mapping[str, Trial],
    restarts_before: Mapping[str, int],
) -> tuple[Status, str]:
    if workload.kind == "CronJob" or workload.replicas == 0:
        # It runs when its time comes, or not at all.
        return (Status.Succeeded, "") if workload.rolled_out else (Status.Progressing, "stopping")
    new = [pod for pod in pods if pod.image == workload.image and not pod.ending]
    for pod in new:
        restarts = pod.restarts - restarts_before.get(pod.uid, 0)
        if pod.crashes and restarts >= RESTARTS_MAX:
            return Status.Failed, f"crash loop: {restarts} restarts ({pod.waiting})"
    if workload.gave_up:
        return Status.Failed, "the cluster gave up on it (ProgressDeadlineExceeded)"
    trial = trials.get(workload.name, Trial())
    if trial.bad >= rules.failing_runs:
        return Status.Failed, f"{trial.bad} runs failed in a row"
    if not workload.rolled_out:
        pulls = any(pod.cannot_pull for pod in new)
        return Status.Progressing, "its image cannot be pulled" if pulls else "not available yet"
    if trial.passed or rules.runs == 0:
        return Status.Succeeded, ""
    failing = f", {trial.bad} failing" if trial.bad else ""
    return Status.Progressing, f"{trial.good} of {rules.runs} clean runs{failing}"
