"""What is expected of each cluster: its steps with their dates, and what no clock opens.

A date is what the rules result in if nothing else happens, so it is as good as the assumption that
upgrades take their usual time. A step names the gates it waits at, in the order they open; one that
goes no further names the first gate that is shut, and says so if time alone will open it some day.
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.foresight.future import UnknownOffers, UpgradeUnderWay
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.plan import UpgradePlan
from tidegate.kinds.upgrades.core.rules.soak import key_or_least
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.world import ManagedCluster
from tidegate.model.plan import Change, Option
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

UNWANTED = frozenset(
    (
        VersionReason.VersionBlocked,
        VersionReason.VersionUnreadable,
        VersionReason.VersionNotNewer,
        VersionReason.PreReleaseUnwanted,
        VersionReason.NothingOffered,
    )
)
"""Such a version is not wanted: the cluster does not wait for it."""
STEP_BEFORE = frozenset(
    (UpgradeReason.UpgradeUnderWay, UpgradeReason.PoolsBehind, UpgradeReason.EarlierPoolFirst)
)
"""What is said while the step before is under way, of the same cluster."""
# What opens as the fleet goes on.
_GOES_ON = frozenset(
    (
        VersionReason.SectorBehind,
        VersionReason.InheritedBehind,
        UpgradeReason.MutexUpgrading,
        UpgradeReason.SectorFull,
        VersionReason.VersionSoaking,
        *STEP_BEFORE,
    )
)
HOSTED = "the pace of its hosted control plane"
"""The doubt of all dates of such a cluster: how long it takes, and when it begins, is its own."""
_SHARED = frozenset((Gate.SHARED_BUDGET, Gate.MUTEX))
_GOING = (StepKind.UPGRADE, StepKind.POOL)


class UpgradeLeg(msgspec.Struct, frozen=True, kw_only=True):
    """One step of one cluster."""

    doing: StepKind
    version: str  # or the channel
    before: str
    pool: str = ""  # empty: the cluster, or its control plane
    # When it is asked for; None: it was before we looked.
    asked_at: Instant | None
    starts_at: Instant
    # None: at once.
    ends_at: Instant | None = None
    # The gates it waited at, by when they opened; the last one let it go.
    opened: tuple[Verdict, ...] = ()
    # What else its date, or its version, depends on, in few words each.
    doubts: tuple[str, ...] = ()
    by_owner: bool = False

    @property
    def estimate(self) -> bool:
        """Whether its date depends on more than a calendar: on others, on how long things take."""
        return bool(self.doubts) or any(each.until is None or each.estimate for each in self.opened)


class ExpectedUpgrades(msgspec.Struct):
    """What is expected of one cluster."""

    cluster: ManagedCluster
    env: str
    excluded: bool = False  # it is not decided on
    legs: list[UpgradeLeg] = []
    # The version it would go to next, and what keeps it from there; None: nothing is left to do.
    wanted: str = ""
    held: Verdict | None = None
    # What keeps it may open by time alone, later than we looked.
    beyond: bool = False
    # It may do what is not foreseen, on a channel whose offers are not known; None: they are.
    unknown: UnknownOffers | None = None

    @property
    def upgrades(self) -> list[UpgradeLeg]:
        """Its steps from version to version, those of node pools included."""
        return [each for each in self.legs if each.doing in _GOING]

    @property
    def done_at(self) -> Instant | None:
        """When its last upgrade is over; None: there is none."""
        ends = [each.ends_at for each in self.upgrades if each.ends_at is not None]
        return max(ends, default=None)

    @property
    def version(self) -> str:
        """The version it reaches."""
        return next(
            (leg.version for leg in reversed(self.legs) if leg.doing is StepKind.UPGRADE),
            self.cluster.version,
        )


class ExpectedStart(msgspec.Struct, frozen=True):
    """When the first step of a cluster starts: a date, a bound, or neither of them."""

    # The step; None: none is expected, or it is not known yet.
    leg: UpgradeLeg | None = None
    # Nothing starts before this, and we looked no further; None: there is a step, or there is none.
    not_before: Instant | None = None


def start_of(expected: ExpectedUpgrades, looked_until: Instant | None) -> ExpectedStart:
    """The first step of a cluster; `looked_until`, if we looked no further than that."""
    first = next(iter(expected.upgrades), None)
    if first is not None or expected.excluded:
        return ExpectedStart(first)
    return ExpectedStart(None, looked_until)


class GateWaits:
    """Which gates kept each option shut since the cluster's last step."""

    def __init__(self) -> None:
        # By cluster, then by what would be done, then by gate: at which look it was last shut.
        self._shut: dict[str, dict[tuple[StepKind, str, str], dict[Gate, tuple[int, Verdict]]]] = {}
        self._look = 0

    def begin(self) -> None:
        """One more look."""
        self._look += 1

    def note(self, uuid: str, options: Iterable[Option]) -> None:
        """What is shut for a cluster."""
        for option in options:
            step = option.change
            if not isinstance(step, UpgradeStep):
                continue
            for each in option.verdicts:
                if each.outcome is not Outcome.PASS:
                    mine = self._shut.setdefault(uuid, {}).setdefault(_key(step), {})
                    mine[each.gate] = (self._look, each)

    def again(self, uuid: str, shut: Iterable[Verdict]) -> None:
        """A gate that was shut for a cluster still is, and says why."""
        for each in shut:
            for mine in self._shut.get(uuid, {}).values():
                if each.gate in mine:
                    mine[each.gate] = (self._look, each)

    def opened(self, uuid: str, step: UpgradeStep) -> tuple[Verdict, ...]:
        """The gates of a step that starts now, by when they opened; and forget them.

        Of gates that were last seen shut together, those that a clock opens opened first: the
        others would have been looked at again.
        """
        mine = self._shut.pop(uuid, {}).get(_key(step), {})
        ordered = sorted(mine.values(), key=lambda one: (one[0], one[1].until is None))
        return tuple(each for _, each in ordered)


