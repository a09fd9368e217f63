"""One organisation gone through, cluster by cluster: their options, and what is chosen of them."""

from collections.abc import Iterator

import msgspec

from tidegate.kinds.upgrades.core.channels import next_channel
from tidegate.kinds.upgrades.core.declared.label_error import LabelError, joined
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.addons import AddonUpgrades
from tidegate.kinds.upgrades.core.rules.brake_gates import BrakeGates
from tidegate.kinds.upgrades.core.rules.expedite import Expedites
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.gates import IDLE, VersionGates, lately, why_blocked
from tidegate.kinds.upgrades.core.rules.locks import UpgradeLocks
from tidegate.kinds.upgrades.core.rules.plan import CLUSTER_WRONG, OwnerNotice
from tidegate.kinds.upgrades.core.rules.progress import can_be_taken_back
from tidegate.kinds.upgrades.core.rules.sector_order import SectorOrder
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.versions import VersionError, key_of
from tidegate.kinds.upgrades.core.world import UpgradeWorld
from tidegate.model.plan import Change, ChangeKind, Option
from tidegate.model.reason import Gate, Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

GATES_MISSING = "Cluster upgrade waits for version gate agreements"
_NO_CHANGE = Change(ChangeKind.APPLY)

Verdicts = tuple[Verdict, ...]


class PassGates(msgspec.Struct, frozen=True):
    """What is asked about every cluster of an organisation."""

    asked: VersionGates
    ahead: SectorOrder
    locks: UpgradeLocks


