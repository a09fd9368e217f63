"""What is said of mutexes that clusters of a sector share, where it has a limit."""

from tidegate.model.reason import Entry, Gate, Kind, Outcome, Reason

_SHARED = (("mutex", Kind.NAME), ("used", Kind.COUNT), ("limit", Kind.COUNT), ("sector", Kind.NAME))


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
        (*_SHARED, ("clusters", Kind.NAMES)),
        "one of them is done, its node pools included",
    )
