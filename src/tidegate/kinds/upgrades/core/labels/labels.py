"""Labels of subscriptions and organisations, with the words of service logs for their owners.

Values are taken as they stand: lists are split at commas, nothing is trimmed and nothing dropped,
so `a, b` names ` b` and `a,` names an empty item. Problems are worded as the predecessor words
them, because the same text posted twice in a day is posted once, by either service.
"""

import re
from collections.abc import Mapping

import msgspec

from tidegate.kinds.upgrades.core.schedule.schedule import read_schedule
from tidegate.kinds.upgrades.core.sectors import Sector
from tidegate.model.cron.cron import Cron
from tidegate.model.cron.cron_text import CronError

PREFIX = "sre-capabilities.aus."
SECTOR_DEPENDENCIES = "sector-deps."
SECTOR_MAX_PARALLEL = "sector-max-parallel-upgrades."

_WHOLE = re.compile(r"[+-]?(?:0[0_]*)?[0-9]+(?:_[0-9]+)*(?:\.0+)?")
# Blanks that may stand around a number: fewer than Python would strip.
_BLANKS = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
# Longer numbers are refused unread: reading one takes time that grows with its square.
_DIGITS_MAX = 4300


class LabelProblem(msgspec.Struct, frozen=True):
    """What is wrong with one label."""

    label: str
    message: str

    def text(self) -> str:
        """The problem as it is posted to its owner."""
        return f"label {PREFIX}{self.label}: {self.message}"


class ClusterLabels(msgspec.Struct, frozen=True):
    """What the labels of a cluster ask for; None: the label is not there."""

    soak_days: int
    workloads: tuple[str, ...]
    schedule: str
    cron: Cron
    mutexes: tuple[str, ...] | None = None
    sector: str | None = None
    blocked_versions: tuple[str, ...] | None = None
    gate_approvals: tuple[str, ...] | None = None


class OrgLabels(msgspec.Struct, frozen=True):
    """What the labels of an organisation ask for."""

    blocked_versions: tuple[str, ...] | None = None  # None: the label is not there
    # Dependencies come before the sector that first names them.
    sectors: tuple[Sector, ...] = ()
    inherit: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()


def read_cluster_labels(
    labels: Mapping[str, str],
) -> tuple[ClusterLabels | None, tuple[LabelProblem, ...]]:
    """The labels of a cluster, or everything that is wrong with them."""
    problems: list[LabelProblem] = []
    soak_days = _soak_days(labels.get("soak-days"), problems)
    workloads = split(labels.get("workloads")) or ()
    if not workloads:
        wrong = "Value should have at least 1 item after validation, not 0"
        problems.append(LabelProblem("workloads", wrong))
    cron = _schedule(labels.get("schedule"), problems)
    if soak_days is None or cron is None or problems:
        return None, tuple(problems)
    read = ClusterLabels(
        soak_days,
        workloads,
        labels["schedule"],
        cron,
        mutexes=split(labels.get("mutexes")),
        sector=labels.get("sector"),
        blocked_versions=split(labels.get("blocked-versions")),
        gate_approvals=split(labels.get("version-gate-approvals")),
    )
    return read, ()


def read_org_labels(labels: Mapping[str, str]) -> OrgLabels:
    """The labels of an organisation: there is nothing in them that cannot be taken as it stands."""
    return OrgLabels(
        split(labels.get("blocked-versions")),
        _sectors(labels),
        split(labels.get("version-data.inherit")) or (),
        split(labels.get("version-data.publish")) or (),
    )


def split(value: str | None) -> tuple[str, ...] | None:
    """The items of a list; None if there is no list."""
    if value is None:
        return None
    return tuple(value.split(",")) if value else ()


def _soak_days(value: str | None, problems: list[LabelProblem]) -> int | None:
    if value is None:
        problems.append(LabelProblem("soak-days", "Input should be a valid integer"))
        return None
    text = value.strip(_BLANKS)
    if not _WHOLE.fullmatch(text):
        wrong = "Input should be a valid integer, unable to parse string as an integer"
        problems.append(LabelProblem("soak-days", wrong))
        return None
    digits = text.partition(".")[0].replace("_", "")
    if len(digits.lstrip("+-0")) > _DIGITS_MAX:
        wrong = "Unable to parse input string as an integer, exceeded maximum size"
        problems.append(LabelProblem("soak-days", wrong))
        return None
    number = int(digits[:1] + (digits[1:].lstrip("0") or "0") if digits[0] in "+-" else digits)
    if number < 0:
        wrong = "Input should be greater than or equal to 0"
        problems.append(LabelProblem("soak-days", wrong))
    return number


def _schedule(value: str | None, problems: list[LabelProblem]) -> Cron | None:
    if value is None:
        problems.append(LabelProblem("schedule", "Input should be a valid string"))
        return None
    try:
        return read_schedule(value)
    except CronError as error:
        wrong = f"Value error, Invalid cron expression: {error}"
        problems.append(LabelProblem("schedule", wrong))
        return None


def _sectors(labels: Mapping[str, str]) -> tuple[Sector, ...]:
    """Every sector that is a key or a dependency; a limit alone declares none."""
    declared = {
        key.removeprefix(SECTOR_DEPENDENCIES): split(value) or ()
        for key, value in labels.items()
        if key.startswith(SECTOR_DEPENDENCIES)
    }
    names = [name for sector, behind in declared.items() for name in (*behind, sector)]
    return tuple(
        Sector(name, declared.get(name, ()), labels.get(SECTOR_MAX_PARALLEL + name))
        for name in dict.fromkeys(names)
    )
