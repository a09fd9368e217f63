"""The reasons of the brakes and of what several rollouts share: hold, freeze, block, pin, budget,
mutex, approval, health.

The sentence names the owner of a brake and its reason, so that an operator knows the person to ask.
`lift` is what takes the brake away: a command where it is in the journal, else the file to change.
"""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_C, _N, _NS, _D, _I = (
    FactFormat.COUNT,
    FactFormat.NAME,
    FactFormat.NAMES,
    FactFormat.DURATION,
    FactFormat.INSTANT,
)
_PASS, _WAIT, _STOP = Outcome.PASS, Outcome.WAIT, Outcome.STOP


class BrakeReason(Reason):
    """Why a brake, or something that partitions share, says what it says."""

    CoverUnclear = Entry(
        Gate.READING,
        _WAIT,
        "its labels or its kind are not known, and {brakes} may cover it",
        (("brakes", _NS),),
        "a reading with its labels (`clusters`) and its kind (`brakes.kind`)",
    )
    NoHold = Entry(Gate.HOLD, _PASS, "no hold covers it")
    Held = Entry(
        Gate.HOLD,
        _STOP,
        "hold {hold}: {why} ({owner})",
        (("hold", _N), ("why", _N), ("owner", _N), ("lift", _N)),
        "{lift}",
    )
    HeldUntil = Entry(
        Gate.HOLD,
        _WAIT,
        "hold {hold}: {why} ({owner})",
        (("hold", _N), ("why", _N), ("owner", _N), ("lift", _N)),
        "it expires, or {lift}",
    )
    HoldSpares = Entry(
        Gate.HOLD,
        _PASS,
        "hold {hold} is on ({owner}); targets in progress finish",
        (("hold", _N), ("owner", _N)),
    )
    NotFrozen = Entry(Gate.FREEZE, _PASS, "no freeze is on")
    Frozen = Entry(
        Gate.FREEZE,
        _WAIT,
        "freeze {freeze}: {why} ({owner})",
        (("freeze", _N), ("why", _N), ("owner", _N)),
        "the freeze ends, or {owner} grants an exception",
    )
    TooLateBeforeFreeze = Entry(
        Gate.FREEZE,
        _WAIT,
        "would take {need} and not be done when freeze {freeze} begins, {begins}: {why} ({owner})",
        (("freeze", _N), ("why", _N), ("owner", _N), ("need", _D), ("begins", _I)),
        "the freeze ends, or {owner} grants an exception",
    )
    FinishUnknown = Entry(
        Gate.FREEZE,
        _WAIT,
        "must be done when freeze {freeze} begins, {begins}, and its duration is not known: "
        "{why} ({owner})",
        (("freeze", _N), ("why", _N), ("owner", _N), ("begins", _I)),
        "write `brakes.applyTime` or `progressDeadline`, or the freeze ends",
    )
    CalendarEnds = Entry(
        Gate.FREEZE,
        _WAIT,
        "the calendar of freeze {freeze} was read only up to {known} ({owner})",
        (("freeze", _N), ("owner", _N), ("known", _I)),
        "a newer reading of the calendar",
    )
    FreezeExcepted = Entry(
        Gate.FREEZE,
        _PASS,
        "freeze {freeze} has an exception: {why} ({owner})",
        (("freeze", _N), ("why", _N), ("owner", _N)),
    )
    FreezeSpares = Entry(
        Gate.FREEZE,
        _PASS,
        "freeze {freeze} is on ({owner}); targets in progress finish",
        (("freeze", _N), ("owner", _N)),
    )
    NotBlocked = Entry(Gate.BLOCK, _PASS, "no block covers the revision")
    Blocked = Entry(
        Gate.BLOCK,
        _STOP,
        "{revision} is blocked: {why} ({owner})",
        (("revision", _N), ("block", _N), ("why", _N), ("owner", _N), ("lift", _N)),
        "another revision, or {lift}",
    )
    BlockedUntil = Entry(
        Gate.BLOCK,
        _WAIT,
        "{revision} is blocked: {why} ({owner})",
        (("revision", _N), ("block", _N), ("why", _N), ("owner", _N), ("lift", _N)),
        "it expires, another revision, or {lift}",
    )
    RevisionUnnamed = Entry(
        Gate.BLOCK,
        _STOP,
        "the revision has no name to compare with block {block} ({owner})",
        (("block", _N), ("owner", _N)),
        "name the revision",
    )
    NotPinned = Entry(Gate.PIN, _PASS, "no pin covers it")
    Pinned = Entry(
        Gate.PIN,
        _STOP,
        "stays where it is, counts neither way: pin {pin}: {why} ({owner})",
        (("pin", _N), ("why", _N), ("owner", _N), ("lift", _N)),
        "{lift}",
    )
    PinnedUntil = Entry(
        Gate.PIN,
        _WAIT,
        "stays where it is, counts neither way: pin {pin}: {why} ({owner})",
        (("pin", _N), ("why", _N), ("owner", _N), ("lift", _N)),
        "it expires, or {lift}",
    )
    SharedBudgetFree = Entry(
        Gate.SHARED_BUDGET,
        _PASS,
        "{budget}: {used} of {limit} were changed and not yet soaked",
        (("budget", _N), ("used", _C), ("limit", _C)),
    )
    SharedBudgetOwn = Entry(
        Gate.SHARED_BUDGET,
        _PASS,
        "{budget}: it is counted already, from an earlier change",
        (("budget", _N),),
    )
    SharedBudgetSpent = Entry(
        Gate.SHARED_BUDGET,
        _WAIT,
        "{budget}: {used} of {limit} changed and not yet soaked, {starting} starting now "
        "({targets})",
        (("budget", _N), ("used", _C), ("limit", _C), ("starting", _C), ("targets", _NS)),
        "one of them has soaked",
    )
    SharedBudgetStuck = Entry(
        Gate.SHARED_BUDGET,
        _STOP,
        "{budget}: {used} of {limit} changed and not yet soaked, all of them failed ({targets})",
        (("budget", _N), ("used", _C), ("limit", _C), ("targets", _NS)),
        "`retry --failed`, a new revision, or raise the budget",
    )
    SharedBudgetZero = Entry(
        Gate.SHARED_BUDGET,
        _STOP,
        "{budget} is 0: nothing may start",
        (("budget", _N),),
        "raise the budget",
    )
    MutexFree = Entry(Gate.MUTEX, _PASS, "mutex {mutex} is free", (("mutex", _N),))
    MutexOwn = Entry(
        Gate.MUTEX,
        _PASS,
        "mutex {mutex}: it has it already, from an earlier change",
        (("mutex", _N),),
    )
    MutexHeld = Entry(
        Gate.MUTEX,
        _WAIT,
        "mutex {mutex}: {holder} has it since {since} ({by})",
        (("mutex", _N), ("holder", _N), ("by", _N), ("since", _I)),
        "{holder} is done, its soak included",
    )
    MutexHeldUndated = Entry(
        Gate.MUTEX,
        _WAIT,
        "mutex {mutex}: {holder} has it, and does not say since when ({by})",
        (("mutex", _N), ("holder", _N), ("by", _N)),
        "{holder} is done, its soak included",
    )
    MutexStuck = Entry(
        Gate.MUTEX,
        _STOP,
        "mutex {mutex}: {holder} has it and failed ({by})",
        (("mutex", _N), ("holder", _N), ("by", _N)),
        "`retry --failed`, a new revision, or pin {holder} and give the mutex up",
    )
    MutexGoesToOther = Entry(
        Gate.MUTEX,
        _WAIT,
        "mutex {mutex}: {holder} takes it now",
        (("mutex", _N), ("holder", _N)),
        "{holder} is done, its soak included",
    )
    QuorumReached = Entry(
        Gate.APPROVAL,
        _PASS,
        "{approval}: {given} of {quorum} for {revision} ({who})",
        (("approval", _N), ("given", _C), ("quorum", _C), ("revision", _N), ("who", _NS)),
    )
    QuorumMissing = Entry(
        Gate.APPROVAL,
        _WAIT,
        "{approval}: {given} of {quorum} for {revision}",
        (("approval", _N), ("given", _C), ("quorum", _C), ("revision", _N), ("who", _NS)),
        "`approve --gate {approval}` for {revision}",
    )
    Rejected = Entry(
        Gate.APPROVAL,
        _STOP,
        "{approval}: {who} rejected {revision}: {why}",
        (("approval", _N), ("revision", _N), ("who", _N), ("why", _N)),
        "another revision, or {who} approves it",
    )
    AuthorUnknown = Entry(
        Gate.APPROVAL,
        _STOP,
        "{approval}: authors may not approve their own changes, and the author is not known",
        (("approval", _N),),
        "write `brakes.author`",
    )
    HealthGood = Entry(
        Gate.HEALTH,
        _PASS,
        "{health}: {clean:clean run}, {alerts:new alert}, seen {seen}",
        (("health", _N), ("clean", _C), ("alerts", _C), ("seen", _I)),
    )
    HealthBad = Entry(
        Gate.HEALTH,
        _STOP,
        "{health}: {failed} of the last {runs:run} failed, seen {seen}",
        (("health", _N), ("failed", _C), ("runs", _C), ("seen", _I)),
        "clean runs, or a new revision",
    )
    HealthAlerts = Entry(
        Gate.HEALTH,
        _STOP,
        "{health}: {alerts:new alert} ({names}), seen {seen}",
        (("health", _N), ("alerts", _C), ("names", _NS), ("seen", _I)),
        "the alerts end, or a new revision",
    )
    HealthUnproven = Entry(
        Gate.HEALTH,
        _WAIT,
        "{health}: not enough evidence yet, {clean} of {wanted:clean run}, seen {seen}",
        (("health", _N), ("clean", _C), ("wanted", _C), ("seen", _I)),
        "more clean runs",
    )
    HealthStale = Entry(
        Gate.HEALTH,
        _WAIT,
        "{health}: the evidence is too old, seen {seen}, good for {age}",
        (("health", _N), ("seen", _I), ("age", _D)),
        "newer evidence",
    )
    HealthMissing = Entry(
        Gate.HEALTH, _WAIT, "{health}: there is no evidence", (("health", _N),), "evidence"
    )
    HealthUndated = Entry(
        Gate.HEALTH,
        _WAIT,
        "{health}: the evidence does not say when it was seen, or says a time to come",
        (("health", _N),),
        "evidence with the time it was seen",
    )
    HealthOfOther = Entry(
        Gate.HEALTH,
        _WAIT,
        "{health}: the evidence is of {given}, not of {revision}",
        (("health", _N), ("given", _N), ("revision", _N)),
        "evidence of {revision}",
    )
