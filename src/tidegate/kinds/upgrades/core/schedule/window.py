"""When an upgrade of a cluster would start: in UTC, or in its own time zone.

The first time a schedule fires more than six minutes off, used if it lies at most two hours off. In
a zone the columns are those of the clock on the wall. A time that summer time skips fires when the
clock has jumped over it, and one that comes twice fires the first time: once, and never skipped.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tidegate.kinds.upgrades.core.schedule.schedule import CLUSTER, StartLead, read_schedule
from tidegate.model.cron.cron import Cron, next_after
from tidegate.model.time import SECOND, Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Clocks jump by an hour, once by two; what fires within a jump may come after what fires behind it.
_JUMP = 2 * 60 * 60 * SECOND
# Fleets have a few dozen schedules; whether one fires at all is asked on every round.
_REMEMBERED_MAX = 1024
# Whether a schedule ever fires is asked from here on, so that the answer never changes; its years,
# if it names any, must reach behind this.
_ASKED_FROM = Instant(int((datetime(2020, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) * SECOND)


def fires_after(cron: Cron, zone: str, instant: int) -> Instant | None:
    """The first time a schedule fires strictly after an instant; None: at no time."""
    if not zone:
        return next_after(cron, instant)
    place = ZoneInfo(zone)
    wall = next_after(cron, _wall(instant, place) - _JUMP)
    best: Instant | None = None
    while wall is not None and (best is None or wall <= _wall(best, place) + _JUMP):
        fires = _moment(wall, place)
        if fires > instant and (best is None or fires < best):
            best = fires
            # What fires later on the wall comes earlier only where the clock jumps.
            if _moment(wall + _JUMP, place) - fires == _JUMP:
                return best
        wall = next_after(cron, wall)
    return best


def start_of(cron: Cron, zone: str, now: Instant, lead: StartLead = CLUSTER) -> Instant | None:
    """When an upgrade could start, however far off; None: at no time."""
    return fires_after(cron, zone, now + lead.least)


@lru_cache(_REMEMBERED_MAX)
def _fires_at_all(schedule: str) -> bool:
    return next_after(read_schedule(schedule), _ASKED_FROM) is not None


def never_fires(schedule: str, cron: Cron) -> bool:
    """Whether a schedule names only days that do not exist, as the 31st of February."""
    return not cron.drawn and not _fires_at_all(schedule)


def _wall(instant: int, place: ZoneInfo) -> int:
    """What a clock on the wall shows, as if it were UTC."""
    local = (_EPOCH + timedelta(microseconds=instant // 1000)).astimezone(place)
    offset = local.utcoffset() or timedelta(0)
    return instant + int(offset.total_seconds()) * SECOND


def _moment(wall: int, place: ZoneInfo) -> Instant:
    """When a clock on the wall shows a time for the first time; if it skips it, the jump later."""
    shown = (_EPOCH + timedelta(microseconds=wall // 1000)).replace(tzinfo=place, fold=0)
    return Instant(int((shown.astimezone(UTC) - _EPOCH).total_seconds()) * SECOND)
