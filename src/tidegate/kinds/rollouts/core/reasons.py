"""The reasons of rollouts: progress, order, budget, approvals, slots and the way back."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N, _NS, _D = FactFormat.COUNT, FactFormat.NAME, FactFormat.NAMES, FactFormat.DURATION
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class RolloutReason(Reason):
    """Why a gate of a rollout says what it says."""

    InFlightUndated = Entry(
        Gate.PROGRESS,
        _WAIT,
        "being updated, but does not say since when; its {deadline} deadline cannot be counted",
        (("deadline", _D),),
        "it reports lastTransitionTime, or its result",
    )
    UnknownStatus = Entry(
        Gate.PROGRESS,
        _WAIT,
        'reports "{status}", which is not a known status; counted as being updated',
        (("status", _N),),
        "it reports a known status",
    )
    BusyElsewhere = Entry(
        Gate.PROGRESS, _WAIT, "{what} comes first", (("what", _N),), "{what} ends"
    )
    Soaking = Entry(
        Gate.PROGRESS, _WAIT, "succeeded, soaking for {soak}", (("soak", _D),), "the soak ends"
    )
    SoakingUndated = Entry(
        Gate.PROGRESS,
        _WAIT,
        "succeeded, but does not say since when; its {soak} soak cannot be counted",
        (("soak", _D),),
        "it reports lastTransitionTime",
    )
    TimedOut = Entry(
        Gate.PROGRESS,
        _STOP,
        "gave no answer within {deadline}",
        (("deadline", _D),),
        "a new revision, or `retry --failed`",
    )
    NoAnswer = Entry(
        Gate.PROGRESS, _STOP, "gave no answer in time", opens="a new revision, or `retry --failed`"
    )
    JoinedLater = Entry(
        Gate.PROGRESS, _PASS, "joined after the rollout was completed: gets the last good revision"
    )
    LeftEveryGroup = Entry(Gate.READING, _PASS, "it is in no group of a complete reading: removed")
    MayBeUnseen = Entry(
        Gate.READING,
        _WAIT,
        "the reading is incomplete: it may be in a group we do not see",
        opens="a complete reading",
    )
    WithinBudget = Entry(
        Gate.BUDGET,
        _PASS,
        "{failed:failure}, {allowed} allowed in {scope}",
        (("failed", _C), ("allowed", _C), ("scope", _N)),
    )
    OverBudget = Entry(
        Gate.BUDGET,
        _STOP,
        "{failed:failure}, {allowed} allowed in {scope} ({targets})",
        (("failed", _C), ("allowed", _C), ("scope", _N), ("targets", _NS)),
        "a new revision, or `retry --failed`",
    )
    MandatoryTargetFailed = Entry(
        Gate.BUDGET,
        _STOP,
        "{failed:failure} in the mandatory {scope}, where none is allowed ({targets})",
        (("failed", _C), ("allowed", _C), ("scope", _N), ("targets", _NS)),
        "a new revision, or `retry --failed`",
    )
    EarlierGroupsDone = Entry(Gate.ORDER, _PASS, "{groups:earlier group} done", (("groups", _C),))
    EarlierGroupUnfinished = Entry(
        Gate.ORDER,
        _WAIT,
        "{group}: {done} of {total} done, waiting for {targets}",
        (("group", _N), ("done", _C), ("total", _C), ("targets", _NS)),
        "{group} finishes",
    )
    EarlierGroupReopened = Entry(
        Gate.ORDER,
        _WAIT,
        "{group} goes first, though later groups had begun: {done} of {total} done, "
        "waiting for {targets}",
        (("group", _N), ("done", _C), ("total", _C), ("targets", _NS)),
        "{group} finishes",
    )
    EarlierGroupIncomplete = Entry(
        Gate.ORDER,
        _WAIT,
        "{group} goes first and may have members we do not see",
        (("group", _N),),
        "a complete reading",
    )
    Approved = Entry(
        Gate.APPROVAL,
        _PASS,
        "{group} is approved for {revision}",
        (("group", _N), ("revision", _N)),
    )
    ApprovedStanding = Entry(
        Gate.APPROVAL, _PASS, "{group} is approved for every revision (standing)", (("group", _N),)
    )
    ApprovedAsMandatory = Entry(
        Gate.APPROVAL, _PASS, "{group} is mandatory, which counts as approved", (("group", _N),)
    )
    ApprovalMissing = Entry(
        Gate.APPROVAL,
        _WAIT,
        "{group} is not approved",
        (("group", _N),),
        "`approve --group {group}`",
    )
    ApprovedForOtherRevision = Entry(
        Gate.APPROVAL,
        _WAIT,
        "{group} was approved for {given}, not for {revision}",
        (("group", _N), ("given", _N), ("revision", _N)),
        "`approve --group {group}` for {revision}",
    )
    SlotFree = Entry(
        Gate.SLOTS,
        _PASS,
        "a slot is free: {busy} of {limit} were taken",
        (("busy", _C), ("limit", _C)),
    )
    SlotHeld = Entry(
        Gate.SLOTS,
        _PASS,
        "it has one of {limit:slot} already, from an earlier change",
        (("limit", _C),),
    )
    NoSlotNeeded = Entry(Gate.SLOTS, _PASS, "its turn has come; an ignored target takes no slot")
    NoSlotFree = Entry(
        Gate.SLOTS,
        _WAIT,
        "{limit:slot}: {in_flight} being updated, {soaking} soaking, {starting} starting now",
        (("limit", _C), ("in_flight", _C), ("soaking", _C), ("starting", _C)),
        "one of them finishes",
    )
    BehindInRank = Entry(
        Gate.SLOTS, _WAIT, "targets ranked before it still wait for a slot", opens="its turn comes"
    )
    ConcurrencyZero = Entry(
        Gate.SLOTS, _STOP, "maxConcurrency is 0: nothing may start", opens="raise maxConcurrency"
    )
    Reverting = Entry(
        Gate.RETURN,
        _PASS,
        "the revision is the last good one again: back at once, without order, approval or soak",
    )
    RollbackDue = Entry(
        Gate.RETURN,
        _PASS,
        "the rollout failed or was aborted: back to {revision}",
        (("revision", _N),),
    )
    Returning = Entry(
        Gate.RETURN,
        _WAIT,
        "on its way back to {revision}",
        (("revision", _N),),
        "it reports success",
    )
    ReturnTimedOut = Entry(
        Gate.RETURN,
        _STOP,
        "gave no answer within {deadline} on its way back to {revision}",
        (("revision", _N), ("deadline", _D)),
        "fix the target, then `retry`",
    )
    ReturnFailed = Entry(
        Gate.RETURN,
        _STOP,
        "failed on {revision}, the last good revision",
        (("revision", _N),),
        "fix the target, then `retry`",
    )
    NoLastGood = Entry(
        Gate.RETURN,
        _STOP,
        "rollback is wanted, but no last good revision is known",
        opens="give `rollout.lastGood`, or a new revision",
    )
