"""Expected dates as tables of text: one row a step, and what no clock opens with its reason."""

from collections.abc import Iterable, Sequence

from tidegate.explain.sentence import facts, opens, sentence
from tidegate.explain.table import Row
from tidegate.kinds.upgrades.core.foresight.expected import STEP_BEFORE, Expected, Leg
from tidegate.kinds.upgrades.core.foresight.pace import Pace
from tidegate.kinds.upgrades.core.reasons.sharing_reasons import SharingReason
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.fleet import Fleet
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.core.step import Doing
from tidegate.model.brake_reasons import BrakeReason
from tidegate.model.counted import counted
from tidegate.model.reason import Gate, Reason
from tidegate.model.time import Instant, format_duration, format_second
from tidegate.model.verdict import Verdict

DATE_HEAD: Row = ("CLUSTER", "STEP", "STARTS", "DONE", "DEPENDS ON")
NO_DATE = "no date"
# A step names this many gates, those that open last; more would not fit on a line.
_GATES_MAX = 3
_MINUTE = len("2026-03-10T10:07")
# What a step waited for, in few words; by its facts. Others are told by the name of their gate.
_BRIEF: dict[Reason, str] = {
    VersionReason.VersionSoaking: "{needed}d soak of {workload} on {version}",
    UpgradeReason.OutsideWindow: "its schedule",
    UpgradeReason.MutexUpgrading: "mutex {mutex} ({holder})",
    SharingReason.MutexShareFull: "mutex {mutex} in sector {sector}",
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


def date_rows(expected: Expected, *, held: bool = True) -> list[Row]:
    """One cluster: a row a step, and one for what has no date, if wanted."""
    name = expected.cluster.name
    rows: list[Row] = []
    for leg in expected.legs:
        starts = _date(leg.starts_at, leg)
        done = "" if leg.ends_at is None else _date(leg.ends_at, leg)
        rows.append((name, _step(leg), starts, done, _depends(leg)))
    if expected.held is not None and held:
        wanted = f"→ {expected.wanted}" if expected.wanted else "-"
        rows.append((name, wanted, "", NO_DATE, held_text(expected)))
    elif not rows and expected.held is None:
        rows.append((name, "-", "", "-", f"on {expected.version}, and nothing newer is offered"))
    return rows


def held_text(expected: Expected) -> str:
    """Why there is no date, and what would give one."""
    if expected.held is None:
        return ""
    if expected.beyond:
        return f"later than looked at: {sentence(expected.held)}"
    return sentence(expected.held)


def held_lines(expected: Expected) -> list[str]:
    """The same in full, for one cluster."""
    if expected.held is None:
        return []
    what = f"{NO_DATE} for {expected.wanted}" if expected.wanted else NO_DATE
    found = [f"{what}: {held_text(expected)}"]
    if remedy := opens(expected.held):
        found.append(f"  opens: {remedy}")
    return [*found, f"  `tidegate why cluster/{expected.cluster.name}` has every gate"]


def _step(leg: Leg) -> str:
    if leg.doing is Doing.CHANNEL:
        return f"channel → {leg.version}"
    pool = f"pool {leg.pool} " if leg.pool else ""
    return f"{pool}{leg.before} → {leg.version}"


def _date(at: Instant, leg: Leg) -> str:
    """A moment; with a `~` if it hangs on how others fare."""
    return f"{'~' if leg.estimate else ''}{date_text(at)}"


def _depends(leg: Leg) -> str:
    if leg.asked_at is None:
        return "its owner's own upgrade policy" if leg.by_owner else "under way"
    last = leg.opened[-_GATES_MAX:]
    return ", then ".join(dict.fromkeys(map(brief, last))) or "nothing more"


def outlook_line(fleet: Fleet, some: Sequence[Expected]) -> str:
    """An organisation's future on one line."""
    moving = [each for each in some if each.legs]
    held = [each for each in some if each.held is not None]
    parts = [f"{PARTITION}/{fleet.key}", fleet.org.name, counted(len(some), "cluster")]
    if moving:
        parts.append(f"{len(moving)} {'moves' if len(moving) == 1 else 'move'}")
    if held:
        parts.append(f"{len(held)} without a date")
    return " · ".join(parts)


def pace_line(pace: Pace, known: str) -> str:
    """What is assumed of upgrades."""
    said = (
        ("an upgrade takes", pace.classic),
        ("of a hosted control plane", pace.control_plane),
        ("of a node pool", pace.pool),
    )
    return ", ".join(f"{what} {format_duration(each)}" for what, each in said) + f" ({known})"


def in_date_order(some: Iterable[Expected]) -> list[Expected]:
    """By when they begin; whoever has no date comes last."""

    def first(one: Expected) -> tuple[bool, int, str]:
        starts = [each.starts_at for each in one.upgrades or one.legs]
        return (not starts, min(starts, default=0), one.cluster.name)

    return sorted(some, key=first)
