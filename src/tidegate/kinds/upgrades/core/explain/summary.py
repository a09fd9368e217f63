"""Where each cluster stands: what it is on, what comes next, and what says most about why not now.

Next is what starts now or is under way; else the newest version that waits for no more than its
turn and its window; else the newest that nothing rules out for good.
"""

from collections.abc import Iterable

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.versions import key_of
from tidegate.model.plan import Option
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass

# Gates that rule a version out until something is changed: it is not waited for.
_RULED_OUT = frozenset((Gate.BLOCK, Gate.VERSION))
_SOAKS = (VersionReason.VersionSoaking, VersionReason.VersionSoaked)
_FIRES = (UpgradeReason.InWindow, UpgradeReason.OutsideWindow, UpgradeReason.WindowExpedited)


class ClusterSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Where one cluster stands."""

    position: int
    member: FleetMember
    fleet: OrganisationFleet
    # All that could be done, in the order in which it was tried: versions newest first.
    options: tuple[Option, ...]
    # The one that says most; it starts, or `shut` says why not.
    chief: Option
    shut: Verdict | None
    # The version that comes next; empty: none does.
    next: str = ""

    @property
    def starts(self) -> bool:
        """Whether it is upgraded now, the cluster or a node pool of it."""
        return self.shut is None and doing_of(self.chief) in (StepKind.UPGRADE, StepKind.POOL)

    @property
    def oldest(self) -> str:
        """The older of its control plane and its node pools: what others wait for."""
        member = self.member
        behind = [pool.version for pool in member.progress.behind]
        return (
            min((member.cluster.version, *behind), key=key_of)
            if behind
            else (member.cluster.version)
        )

    @property
    def fires_at(self) -> Instant | None:
        """When an upgrade would start if nothing but its window mattered; None: not known."""
        for each in self.chief.verdicts:
            if each.reason in _FIRES and isinstance(each.facts[0], int):
                return Instant(each.facts[0])
        return None

    @property
    def soak_left(self) -> str:
        """Cluster-days its next version still soaks, never rounded down; empty: no soak."""
        for each in self.chief.verdicts:
            if each.reason in _SOAKS:
                _, _, soaked, needed, *_ = each.facts
                return _left(str(soaked), needed if isinstance(needed, int) else 0)
            if each.gate is Gate.SOAK and each.outcome is Outcome.PASS:
                return "0"
        return ""

    @property
    def soaked_at(self) -> Instant | None:
        """When its next version will have soaked, as its gate says; None: it has, or not known."""
        soaking = (each for each in self.chief.verdicts if each.reason in _SOAKS)
        return next((each.until for each in soaking), None)

    @property
    def others(self) -> int:
        """How many more gates are shut."""
        return sum(each.outcome is not Outcome.PASS for each in self.chief.verdicts) - 1

    def why(self) -> str:
        """The gate that says most, on one line."""
        if self.shut is None:
            return ""
        more = f" (+{self.others} more)" if self.others > 0 else ""
        return sentence(self.shut) + more


def cluster_summaries(plan: UpgradePlan) -> list[ClusterSummary]:
    """Where every cluster stands, in the order in which they are looked at."""
    options: dict[int, list[Option]] = {}
    for option in plan.options:
        options.setdefault(option.target, []).append(option)
    fleets = {fleet.org.id: fleet for fleet in plan.fleets}
    return [
        summary_of(at, fleets[member.cluster.org], member, options[at])
        for at, member in enumerate(plan.members)
        if at in options and member.cluster.org in fleets
    ]


def summary_of(
    position: int, fleet: OrganisationFleet, member: FleetMember, options: Iterable[Option]
) -> ClusterSummary:
    """Where one cluster stands, by its options."""
    every = tuple(options)
    chief = _chief(every)
    return ClusterSummary(
        position=position,
        member=member,
        fleet=fleet,
        options=every,
        chief=chief,
        shut=most_telling(chief.verdicts),
        next=_next(member, chief),
    )


def _left(soaked: str, needed: int) -> str:
    """What is left of so many days; soaked has two decimals: 3.75 of 5 leaves 1.25."""
    cents = needed * 100 - int(soaked.replace(".", ""))
    return f"{cents // 100}.{cents % 100:02d}" if cents > 0 else "0"


def doing_of(option: Option) -> StepKind | None:
    """What an option would do; None: nothing, it only says why."""
    return option.change.doing if isinstance(option.change, UpgradeStep) else None


def most_telling(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The shut gate that says most: a stop before a wait, a window last; None: all pass."""
    shut = [each for each in verdicts if each.outcome is not Outcome.PASS]
    return min(shut, key=_says_little, default=None)


def _says_little(one: Verdict) -> int:
    """What passes while others move says little, and what opens by itself says least."""
    if one.outcome is Outcome.STOP:
        return 0
    return _LITTLE.get(one.gate, 1)


_LITTLE = {Gate.SLOTS: 2, Gate.MUTEX: 2, Gate.SHARED_BUDGET: 2, Gate.WINDOW: 3}


def _chief(options: tuple[Option, ...]) -> Option:
    upgrades = [each for each in options if doing_of(each) in (StepKind.UPGRADE, StepKind.POOL)]
    ladder = (
        (each for each in upgrades if all_pass(each.verdicts)),
        (each for each in upgrades if _only_waits_its_turn(each)),
        (each for each in upgrades if not _is_ruled_out(each)),
        iter(upgrades),
        iter(options),
    )
    return next(option for step in ladder for option in step)


def _only_waits_its_turn(option: Option) -> bool:
    return all(each.outcome is Outcome.PASS or _is_passing(each) for each in option.verdicts)


def _is_passing(one: Verdict) -> bool:
    return one.outcome is Outcome.WAIT and one.gate in _LITTLE


def _is_ruled_out(option: Option) -> bool:
    return any(
        each.outcome is Outcome.STOP
        and (each.gate in _RULED_OUT or each.reason is VersionReason.VersionQuarantined)
        for each in option.verdicts
    )


def _next(member: FleetMember, chief: Option) -> str:
    if member.excluded is not None:
        return ""
    for upgrade, _ in member.progress.under_way:
        return upgrade.version
    if doing_of(chief) not in (StepKind.UPGRADE, StepKind.POOL) or _is_ruled_out(chief):
        return ""
    return chief.change.revision or ""
