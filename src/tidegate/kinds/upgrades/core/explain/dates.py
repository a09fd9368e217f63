"""Expected dates in words: a moment to the minute, and what a step waits for."""

from collections.abc import Iterable

from tidegate.explain.sentence import facts
from tidegate.kinds.upgrades.core.foresight.expected import STEP_BEFORE, ExpectedUpgrades
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.reason import Gate, Reason
from tidegate.model.time import Instant, format_second
from tidegate.model.verdict import Verdict

NO_DATE = "no date"
NOT_BEFORE = "not before"
"""Said of a moment before which something does not happen, as far as was looked ahead."""
_MINUTE = len("2026-03-10T10:07")
# What a step waited for, in few words; by its facts. Others are named by their gate.
_BRIEF: dict[Reason, str] = {
    VersionReason.VersionSoaking: "{needed}d soak of {workload} on {version}",
    UpgradeReason.OutsideWindow: "its schedule",
    UpgradeReason.MutexUpgrading: "mutex {mutex} ({holder})",
    VersionReason.SectorBehind: "sector {sector} ({cluster})",
    UpgradeReason.SectorFull: "room in sector {sector}",
    VersionReason.InheritedBehind: "the organisations it inherits from",
    BrakeReason.Frozen: "the end of freeze {freeze}",
    BrakeReason.TooLateBeforeFreeze: "the end of freeze {freeze}",
    BrakeReason.FinishUnknown: "the end of freeze {freeze}",
    BrakeReason.PinnedUntil: "the end of pin {pin}",
    VersionReason.RefusedLately: "another try",
    **dict.fromkeys(STEP_BEFORE, "its step before"),
}
_BY_GATE = {Gate.SHARED_BUDGET: "a shared budget", Gate.HOLD: "the end of a hold"}


def brief(one: Verdict) -> str:
    """What a gate waited for, in few words."""
    if one.reason in _BRIEF:
        return _BRIEF[one.reason].format_map(facts(one))
    return _BY_GATE.get(one.gate, one.gate.value)


def date_text(at: Instant) -> str:
    """A moment to the minute: upgrades start at whole ones."""
    return f"{format_second(at)[:_MINUTE]}Z"


def doubted(at: Instant, *, estimate: bool) -> str:
    """A moment to the minute; with a `~` if it depends on more than a calendar."""
    return f"{'~' if estimate else ''}{date_text(at)}"


def in_date_order(some: Iterable[ExpectedUpgrades]) -> list[ExpectedUpgrades]:
    """By when they begin; those without a date come last."""

    def first(one: ExpectedUpgrades) -> tuple[bool, int, str]:
        starts = [each.starts_at for each in one.upgrades or one.legs]
        return (not starts, min(starts, default=0), one.cluster.name)

    return sorted(some, key=first)
