"""Clusters as tables of text: where each stands, and an organisation in a few numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tidegate.explain.table import Row
from tidegate.kinds.upgrades.core.explain.stand import Stand
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.rules.fleet import Fleet, Member
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.core.step import Step
from tidegate.model.counted import counted
from tidegate.model.time import Instant, format_age, format_second

CLUSTER_HEAD: Row = ("CLUSTER", "VERSION", "NEXT", "SOAK LEFT", "WINDOW", "WHY")
WIDE_HEAD: Row = ("CHANNEL", "SCHEDULE", "SECTOR", "MUTEXES", "WORKLOADS", "UUID")
NONE = "-"


def cluster_row(stand: Stand, now: Instant) -> Row:
    """One cluster on a line."""
    fires_at = stand.fires_at
    return (
        stand.member.cluster.name,
        stand.oldest,
        stand.next or NONE,
        f"{stand.soak_left}d" if stand.soak_left else NONE,
        f"in {format_age(fires_at - now)}" if fires_at is not None else NONE,
        why_cell(stand),
    )


def wide_cells(stand: Stand) -> Row:
    """What its labels ask for, as far as they can be read, and its name everywhere else."""
    cluster, wishes = stand.member.cluster, stand.member.wishes
    zone = f" {wishes.zone}" if wishes.zone else ""
    return (
        cluster.updates_from,
        f"{wishes.schedule}{zone}" if wishes.schedule else NONE,
        wishes.sector or NONE,
        ",".join(wishes.mutexes) or NONE,
        ",".join(wishes.workloads or ()) or NONE,
        cluster.uuid,
    )


def why_cell(stand: Stand) -> str:
    """What happens now, or the gate that says most."""
    if text := aside_words(stand.member):
        return text
    if stand.shut is not None:
        return stand.why()
    step = stand.chief.change
    if not isinstance(step, Step):
        return ""
    pool = f"node pool {step.pool} " if step.pool else ""
    if step.starts_at is not None:
        return f"{pool}starts {format_second(step.starts_at)}"
    return f"{step.doing.value} {step.revision}: now"


def aside_words(member: Member) -> str:
    """What of its labels has a cluster set aside; empty: nothing of them has."""
    if member.aside is None or member.aside.reason is not UpgradeReason.LabelsUnreadable:
        return ""
    first, *others = member.complaints
    more = f" (+{len(others)} more)" if others else ""
    return f"set aside, {first.label}: {first.words}{more}"


def org_line(fleet: Fleet, some: Sequence[Stand]) -> str:
    """An organisation on one line, with the name of its journal."""
    return f"{PARTITION}/{fleet.key} · {org_words(fleet, some)}"


def org_words(fleet: Fleet, some: Sequence[Stand]) -> str:
    """An organisation, and how many of its clusters are how far."""
    counts = Counter(word_of(each) for each in some)
    parts = [fleet.org.name, counted(len(some), "cluster")]
    parts += [
        f"{counts[word]} {one if counts[word] == 1 else word}"
        for word, one in _WORDS.items()
        if counts[word]
    ]
    return " · ".join(parts)


_ALIKE = ("under way", "failed", "waiting", "up to date", "set aside")
# What several of them do, and one.
_WORDS = {"start now": "starts now", **{word: word for word in _ALIKE}}


def word_of(stand: Stand) -> str:
    """Where a cluster stands, in a word or two."""
    standing = stand.member.standing
    if stand.member.aside is not None:
        return "set aside"
    if stand.starts:
        return "start now"
    if standing.failed:
        return "failed"
    if standing.under_way:
        return "under way"
    return "waiting" if stand.next else "up to date"


def org_notes(fleet: Fleet) -> list[str]:
    """What is wrong with an organisation's own labels, a line each."""
    return [f"✗ {each.text()}" for each in fleet.complaints]


def by_fleet(plan: UpgradePlan, every: Iterable[Stand]) -> list[tuple[Fleet, list[Stand]]]:
    """Clusters by organisation, in the order in which both are looked at."""
    mine: dict[str, list[Stand]] = {fleet.key: [] for fleet in plan.fleets}
    for each in every:
        mine[each.fleet.key].append(each)
    return [(fleet, mine[fleet.key]) for fleet in plan.fleets if mine[fleet.key]]
