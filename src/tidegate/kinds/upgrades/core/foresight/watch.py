"""Which gate each option that is shut waits at, so that only what may have opened is decided anew.

An option is acted on if all its gates are open, so it stays shut for as long as any one of them
does. It is enough to watch that one: the end of an upgrade looks again at clusters that wait for
its mutexes or for room in its sector, and at no other. What is not known to stay shut is decided in
every look.
"""

import enum
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.plan import Option
from tidegate.model.reason import Gate, Outcome, Reason
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict


class GateWatch(enum.IntEnum):
    """What opens a gate, in the order in which an option's gates are watched.

    A moment comes last: as long as something else is shut, no look is needed for its sake.
    """

    ITSELF = 0  # nothing but a change of the cluster itself, or nothing at all
    SECTOR = 1  # clusters of another sector get the version
    SOAK = 2  # the version runs for longer
    INHERITED = 3  # organisations it inherits from get the version
    MUTEX = 4  # another cluster is done
    ROOM = 5  # some cluster of its sector is done
    ALWAYS = 6  # whatever: it is decided in every look
    TIME = 7  # a moment that is known


_ITSELF = (
    UpgradeReason.LabelsUnreadable,
    UpgradeReason.OrgLabelsUnreadable,
    UpgradeReason.ClusterUnreadable,
    UpgradeReason.ClusterUnread,
    UpgradeReason.OrgPartlyRead,
    UpgradeReason.ClusterNotReady,
    UpgradeReason.SubscriptionNotInUse,
    UpgradeReason.UpgradeUnderWay,
    UpgradeReason.UpgradeFailed,
    UpgradeReason.TwoUpgrades,
    UpgradeReason.PoolsBehind,
    UpgradeReason.EarlierPoolFirst,
    UpgradeReason.ScheduleOver,
    UpgradeReason.AlertsYoung,
    UpgradeReason.HealthUnasked,
    UpgradeReason.SectorZero,
    UpgradeReason.SectorLimitUnreadable,
    VersionReason.VersionBlocked,
    VersionReason.VersionUnreadable,
    VersionReason.VersionNotNewer,
    VersionReason.PreReleaseUnwanted,
    VersionReason.NewerVersionChosen,
    VersionReason.NothingOffered,
    VersionReason.VersionQuarantined,
    VersionReason.FailuresUnread,
    VersionReason.SectorCircle,
    VersionReason.InheritanceUnverified,
    VersionReason.AgreementMissing,
    VersionReason.AgreementRefused,
)
_WATCHED: Mapping[Reason, GateWatch] = {
    **dict.fromkeys(_ITSELF, GateWatch.ITSELF),
    VersionReason.SectorBehind: GateWatch.SECTOR,
    VersionReason.VersionSoaking: GateWatch.SOAK,
    VersionReason.InheritedBehind: GateWatch.INHERITED,
    UpgradeReason.OutsideWindow: GateWatch.TIME,
    VersionReason.RefusedLately: GateWatch.TIME,
    UpgradeReason.MutexUpgrading: GateWatch.MUTEX,
    UpgradeReason.MutexUpgradeFailed: GateWatch.MUTEX,
    UpgradeReason.MutexUnread: GateWatch.MUTEX,
    UpgradeReason.SectorFull: GateWatch.ROOM,
}

WatchKey = tuple[GateWatch, int, tuple[str, ...]]
"""What opens, in which organisation, and its names."""


def watched(option: Option) -> tuple[GateWatch, Verdict] | None:
    """The gate of an option to watch; None: all are open."""
    best: tuple[GateWatch, Verdict] | None = None
    for each in option.verdicts:
        if each.outcome is not Outcome.PASS:
            watch = _WATCHED.get(each.reason, GateWatch.ALWAYS)
            if best is None or watch < best[0]:
                best = (watch, each)
    return best


def opening(option: Option, world: UpgradeWorld, now: Instant) -> Instant | None:
    """When time alone may open an option; None: it does not."""
    shut = [each for each in option.verdicts if each.outcome is not Outcome.PASS]
    moments = [_until(each, option, world, now) for each in shut]
    known = [each for each in moments if each is not None]
    return max(known) if len(known) == len(moments) else None


def _until(one: Verdict, option: Option, world: UpgradeWorld, now: Instant) -> Instant | None:
    """When time alone may open a gate; None: it does not."""
    if one.gate is Gate.FREEZE and one.until is not None:
        freeze = next((each for each in world.brakes.freezes if each.name == one.facts[0]), None)
        if freeze is None or not any(each.start <= now < each.end for each in freeze.spans):
            # It is on when the upgrade would start, and not yet: a later start may lie behind it.
            windows = [each for each in option.verdicts if each.gate is Gate.WINDOW]
            return min([one.until, *(each.until for each in windows if each.until)])
    return one.until


class Watches:
    """Who waits at what, by their places in the world."""

    def __init__(self) -> None:
        # With how often each was decided: what was watched before counts no more.
        self._waiting: dict[WatchKey, dict[int, int]] = {}
        self._times: dict[int, int] = {}
        self._alarms: list[tuple[Instant, int, int]] = []
        self.always: set[int] = set()

    def forget(self, at: int) -> None:
        """A cluster is decided anew: it waits for nothing yet."""
        self._times[at] = self._times.get(at, 0) + 1
        self.always.discard(at)

    def add(self, key: WatchKey, at: int) -> None:
        """A cluster waits until something opens."""
        self._waiting.setdefault(key, {})[at] = self._times.get(at, 0)

    def add_alarm(self, moment: Instant, at: int) -> None:
        """A cluster waits for a moment."""
        heappush(self._alarms, (moment, at, self._times.get(at, 0)))

    def wake(self, key: WatchKey) -> list[int]:
        """Something may be open: those that wait for it, who wait no more."""
        waiting = self._waiting.pop(key, {})
        return [at for at, times in waiting.items() if self._times.get(at, 0) == times]

    def keys(self, watch: GateWatch, fleet: int) -> Iterator[WatchKey]:
        """All that is waited for in an organisation, of one sort."""
        return (key for key in list(self._waiting) if key[0] is watch and key[1] == fleet)

    def due(self, now: Instant) -> list[int]:
        """Those whose moment has come."""
        found = []
        while self._alarms and self._alarms[0][0] <= now:
            _, at, times = heappop(self._alarms)
            if self._times.get(at, 0) == times:
                found.append(at)
        return found

    def next_alarm(self) -> Instant | None:
        """The next moment that is waited for; None: none is."""
        while self._alarms and self._times.get(self._alarms[0][1], 0) != self._alarms[0][2]:
            heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None
