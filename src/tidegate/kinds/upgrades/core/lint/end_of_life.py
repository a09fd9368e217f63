"""Versions that end before a cluster is expected to leave them.

When versions end is what OpenShift Cluster Manager says of them; when a cluster leaves is foreseen.
A cluster without an upgrade before the horizon is reported if its version ends before it.
"""

from collections.abc import Iterator, Mapping

from tidegate.explain.sentence import opens, sentence
from tidegate.kinds.upgrades.core.foresight.expected import ExpectedUpgrades
from tidegate.kinds.upgrades.core.foresight.forecast import FleetForecast
from tidegate.kinds.upgrades.core.lint.findings import LintFinding
from tidegate.kinds.upgrades.core.lint.label_text import owner_of
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet
from tidegate.kinds.upgrades.core.step import StepKind
from tidegate.model.time import Instant, format_second

_DATE = 10
_SOONER = "ask for less soak, more windows or another channel; `tidegate when` shows what it awaits"


def ends(
    fleet: OrganisationFleet, outlook: FleetForecast, known: Mapping[str, Instant], now: Instant
) -> Iterator[LintFinding]:
    """The first version of each cluster that it is expected to be on when it ends."""
    for member in fleet.members:
        expected = outlook.expected.get(member.cluster.uuid)
        if expected is None:
            continue
        for version, left_at in stays(expected):
            end = known.get(version)
            if end is None or end > outlook.until or (left_at is not None and left_at <= end):
                continue
            over = end <= now
            day = format_second(end)[:_DATE]
            says = (
                f"{version} is no longer supported since {day}" if over else f"{version} ends {day}"
            )
            code = "ended" if over else "end-of-life"
            message = f"{says}, and {_leaves(expected, left_at)}"
            yield owner_of(fleet, member).found(code, "", message, _remedy(expected, left_at))
            break


def stays(expected: ExpectedUpgrades) -> Iterator[tuple[str, Instant | None]]:
    """The versions a cluster is on, each with when it has left it; None: it is not known to."""
    version = expected.cluster.version
    for leg in expected.legs:
        if leg.doing is StepKind.UPGRADE and leg.ends_at is not None:
            yield version, leg.ends_at
            version = leg.version
    yield version, None


def _leaves(expected: ExpectedUpgrades, left_at: Instant | None) -> str:
    if left_at is not None:
        return f"it is expected to have left it {format_second(left_at)[:_DATE]}"
    if expected.held is None:
        return "nothing newer is wanted or offered"
    if expected.held.reason is UpgradeReason.LabelsUnreadable:  # a finding of its own
        return "it is excluded because of its labels"
    return f"it has no date: {sentence(expected.held)}"


def _remedy(expected: ExpectedUpgrades, left_at: Instant | None) -> str:
    held = opens(expected.held) if left_at is None and expected.held is not None else ""
    return f"it goes on once {held}" if held else _SOONER
