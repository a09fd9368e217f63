"""The witness is shown able to see: a service with one rule missing is found out, in its words."""

import re
from typing import Any

import pytest

from tests.sim import IN_CI
from tests.sim.upgrades.story import live_through
from tidegate.engine.brakes.book import BrakeBook
from tidegate.engine.execute import _Wave
from tidegate.gates.brakes import Brakes
from tidegate.kinds.upgrades.app import service_log
from tidegate.kinds.upgrades.app.read import worlds
from tidegate.kinds.upgrades.core.journal import made
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules import (
    agreements,
    brake_gates,
    decide,
    gates,
    sector_order,
    soak,
)
from tidegate.kinds.upgrades.core.rules.cluster_pass import UpgradePass
from tidegate.kinds.upgrades.core.rules.gates import VersionGates
from tidegate.kinds.upgrades.core.rules.locks import UpgradeLocks
from tidegate.kinds.upgrades.core.schedule.window import fires_after
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.model.verdict import verdict

# Short stories: what is missing shows early, or not at all.
DAYS = 8
SEEDS_MAX = 40
NO_BRAKES = Brakes()


def nothing(*_: Any) -> tuple[()]:
    """No verdict, no option, no one to tell."""
    return ()


def any_minute(self: Any, _: Any) -> Any:
    """A window is open all the time."""
    minute = 60 * SECOND
    fires = Instant((self._now // minute + 8) * minute)
    return verdict(UpgradeReason.InWindow, fires), fires


def at_once(cron: Any, zone: str, now: Instant) -> Instant | None:
    """Upgrades are asked for whenever a schedule fires next."""
    return fires_after(cron, zone, now)


def any_stretch(before: Any, now: Any) -> Any:
    """All time soaks, whatever ran when it began."""
    return now.workloads if before is not None else ()


def any_version(_: Any, __: Any, version: str) -> Any:
    """Whatever is offered is a release."""
    return verdict(VersionReason.VersionOffered, version)


def never_asks(*args: Any) -> list[str]:
    """Whether it still leads, and whether a brake forbids it: that is ignored here."""
    return ["" for _ in args[-1]]


# What is said of an upgrade that is asked for.
AT = r" to 4\S+ at \S+Z: "
# By what is missing: where, what is there instead, what the witness says, and the first story in
# which it did.
Missing = tuple[object, str, Any, str, int]
MISSING: dict[str, Missing] = {
    "mutexes": (UpgradeLocks, "mutexes", nothing, AT + "mutex .* is had by", 9),
    "limits": (UpgradeLocks, "slots", nothing, AT + "\\S+ has room for", 0),
    "sectors": (
        sector_order.SectorOrder,
        "_say",
        lambda *_: sector_order.NO_SECTOR,
        AT + "\\S+ of (stage|dev) is behind",
        0,
    ),
    "inheritance": (made, "ledgers_of", lambda *_: {}, "from which it inherits, is behind", 12),
    "soak": (VersionGates, "soak", lambda *_: gates.NO_SOAK, "ran .* of .* days", 1),
    "facts": (soak, "_counted", any_stretch, "ran .* days|more than anybody ran", 1),
    "brakes": (BrakeBook, "read", lambda *_: NO_BRAKES, "is on|blocks", 0),
    "freezes ahead": (brake_gates, "_THEN", frozenset(), "it starts in freeze", 18),
    "blocks": (VersionGates, "block", lambda *_: gates.NOT_BLOCKED, "is blocked by", 0),
    "windows": (VersionGates, "window", any_minute, "does not fire then", 0),
    "lead": (gates, "start_of", at_once, "had to be refused|minutes later", 2),
    "one at a time": (
        VersionGates,
        "progress",
        lambda *_: gates.IDLE,
        "there is a policy to|had to be refused",
        2,
    ),
    "releases": (VersionGates, "offer", any_version, "is no release", 1),
    "health": (VersionGates, "health", nothing, "fires", 11),
    "quarantine": (VersionGates, "quarantine", nothing, "upgrades to it failed", 5),
    "days": (service_log, "AGAIN", Duration(3600 * SECOND), "twice a day", 1),
    "gaps": (worlds, "CHANGED", "", "did nothing wrong|are upgraded|is had", 9),
    "lease": (_Wave, "_refused", never_asks, "without asking whether it still leads", 0),
    "node pools": (UpgradePass, "_pools", nothing, "nobody upgrades .*/np", 2),
    "channels": (UpgradePass, "_channel", nothing, "nobody puts it on", 8),
    "agreements": (agreements, "relevant", lambda *_: [], "nobody agrees to", 7),
    "owner notices": (decide, "_owner_notices", nothing, "is not told of its mistakes", 7),
}


@pytest.mark.parametrize("name", sorted(MISSING) if IN_CI else ["soak", "mutexes", "days"])
def test_a_missing_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one rule out, and some story breaks, in words that say which."""
    where, what, instead, words, first = MISSING[name]
    monkeypatch.setattr(where, what, instead)
    said: list[str] = []
    for seed in range(first, first + SEEDS_MAX):
        said.append(_told_of(seed))
        if re.search(words, said[-1]):
            return
    raise AssertionError("\n".join(filter(None, said)) or "nothing was said at all")


def _told_of(seed: int) -> str:
    """What is broken in a story; empty: nothing is."""
    try:
        live_through(seed, DAYS)
    except AssertionError as error:
        return str(error).partition("\n\nseed")[0]
    return ""
