"""How long changes are expected to take, where the person who asks for dates knows better."""

import msgspec

from tidegate.model.time import Duration

# Dates further ahead say little: by then there are other versions.
DAYS_AHEAD = 90
# What is usual is read from so many entries at the end of a journal: about a thousand changes, of
# late, and the same work however long the journal is.
PACE_ENTRIES = 5_000


class DatePace(msgspec.Struct, frozen=True, kw_only=True):
    """What is assumed for dates; None: what is usual."""

    # One change of a target.
    apply_time: Duration | None = None
    # One node pool of a cluster.
    pool_time: Duration | None = None
    # How far ahead.
    days: int = DAYS_AHEAD
    # Whether a few looks are enough, for an answer that is not about dates alone. The same dates,
    # and before which moment nothing happens where there is none yet.
    brief: bool = False