class UpgradePass:
    """One organisation, while its clusters are gone through."""

    def __init__(
        self,
        world: UpgradeWorld,
        fleet: OrganisationFleet,
        gates: PassGates,
        braking: BrakeGates,
        addons: AddonUpgrades | None,
        now: Instant,
    ) -> None:
        self._world = world
        self._now = now
        self._asked, self._ahead, self._locks = gates.asked, gates.ahead, gates.locks
        self._braking = braking
        self._addons = addons
        self._expedites = Expedites(world.brakes.expedites, fleet, now)
        self._newer: dict[str, Verdict] = {}  # by version, for all who go to it
        self._owner_notices: list[OwnerNotice] = []

    @property
    def owner_notices(self) -> list[OwnerNotice]:
        """Service logs for the owners of clusters that were decided on."""
        return [
            *self._owner_notices,
            *(self._addons.owner_notices if self._addons is not None else ()),
        ]

    def look_at(self, at: int, member: FleetMember) -> list[Option]:
        """Every option of one cluster, in the order they are tried; at least one."""
        if member.excluded is not None:
            return [Option(at, _NO_CHANGE, (member.excluded,))]
        options = list(self._cancels(at, member))
        progress = self._asked.progress(member)
        options += self._pools(at, member, progress)
        options += self._candidates(at, member, progress)
        options += self._channel(at, member, progress, options)
        if not options:
            nothing = verdict(VersionReason.NothingOffered, member.cluster.version)
            said = (progress, *self._asked.reading(), self._asked.labels(), nothing)
            options.append(Option(at, _NO_CHANGE, said))
        return [*options, *self._of_addons(at, member, progress, options)]

    def _of_addons(
        self, at: int, member: FleetMember, progress: Verdict, options: list[Option]
    ) -> list[Option]:
        """The options of its add-ons: nothing of them goes where the cluster itself does."""
        if self._addons is None or not member.cluster.addons:
            return []
        if progress.reason is UpgradeReason.UpgradedByOwner:  # that is about the cluster alone
            progress = IDLE
        if member.progress.behind:
            progress = _behind(member)
        shared = self._of_the_cluster(member, progress)
        if (going := _going(options)) is not None:
            shared = (*shared, verdict(UpgradeReason.ClusterFirst, going))
        found = self._addons.look_at(at, member, shared)
        if _going(found) is not None:
            self._start(member)
        return found

    def _of_the_cluster(self, member: FleetMember, progress: Verdict) -> Verdicts:
        """What is said of the cluster, whatever the version."""
        return (
            progress,
            *self._asked.reading(),
            self._asked.labels(),
            *self._locks.slots(member),
            *self._locks.mutexes(member),
            *self._asked.health(member),
            *self._braking.shares(member),
        )

    def _start(self, member: FleetMember) -> None:
        self._locks.take(member)
        self._braking.take(member)

    def _cancels(self, at: int, member: FleetMember) -> Iterator[Option]:
        """Upgrades that have not started, to versions that are blocked by now."""
        for upgrade, pool in member.progress.under_way:
            # One that was asked for a moment ago has no id before it is read.
            if not can_be_taken_back(upgrade) or not upgrade.version or not upgrade.id:
                continue
            said = (
                self._asked.block(member, upgrade.version),
                *self._braking.verdicts(member, upgrade.version, None),
            )
            if why := why_blocked(said):
                step = UpgradeStep(
                    kind=ChangeKind.REMOVE,
                    revision=upgrade.version,
                    doing=StepKind.CANCEL,
                    pool=pool,
                    ident=upgrade.id,
                )
                verdicts = (
                    verdict(UpgradeReason.UpgradeNotStarted, upgrade.version, upgrade.state or ""),
                    verdict(VersionReason.VersionUnwanted, upgrade.version, why),
                    *self._lately(member, step),
                )
                yield Option(at, step, verdicts)

    def _pools(self, at: int, member: FleetMember, progress: Verdict) -> Iterator[Option]:
        """Node pools behind their control plane: one at a time, in the order of their ids.

        One that was refused lately keeps no other waiting.
        """
        if not member.progress.behind:
            return
        version = member.cluster.version
        window, _, starts_at = self._when(member, version)
        shared = (
            *self._of_the_cluster(member, progress),
            window,
            verdict(VersionReason.FollowsControlPlane, version),
            self._asked.block(member, version),
            *self._braking.verdicts(member, version, starts_at),
        )
        first: str | None = None
        for pool in member.progress.behind:
            step = UpgradeStep(
                kind=ChangeKind.APPLY,
                revision=version,
                doing=StepKind.POOL,
                pool=pool.id,
                starts_at=starts_at,
            )
            refused = self._lately(member, step)
            later = () if first is None else (verdict(UpgradeReason.EarlierPoolFirst, first),)
            said = (*shared, *later, *refused)
            yield Option(at, step, said)
            if first is None and not refused:
                first = pool.id
            if all_pass(said):
                self._start(member)

    def _candidates(self, at: int, member: FleetMember, progress: Verdict) -> list[Option]:
        """One option a version, newest first; the newest that passes is chosen."""
        if member.progress.behind:
            progress = _behind(member)
        shared = self._of_the_cluster(member, progress)
        chosen: Verdict | None = None
        options: list[Option] = []
        for version in _newest_first(member.cluster.available_upgrades):
            window, soak, starts_at = self._when(member, version)
            step = UpgradeStep(
                kind=ChangeKind.APPLY, revision=version, doing=StepKind.UPGRADE, starts_at=starts_at
            )
            said = (
                *shared,
                window,
                *self._of_the_version(member, version, soak, starts_at),
                *self._lately(member, step),
            )
            if chosen is not None:
                said = (*said, chosen)
            elif all_pass(said):
                chosen = self._chosen(version)
            else:
                self._tell_of_gates(member, version, said)
            options.append(Option(at, step, said))
        if chosen is not None:
            self._start(member)
        return options

    def _chosen(self, version: str) -> Verdict:
        if version not in self._newer:
            self._newer[version] = verdict(VersionReason.NewerVersionChosen, version)
        return self._newer[version]

    def _when(
        self, member: FleetMember, version: str
    ) -> tuple[Verdict, Verdict | None, Instant | None]:
        """What the window says, what soak says if it is skipped, and when it would start."""
        expedited = self._expedites.of(member, version)
        if expedited is not None:
            return expedited
        window, starts_at = self._asked.window(member)
        if window.reason is UpgradeReason.ScheduleOver:
            self._tell_of_schedule(member)
        return window, None, starts_at

    def _of_the_version(
        self, member: FleetMember, version: str, soak: Verdict | None, starts_at: Instant | None
    ) -> Verdicts:
        offer = self._asked.offer(member.cluster, version)
        if offer.reason is VersionReason.VersionUnreadable:
            return (offer,)
        return (
            offer,
            self._asked.block(member, version),
            soak or self._asked.soak(member, version),
            *self._asked.quarantine(version),
            self._ahead.verdict(member, version),
            self._asked.agreement(member, version),
            *self._braking.verdicts(member, version, starts_at),
        )

    def _tell_of_schedule(self, member: FleetMember) -> None:
        """A schedule all of whose years are over is for its owner to fix."""
        words = f'"{member.policy.schedule}" never fires again; write one that does'
        text = joined([LabelError("schedule", words)])
        owner_notice = OwnerNotice(member.cluster.uuid, CLUSTER_WRONG, text)
        if member.is_ready and owner_notice not in self._owner_notices[-1:]:
            self._owner_notices.append(owner_notice)

    def _tell_of_gates(self, member: FleetMember, version: str, said: Verdicts) -> None:
        """Where only an agreement is missing: one service log, for the newest version."""
        only = _only_shut(said)
        if only is not None and only.reason is VersionReason.AgreementMissing:
            minor, gates = only.facts
            names = ", ".join(gates) if isinstance(gates, tuple) else str(gates)
            text = f"- {version} waits for agreements to the version gates of {minor}: {names}"
            owner_notice = OwnerNotice(member.cluster.uuid, GATES_MISSING, text)
            if not any(each.uuid == owner_notice.uuid for each in self._owner_notices[-1:]):
                self._owner_notices.append(owner_notice)

    def _channel(
        self, at: int, member: FleetMember, progress: Verdict, options: list[Option]
    ) -> Iterator[Option]:
        """The channel of the next minor, unless something goes first or its .0 is blocked."""
        cluster = member.cluster
        target = next_channel(cluster.updates_from)
        if target is None or target not in cluster.available_channels:
            return
        first = f"{target.rpartition('-')[2]}.0"
        said: list[Verdict] = [
            progress,
            *self._asked.reading(),
            self._asked.labels(),
            verdict(VersionReason.ChannelThere, cluster.updates_from, target),
            self._asked.block(member, first),
            *self._locks.mutexes(member),
            *self._braking.verdicts(member, first, None),
        ]
        if (waits_for := _goes_first(options)) is not None:
            said.append(verdict(VersionReason.UpgradeFirst, waits_for))
        step = UpgradeStep(kind=ChangeKind.APPLY, revision=target, doing=StepKind.CHANNEL)
        yield Option(at, step, (*said, *self._lately(member, step)))

    def _lately(self, member: FleetMember, step: UpgradeStep) -> Verdicts:
        return lately(self._world, member.cluster.uuid, step, self._now)


