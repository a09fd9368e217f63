"""Schedules at none of whose times an upgrade can start: over, frozen every time, or too short.

An upgrade is asked for when a round comes between two hours and six minutes before the schedule
fires, and a freeze must be off at both moments.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.gates.brakes import Coverages
from tidegate.gates.freeze import Frozen, freeze_verdicts
from tidegate.gates.scope import KindOfChange
from tidegate.kinds.upgrades.core.foresight.pace import UpgradePace
from tidegate.kinds.upgrades.core.lint.findings import LintFinding
from tidegate.kinds.upgrades.core.lint.label_text import owner_of
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet, brake_labels
from tidegate.kinds.upgrades.core.schedule.schedule import CLUSTER
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.cron.zone import fires_after
from tidegate.model.reason import Outcome
from tidegate.model.time import Duration, Instant, format_duration
from tidegate.model.verdict import Verdict

# Times of a schedule that are tried; those within one freeze are passed over together.
_TRIES_MAX = 200


def windows(
    world: UpgradeWorld, fleet: OrganisationFleet, pace: UpgradePace, now: Instant
) -> Iterator[LintFinding]:
    """Clusters whose schedule never lets an upgrade start, each with why."""
    brakes = replace(world.brakes, kind=KindOfChange.UPGRADES)
    labels = {each.cluster.name: brake_labels(fleet.org, each.cluster) for each in fleet.members}
    coverages = Coverages(brakes, labels)
    said: dict[tuple[str, str, int], str] = {}
    for member in fleet.members:
        policy = member.policy
        if member.excluded is not None or policy.cron is None:
            continue
        covered = coverages.of(member.cluster.name).surely.freezes
        key = (policy.schedule or "", policy.zone, id(covered))
        if key not in said:
            said[key] = _never(member, covered, pace, now)
        if said[key]:
            remedy = "write times at which upgrades may start, as 0 9 * * 1-4"
            yield owner_of(fleet, member).found("unreachable-window", "schedule", said[key], remedy)


def _never(
    member: FleetMember, freezes: tuple[Frozen, ...], pace: UpgradePace, now: Instant
) -> str:
    """Why an upgrade can start at none of the times; empty: it can, or that is not known."""
    cron, zone = member.policy.cron, member.policy.zone
    lasts = CLUSTER.most - CLUSTER.least
    if pace.round > lasts:
        window = format_duration(lasts)
        return f"clusters are surveyed every {format_duration(pace.round)}, a window lasts {window}"
    at, frozen = Instant(now + CLUSTER.least), None
    for _ in range(_TRIES_MAX):
        fires = None if cron is None else fires_after(cron, zone, at)
        if fires is None:
            return _why(frozen, "it never fires again")
        shut = _shut(freezes, fires) or _shut_before(freezes, fires, pace.round, now)
        if shut is None:
            return ""
        if shut.until is None:  # what is behind it is not known
            break
        frozen, at = shut, max(shut.until, fires)
    return _why(frozen, "")


def _shut_before(
    freezes: tuple[Frozen, ...], fires: Instant, every: Duration, now: Instant
) -> Verdict | None:
    """What is frozen at every round that could ask for an upgrade at that time; None: nothing."""
    first = max(fires - CLUSTER.most, now)
    rounds = range(first, fires - CLUSTER.least, every)
    shut = [_shut(freezes, Instant(each)) for each in rounds]
    return None if None in shut or not shut else shut[-1]


def _shut(freezes: tuple[Frozen, ...], at: Instant) -> Verdict | None:
    said = freeze_verdicts(freezes, None, None, at)
    return next((each for each in said if each.outcome is not Outcome.PASS), None)


def _why(frozen: Verdict | None, otherwise: str) -> str:
    if frozen is None:
        return otherwise
    return f"every time it fires lies in freeze {frozen.facts[0]} ({frozen.facts[1]})"
