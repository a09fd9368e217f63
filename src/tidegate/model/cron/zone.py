"""When a schedule fires in a time zone: its columns are those of the clock on the wall.

A time that summer time skips fires when the clock has jumped over it, and one that comes twice
fires the first time: once, and never skipped.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tidegate.model.cron.cron import Cron, next_after
from tidegate.model.time import SECOND, Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Clocks jump by an hour, once by two; what fires within a jump may come after what fires behind it.
_JUMP = 2 * 60 * 60 * SECOND


def fires_after(cron: Cron, zone: str, instant: int) -> Instant | None:
    """The first time a schedule fires strictly after an instant; None: at no time.

    No zone is UTC.
    """
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


def _wall(instant: int, place: ZoneInfo) -> int:
    """What a clock on the wall shows, as if it were UTC."""
    local = (_EPOCH + timedelta(microseconds=instant // 1000)).astimezone(place)
    offset = local.utcoffset() or timedelta(0)
    return instant + int(offset.total_seconds()) * SECOND


def _moment(wall: int, place: ZoneInfo) -> Instant:
    """When a clock on the wall shows a time for the first time; if it skips it, the jump later."""
    shown = (_EPOCH + timedelta(microseconds=wall // 1000)).replace(tzinfo=place, fold=0)
    return Instant(int((shown.astimezone(UTC) - _EPOCH).total_seconds()) * SECOND)