def _behind(member: FleetMember) -> Verdict:
    return verdict(UpgradeReason.PoolsBehind, len(member.progress.behind), member.cluster.version)


_DROPS = (StepKind.CANCEL, StepKind.CANCEL_ADDON)


def _going(options: list[Option]) -> str | None:
    """What of a cluster goes now; None: nothing does, but for what is taken back."""
    for option in options:
        step = option.change
        if isinstance(step, UpgradeStep) and step.doing not in _DROPS and all_pass(option.verdicts):
            return step.revision
    return None


_ALMOST = (Gate.AGREEMENT, Gate.REFUSAL)


def _goes_first(options: list[Option]) -> str | None:
    """What starts now, only lacks an agreement, or was only refused lately; None: nothing does."""
    for option in options:
        shut = [each for each in option.verdicts if _shuts(each)]
        if all(each.gate in _ALMOST for each in shut):
            return option.change.revision
    return None


def _newest_first(versions: tuple[str, ...]) -> list[str]:
    """Each version once; what is none comes last."""
    read: list[str] = []
    rest: list[str] = []
    for each in sorted(set(versions)):
        try:
            key_of(each)
            read.append(each)
        except VersionError:
            rest.append(each)
    return [*sorted(read, key=key_of, reverse=True), *rest]


def _only_shut(said: Verdicts) -> Verdict | None:
    """The one verdict that does not pass; None: none, or several do not."""
    only: Verdict | None = None
    for each in said:
        if each.outcome is not Outcome.PASS:
            if only is not None:
                return None
            only = each
    return only


def _shuts(one: Verdict) -> bool:
    return one.outcome is not Outcome.PASS
