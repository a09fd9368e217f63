"""What owners write in labels, understood by a person who never saw how we read them.

Slow and plain: a schedule is tried minute by minute, a pattern is Python's own, a limit is counted.
Only what the stories draw has to be understood.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tests.sim.upgrades.record import Labels
from tidegate.model.time import SECOND

ZONES = ("Europe/Berlin", "America/New_York")
APPROVED = ("api.openshift.com/gate-ocp",)
_DEPS, _MOST = "sector-deps.", "sector-max-parallel-upgrades."

Key = tuple[tuple[int, ...], int, str]


def items(labels: Labels, name: str) -> tuple[str, ...]:
    """The items of a list."""
    found = (each.strip() for each in labels.get(name, "").split(","))
    return tuple(each for each in found if each)


@lru_cache(None)
def key(version: str) -> Key:
    """What versions are compared by; what comes before a release is lower than it."""
    numbers, _, rest = version.partition("-")
    return tuple(int(each) for each in numbers.split(".")), 0 if rest else 1, rest


def minor(version: str) -> tuple[int, ...]:
    """Major and minor."""
    return key(version)[0][:2]


def patterns(labels: Labels) -> tuple[str, ...] | None:
    """What is blocked; None: that cannot be read."""
    found = items(labels, "blocked-versions")
    return found if all(map(_is_pattern, found)) else None


@lru_cache(None)
def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return "(?" not in text


def blocks(labels: Labels, version: str) -> bool:
    """Whether a readable pattern is found in a version."""
    found = items(labels, "blocked-versions")
    return any(_is_pattern(each) and re.search(each, version) for each in found)


def sectors(org: Labels) -> dict[str, tuple[str, ...]]:
    """All sectors that are named anywhere, with those each waits for."""
    found = {name[len(_DEPS) :]: items(org, name) for name in org if name.startswith(_DEPS)}
    named = {each for behind in found.values() for each in behind}
    named |= {name[len(_MOST) :] for name in org if name.startswith(_MOST)}
    return {**dict.fromkeys(sorted(named), ()), **found}


def circling(org: Labels, sector: str) -> bool:
    """Whether a sector waits for one that waits for itself."""
    graph = sectors(org)

    def behind(name: str) -> set[str]:
        seen: set[str] = set()
        left = list(graph.get(name, ()))
        while left:
            one = left.pop()
            if one not in seen:
                seen.add(one)
                left += graph.get(one, ())
        return seen

    return any(name in behind(name) for name in (sector, *behind(sector)))


def most(org: Labels, sector: str, size: int) -> int | None:
    """How many of a sector may be upgraded at once: 0 where it is not known; None: any number."""
    text = org.get(_MOST + sector, "").strip()
    if not text:
        return None
    if re.fullmatch(r"\d+", text):
        return int(text)
    if re.fullmatch(r"\d+%", text):
        share = int(text[:-1])
        return max(1, round(size * share / 100)) if share else 0
    return 0


def mistakes(labels: Labels, org: Labels) -> list[str]:
    """What is wrong with the labels of a cluster."""
    found = []
    if not re.fullmatch(r"\d+", labels.get("soak-days", "").strip()):
        found.append("soak-days")
    if not items(labels, "workloads"):
        found.append("workloads")
    if labels.get("schedule", "") not in SCHEDULES:
        found.append("schedule")
    if labels.get("schedule-timezone", "") not in ("", *ZONES):
        found.append("schedule-timezone")
    if patterns(labels) is None:
        found.append("blocked-versions")
    if (sector := labels.get("sector", "")) and sector not in sectors(org):
        found.append("sector")
    return found


def org_mistakes(org: Labels) -> list[str]:
    """What is wrong with the labels of an organisation, as far as the labels show."""
    found = ["sector-deps" for name in sectors(org) if circling(org, name)]
    for name, value in org.items():
        if name.startswith(_MOST) and not re.fullmatch(r"\d+%?", value.strip()):
            found.append(name)
    if patterns(org) is None:
        found.append("blocked-versions")
    return found


SCHEDULES = (
    *("* * * * *", "0 * * * *", "*/20 * * * *", "15 */6 * * *", "30 2 * * *", "0 9 * * 1-4"),
    *("0 9,21 * * *", "45 13 * * *", "0 22 * * 6"),
)
"""The schedules that are drawn and can be read."""


def fires(labels: Labels, instant: int) -> bool:
    """Whether the schedule of a cluster fires at a moment: at no other second of its minute."""
    moment = datetime.fromtimestamp(instant // SECOND, UTC)
    zone = labels.get("schedule-timezone", "")
    wall = moment.astimezone(ZoneInfo(zone)) if zone else moment
    return any(_shows(labels["schedule"], each) for each in (wall, *_skipped(wall)))


def _skipped(wall: datetime) -> list[datetime]:
    """What a clock would show if it had not just been put on for the summer."""
    before = wall.replace(tzinfo=None) - timedelta(hours=1)
    there = before.replace(tzinfo=wall.tzinfo).astimezone(UTC).astimezone(wall.tzinfo)
    return [before] if there.replace(tzinfo=None) != before else []


def _shows(schedule: str, wall: datetime) -> bool:
    values = (wall.minute, wall.hour, wall.day, wall.month, wall.isoweekday() % 7)
    return wall.second == 0 and all(map(_fits, schedule.split(), values))


def _fits(column: str, value: int) -> bool:
    for part in column.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        if span == "*":
            low, high = "0", "99"
        if int(low) <= value <= int(high or low) and value % int(step or "1") == 0:
            return True
    return False
