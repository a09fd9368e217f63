"""How often a shard ran what it is promised, cleanly and in a row: deployed is not executed.

A loop says how many runs it has completed and how the last one ended; a job is one run, which ended
well if its pod did, at the first attempt. The runs of another image count for nothing, nor does
what a pod did before its container was started again.
"""

from collections.abc import Mapping, Sequence

import msgspec

from tidegate.kinds.integrations.core.review.proof import Proof, keeps
from tidegate.kinds.integrations.core.waves.trial import ShardRun, Trial, advanced
from tidegate.kinds.integrations.core.workloads.estate import Unit
from tidegate.kinds.integrations.core.workloads.live import Pod

# All jobs of a shard are one sequence of runs; what orders them is when they ended.
_JOBS = "jobs"
_SILENT = "its pods say nothing of their runs"


class ShardExecution(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of one shard have shown of the image that it is promised."""

    shard: str
    # Clean runs in a row, up to the number that is asked for; of sub-shards the fewest.
    clean: int = 0
    # Why it does not run well, or why that is not known; empty: it does, it is.
    failing: str = ""
    unread: str = ""


def tried(
    trial: Trial,
    kind: str,
    promised: str,
    pods: Sequence[Pod],
    runs: Mapping[str, ShardRun],
    *,
    needed: int,
) -> Trial:
    """The trial of a workload after one more reading; runs by the pod's uid."""
    its = [pod for pod in pods if keeps(promised, pod)]
    if kind == "CronJob":
        return _jobs(trial, its, needed)
    for pod in its:
        run = runs.get(pod.uid)
        if run is not None and pod.ready and not pod.ending:
            return advanced(trial, _life(pod), run, needed=needed)
    return trial


def executed(
    unit: Unit,
    proof: Proof,
    promised: str,
    trials: Mapping[str, Trial],
    pods: Mapping[str, Sequence[Pod]],
    *,
    needed: int,
) -> ShardExecution:
    """What there is to say of a unit; trials and pods by the name of the workload."""
    shard = unit.name
    if not proof.read:
        return ShardExecution(shard=shard, unread=proof.row.note or proof.why or "it was not read")
    its = [pod for each in unit.shards for pod in pods.get(each.workload, ())]
    crashing = next((p for p in its if p.crashes and not p.over and keeps(promised, p)), None)
    if crashing is not None:
        why = f"{crashing.restarts} restarts ({crashing.waiting})"
        return ShardExecution(shard=shard, failing=why)
    mine = [trials.get(each.workload, Trial()) for each in unit.shards]
    bad = max(each.bad for each in mine)
    if bad:
        word = "its last run" if bad == 1 else f"its last {bad} runs"
        return ShardExecution(shard=shard, failing=f"{word} failed")
    if proof.why:  # It runs something else, or not all of it runs: nothing is shown yet.
        return ShardExecution(shard=shard)
    if proof.row.kind != "CronJob" and not all(each.pod for each in mine):
        return ShardExecution(shard=shard, unread=_SILENT)
    return ShardExecution(shard=shard, clean=min(needed, *(each.good for each in mine)))


def _jobs(trial: Trial, pods: Sequence[Pod], needed: int) -> Trial:
    """Each job that ended since the last reading is a run."""
    found = msgspec.structs.replace(trial, pod=_JOBS, watched=True)
    ended = [(pod.ended_at, pod) for pod in pods if pod.over and pod.ended_at is not None]
    for at, pod in sorted(ended, key=lambda each: (each[0], each[1].uid)):
        run = ShardRun(at, 1 if pod.failed or pod.restarts else 0)
        found = advanced(found, _JOBS, run, needed=needed)
    return found


def _life(pod: Pod) -> str:
    """A container that was started again counts its runs from nothing."""
    return f"{pod.uid}/{pod.restarts}"
