"""A trial: what the runs of a shard's loop have shown of a new image, reading after reading.

A reconcile loop stays up while every run fails, so being up proves nothing: some runs in a row must
end well. A pod tells how many runs it has completed and how the last one ended. Of the runs between
two readings only the last is seen, so only that one counts.
"""

import msgspec


class ShardRun(msgspec.Struct, frozen=True):
    """What a pod says of its runs: how many it completed, and how the last one ended."""

    completed: int
    status: int


class Trial(msgspec.Struct, frozen=True):
    """Runs in a row that ended well, or badly."""

    good: int = 0
    bad: int = 0
    # Whose runs were counted, and up to which.
    pod: str = ""
    completed: int = 0
    # It was seen before it began: what the pod did earlier does not count.
    watched: bool = False
    # It has stood its trial; only failing ones in a row take that back.
    passed: bool = False


def begun(trial: Trial) -> Trial:
    """A trial that begins now, of what runs from here on."""
    return Trial(pod=trial.pod, completed=trial.completed, watched=True)


def advanced(trial: Trial, pod: str, run: ShardRun, *, needed: int) -> Trial:
    """The trial after one more reading.

    The count of a pod that is met in the middle of its life (after a restart of ours) is used if
    its last run ended well: nothing that stood its trial is tried again for our sake.
    """
    known = trial.completed if trial.pod == pod else 0
    if run.completed <= known:
        return trial if trial.pod == pod else msgspec.structs.replace(trial, pod=pod, completed=0)
    if run.status != 0:
        bad = trial.bad + 1
        return msgspec.structs.replace(
            trial, good=0, bad=bad, pod=pod, completed=run.completed, watched=True
        )
    met = not trial.watched and not trial.pod
    good = min(run.completed, needed) if met else trial.good + 1
    return Trial(
        good=good,
        bad=0,
        pod=pod,
        completed=run.completed,
        watched=True,
        passed=trial.passed or good >= needed,
    )
