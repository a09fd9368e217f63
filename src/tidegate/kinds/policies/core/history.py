"""Which revisions of a policy are kept: all that are in use, and the last few of the others.

limit 2     made  r1  r2  r3  r4  r5  r6
in use                r3              r6     a pointer, the last success, what goes out
kept                  r3  r4  r5  r6         r4 and r5 are the last two of those not in use
surplus           r1  r2
"""

from collections.abc import Collection, Mapping

# What giving clusters an earlier revision does not do.
NOT_UNDONE = (
    "objects that only the later revision names stay, unless it prunes them; what it deleted is "
    "made anew, without what others had put there"
)
# As many as a Deployment keeps.
HISTORY_DEFAULT = 10


def surplus(made: Mapping[str, str], used: Collection[str], limit: int) -> tuple[str, ...]:
    """The revisions that are no longer kept, the oldest first; `made` is when each was made.

    Moments are texts of RFC 3339 in UTC, which sort as they are.
    """
    idle = sorted((at, name) for name, at in made.items() if name not in used)
    return tuple(name for _, name in idle[: max(0, len(idle) - limit)])
