"""The result of deciding again what was decided before."""

import msgspec


class Replayed(msgspec.Struct, frozen=True):
    """One decision, taken again."""

    seq: int
    targets: int
    # None: it decides and explains the same.
    difference: "DecisionDifference | None" = None


class DecisionDifference(msgspec.Struct, frozen=True):
    """The first target whose decision changed, as it was then and as it is now."""

    target: str
    then: tuple[str, ...]
    now: tuple[str, ...]