def _key(step: UpgradeStep) -> tuple[StepKind, str, str]:
    return step.doing, step.revision or "", step.pool


def leg_of(under: UpgradeUnderWay, cluster: ManagedCluster) -> UpgradeLeg:
    """A step that was under way at the beginning of the forecast."""
    return UpgradeLeg(
        doing=StepKind.POOL if under.pool else StepKind.UPGRADE,
        version=under.version or cluster.version,
        before=_before(cluster, under.pool),
        pool=under.pool,
        asked_at=None,
        starts_at=under.starts_at,
        ends_at=under.ends_at,
        doubts=(HOSTED,) if cluster.is_hosted else (),
        by_owner=under.by_owner,
    )


def leg_from(
    step: UpgradeStep,
    under: UpgradeUnderWay | None,
    cluster: ManagedCluster,
    opened: tuple[Verdict, ...],
    doubts: tuple[str, ...],
    now: Instant,
) -> UpgradeLeg | None:
    """A step that is asked for now; None: it is none that the cluster takes."""
    if step.doing not in (*_GOING, StepKind.CHANNEL):
        return None
    channel = step.doing is StepKind.CHANNEL
    return UpgradeLeg(
        doing=step.doing,
        version=step.revision or "",
        before=cluster.updates_from if channel else _before(cluster, step.pool),
        pool=step.pool,
        asked_at=now,
        starts_at=under.starts_at if under else now,
        ends_at=under.ends_at if under else None,
        opened=opened,
        doubts=doubts,
    )


def _before(cluster: ManagedCluster, pool: str) -> str:
    """The version something has before a step."""
    return next((each.version for each in cluster.node_pools if each.id == pool), cluster.version)


def begin_with(
    plan: UpgradePlan, under_way: Iterable[UpgradeUnderWay]
) -> dict[str, ExpectedUpgrades]:
    """Every cluster of a plan by its external id, with what is under way on it."""
    envs = {each.org.id: each.org.env for each in plan.fleets}
    found = {
        each.cluster.uuid: ExpectedUpgrades(
            each.cluster, envs[each.cluster.org], each.excluded is not None
        )
        for each in plan.members
    }
    for under in under_way:
        if under.uuid in found and not under.addon:
            found[under.uuid].legs.append(leg_of(under, found[under.uuid].cluster))
    return found


def end_with(plan: UpgradePlan, found: Mapping[str, ExpectedUpgrades], *, beyond: bool) -> None:
    """What keeps every cluster from going further, as the last plan has it."""
    options: dict[str, list[Option]] = {uuid: [] for uuid in found}
    for option in plan.options:
        options[plan.members[option.target].cluster.uuid].append(option)
    for uuid, expected in found.items():
        conclude(expected, options[uuid], beyond=beyond)


def conclude(expected: ExpectedUpgrades, options: Iterable[Option], *, beyond: bool) -> None:
    """What keeps a cluster from going further, once nothing more is expected of it."""
    left: list[tuple[str, tuple[Verdict, ...]]] = []
    for option in options:
        step = option.change
        if isinstance(step, UpgradeStep) and step.doing not in _GOING:
            continue
        if _is_reached(expected, step):
            continue
        shut = tuple(each for each in option.verdicts if each.outcome is not Outcome.PASS)
        if shut:
            left.append((step.revision or "", shut))
    wanted = [one for one in left if not any(each.reason in UNWANTED for each in one[1])]
    offered = [one for one in left if one[1][-1].reason is not VersionReason.NothingOffered]
    # A cluster that moved, and has only unwanted versions before it, is where it should be.
    chosen = wanted or ([] if expected.legs else offered)
    if chosen:
        expected.wanted, shut = chosen[0]
        expected.held = _first(shut)
        expected.beyond = beyond and all(map(may_open, shut))


def _is_reached(expected: ExpectedUpgrades, change: Change) -> bool:
    """Whether a cluster is expected on a version, or past it, by an upgrade of its owner."""
    if not isinstance(change, UpgradeStep) or change.doing is not StepKind.UPGRADE:
        return False
    by_owner = any(leg.by_owner for leg in expected.upgrades)
    return by_owner and key_or_least(change.revision or "") <= key_or_least(expected.version)


def may_open(one: Verdict) -> bool:
    """Whether time opens it, or the fleet as it goes on."""
    if one.outcome is Outcome.STOP:
        return False
    return one.until is not None or one.reason in _GOES_ON or one.gate in _SHARED


def _first(shut: tuple[Verdict, ...]) -> Verdict:
    """What says most: a stop before a wait, and what no clock opens before what one does."""
    return min(shut, key=lambda each: (each.outcome is not Outcome.STOP, each.until is not None))
