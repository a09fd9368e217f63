"""The window a schedule opens: the next time it fires, if that is far enough off and near enough.

OCM refuses upgrades that start within five minutes, so the first time *more than* six minutes off
is taken; it is used if it lies at most two hours off. At 10:00:00 `* * * * *` gives 10:07, `6 10 *
* *` nothing, `0 12 * * *` 12:00 and `1 12 * * *` nothing. Add-ons: one minute, and ten.
"""

from functools import lru_cache

import msgspec
from msgspec import UNSET, UnsetType

from tidegate.model.cron.cron import Cron, next_after
from tidegate.model.cron.cron_text import parse_cron
from tidegate.model.time import SECOND, Duration, Instant

# Fleets have a few dozen schedules, read again on every round.
_REMEMBERED_MAX = 1024


class StartLead(msgspec.Struct, frozen=True):
    """How far off an upgrade is put at least, and at most."""

    least: Duration
    most: Duration


CLUSTER = StartLead(Duration(6 * 60 * SECOND), Duration(2 * 60 * 60 * SECOND))
# However near the schedule fires, an add-on is put so far off: OCM refuses what comes too soon.
ADDON_STARTS_IN = Duration(6 * 60 * SECOND)
ADDON = StartLead(Duration(60 * SECOND), Duration(10 * 60 * SECOND))


# Where owners are notified, their labels are read once more so long before an upgrade starts: as
# long as a survey may take. A block that is written before that stops it.
LAST_LOOK = Duration(5 * 60 * SECOND)


def notice_lead(look: Duration) -> Duration:
    """How far off upgrades are put where owners are notified: a look longer than the last look.

    Looked at every 10 minutes, 15; never so far that no schedule fires in between.
    """
    return Duration(min(look + LAST_LOOK, CLUSTER.most // 2))


def lead_of(least: Duration | UnsetType) -> StartLead:
    """The lead of an organisation whose upgrades are put at least so far off."""
    if least is UNSET:
        return CLUSTER
    return StartLead(max(CLUSTER.least, least), CLUSTER.most)


def addon_lead(least: Duration | UnsetType) -> Duration:
    """How far off the upgrade of an add-on is put."""
    return ADDON_STARTS_IN if least is UNSET else Duration(max(ADDON_STARTS_IN, least))


class NeverFiresError(ValueError):
    """A schedule names days that do not exist, as the 31st of February."""


def next_run(cron: Cron, now: int, lead: StartLead = CLUSTER) -> Instant | None:
    """When an upgrade would start; None if that is too far off. NeverFiresError if at no time."""
    fires_at = next_after(cron, now + lead.least)
    if fires_at is None:
        raise NeverFiresError("failed to find next date")
    return fires_at if fires_at - now <= lead.most else None


read_schedule = lru_cache(_REMEMBERED_MAX)(parse_cron)
"""A schedule; CronError says what is wrong with it. Read once for all clusters that have it."""
