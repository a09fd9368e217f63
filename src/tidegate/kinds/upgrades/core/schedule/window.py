"""When an upgrade of a cluster would start: in UTC, or in its own time zone.

The first time a schedule fires more than six minutes off, used if it lies at most two hours off.
"""

from datetime import UTC, datetime
from functools import lru_cache

from tidegate.kinds.upgrades.core.schedule.schedule import CLUSTER, StartLead, read_schedule
from tidegate.model.cron.cron import YEARS_MAX, Cron, next_after
from tidegate.model.cron.zone import fires_after
from tidegate.model.time import SECOND, Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Fleets have a few dozen schedules; whether one fires at all is asked on every round.
_REMEMBERED_MAX = 1024
# Whether a schedule ever fires is asked from here on, so that the answer never changes; its years,
# if it names any, must reach behind this.
_FIRST_YEAR = 2020
_ASKED_FROM = Instant(
    int((datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) * SECOND
)
SPAN_ASKED = f"from {_FIRST_YEAR} to {_FIRST_YEAR + YEARS_MAX}"
"""The years in which a schedule must fire."""


def start_of(cron: Cron, zone: str, now: Instant, lead: StartLead = CLUSTER) -> Instant | None:
    """When an upgrade could start, however far off; None: at no time."""
    return fires_after(cron, zone, now + lead.least)


@lru_cache(_REMEMBERED_MAX)
def _fires_at_all(schedule: str) -> bool:
    return next_after(read_schedule(schedule), _ASKED_FROM) is not None


def never_fires(schedule: str, cron: Cron) -> bool:
    """Whether a schedule names only days that do not exist, as the 31st of February, or too far."""
    return not cron.drawn and not _fires_at_all(schedule)
