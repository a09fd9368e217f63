"""What is said of mutexes that clusters of a sector share, where it has a limit."""

from tidegate.model.reason import Entry, FactFormat, Gate, Outcome, Reason

_SHARED = (
    ("mutex", FactFormat.NAME),
    ("used", FactFormat.COUNT),
    ("limit", FactFormat.COUNT),
    ("sector", FactFormat.NAME),
)


class SharingReason(Reason):
    """What is said of mutexes that clusters of a sector share."""

    MutexShared = Entry(
        Gate.MUTEX,
        Outcome.PASS,
        "mutex {mutex}: {used} of {limit} in sector {sector} have it",
        _SHARED,
    )
    MutexShareFull = Entry(
        Gate.MUTEX,
        Outcome.WAIT,
        "mutex {mutex}: {used} of {limit} in sector {sector} have it ({clusters})",
        (*_SHARED, ("clusters", FactFormat.NAMES)),
        "one of them is done, its node pools included",
    )
