"""The reasons that every kind shares: progress of a target, and the state of its partition."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N, _NS, _D = FactFormat.COUNT, FactFormat.NAME, FactFormat.NAMES, FactFormat.DURATION
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class ProgressReason(Reason):
    """Why a target, or all of a partition, starts or waits."""

    InFlight = Entry(Gate.PROGRESS, _WAIT, "being updated", opens="it reports its result")
    InFlightSaying = Entry(
        Gate.PROGRESS, _WAIT, "being updated: {says}", (("says", _N),), "it reports its result"
    )
    Done = Entry(Gate.PROGRESS, _STOP, "done: it has the change")
    Skipped = Entry(Gate.PROGRESS, _STOP, "skipped: unchanged, counts neither way")
    Failed = Entry(Gate.PROGRESS, _STOP, "failed", opens="a new revision, or `retry --failed`")
    FailedSaying = Entry(
        Gate.PROGRESS,
        _STOP,
        "failed: {says}",
        (("says", _N),),
        "a new revision, or `retry --failed`",
    )
    Running = Entry(Gate.RUNNING, _PASS, "the rollout is running")
    Paused = Entry(Gate.RUNNING, _STOP, "the rollout is paused", opens="`resume` the rollout")
    Aborted = Entry(
        Gate.RUNNING,
        _STOP,
        "the rollout was aborted",
        opens="a new revision, or `retry` of the rollout",
    )
    ReadingComplete = Entry(Gate.READING, _PASS, "all members of its group are seen")
    ReadingIncomplete = Entry(
        Gate.READING,
        _WAIT,
        "the reading is incomplete: {group} may have members we do not see",
        (("group", _N),),
        "a complete reading",
    )
    FirstInOrder = Entry(Gate.ORDER, _PASS, "nothing goes before it")
