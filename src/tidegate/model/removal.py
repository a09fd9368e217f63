"""How much may be removed in one go, whatever it is: targets of a rollout, objects of a cluster.

What is gone from a declaration is usually gone on purpose; what is gone in great numbers, or from a
reading that has gaps, usually is not.
"""

from tidegate.model.limit import Limit

# More than a tenth of what is managed is not removed in one go, unless a flag allows it.
REMOVALS = Limit(10, percent=True)
# Below this many, a tenth would be none: one may always be removed.
REMOVAL_FREE = 1


def removals_max(managed: int, limit: Limit = REMOVALS) -> int:
    """How many of so many may go at once; a percentage is rounded down, but to one at least."""
    if not limit.percent:
        return limit.amount
    return max(REMOVAL_FREE, managed * limit.amount // 100) if limit.amount else 0


def why_kept(
    removing: int, managed: int, *, complete: bool, emptied: str = "", allowed: bool = False
) -> str:
    """Why nothing is removed; empty if it may be.

    `emptied` says what is empty that never should be. Who allows much to go does not allow it to
    go on a partial reading.
    """
    if not complete:
        return "the reading is incomplete"
    if allowed:
        return ""
    most = removals_max(managed)
    if removing > most:
        over = f"{removing} of {managed} at once; at most {most} without --allow-mass-delete"
    else:
        over = ""
    return emptied or over
