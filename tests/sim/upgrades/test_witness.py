"""The witness is shown able to see: a service with one rule missing is found out, in its words."""

from typing import Any

import pytest

from tests.sim import FULL, IN_CI
from tests.sim.story.missing import Missing, find, never_asks, nothing
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
from tidegate.model.cron.zone import fires_after
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.model.verdict import verdict

# Short stories: what is missing shows early, or not at all.
DAYS = 8
SEEDS_MAX = 40
NO_BRAKES = Brakes()
# On a person's machine.
SOME = ("soak", "mutexes", "days")


def any_minute(self: Any, _: Any) -> Any:
    """A window is open all the time."""
    minute = 60 * SECOND
    fires = Instant((self._now // minute + 8) * minute)
    return verdict(UpgradeReason.InWindow, fires), fires


def at_once(cron: Any, zone: str, now: Instant, *_: Any) -> Instant | None:
    """Upgrades are asked for whenever a schedule fires next."""
    return fires_after(cron, zone, now)


def any_stretch(before: Any, now: Any) -> Any:
    """All time soaks, whatever ran when it began."""
    return now.workloads if before is not None else ()


def any_version(_: Any, __: Any, version: str) -> Any:
    """Whatever is offered is a release."""
    return verdict(VersionReason.VersionOffered, version)


# What is said of an upgrade that is asked for.
AT = r" to 4\S+ at \S+Z: "
MISSING: dict[str, Missing] = {
    "mutexes": Missing(UpgradeLocks, "mutexes", nothing, AT + "mutex .* is had by", 6),
    "limits": Missing(UpgradeLocks, "slots", nothing, AT + "\\S+ has room for", 0),
    "sectors": Missing(
        sector_order.SectorOrder,
        "_say",
        lambda *_: sector_order.NO_SECTOR,
        AT + "\\S+ of (stage|dev) is behind",
        0,
    ),
    "inheritance": Missing(
        made, "ledgers_of", lambda *_: {}, "from which it inherits, is behind", 12
    ),
    "soak": Missing(VersionGates, "soak", lambda *_: gates.NO_SOAK, "ran .* of .* days", 1),
    "facts": Missing(soak, "_counted", any_stretch, "ran .* days|more than anybody ran", 1),
    "brakes": Missing(BrakeBook, "read", lambda *_: NO_BRAKES, "is on|blocks", 0),
    "freezes ahead": Missing(brake_gates, "_THEN", frozenset(), "it starts in freeze", 18),
    "blocks": Missing(VersionGates, "block", lambda *_: gates.NOT_BLOCKED, "is blocked by", 0),
    "windows": Missing(VersionGates, "window", any_minute, "does not fire then", 0),
    "lead": Missing(gates, "start_of", at_once, "had to be refused|minutes later", 2),
    "one at a time": Missing(
        VersionGates,
        "progress",
        lambda *_: gates.IDLE,
        "there is a policy to|had to be refused",
        2,
    ),
    "releases": Missing(VersionGates, "offer", any_version, "is no release", 1),
    "health": Missing(VersionGates, "health", nothing, "fires", 11),
    "quarantine": Missing(VersionGates, "quarantine", nothing, "upgrades to it failed", 5),
    "days": Missing(service_log, "AGAIN", Duration(3600 * SECOND), "twice a day", 1),
    "gaps": Missing(worlds, "CHANGED", "", "did nothing wrong|are upgraded|is had", 13),
    "lease": Missing(_Wave, "_refused", never_asks, "without asking whether it still leads", 0),
    "node pools": Missing(UpgradePass, "_pools", nothing, "nobody upgrades .*/np", 34),
    "channels": Missing(UpgradePass, "_channel", nothing, "nobody puts it on", 34),
    "agreements": Missing(agreements, "relevant", lambda *_: [], "nobody agrees to", 34),
    "owner notices": Missing(decide, "_owner_notices", nothing, "is not told of its mistakes", 30),
}


@pytest.mark.parametrize("name", sorted(MISSING) if IN_CI or FULL else SOME)
def test_a_missing_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one rule out, and some story breaks, in words that say which."""
    find(MISSING[name], lambda seed: live_through(seed, DAYS), monkeypatch, SEEDS_MAX)
