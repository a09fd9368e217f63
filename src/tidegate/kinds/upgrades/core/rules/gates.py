"""What each gate says of a cluster, or of a version for it; asked once for all that are alike."""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.declared.label_error import LabelErrors
from tidegate.kinds.upgrades.core.declared.patterns import first_found
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.refusal import OcmRefusal, what_of
from tidegate.kinds.upgrades.core.rules.fleet import FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.soak import DAY, Days, SoakLedger, days_text
from tidegate.kinds.upgrades.core.schedule.schedule import lead_of
from tidegate.kinds.upgrades.core.schedule.window import start_of
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.versions import VersionError, key_of, minor_of
from tidegate.kinds.upgrades.core.world import HealthCheck, ManagedCluster, MinorGate, UpgradeWorld
from tidegate.model.plan import ChangeKind
from tidegate.model.reason import Gate as Gates
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant, parse_instant
from tidegate.model.verdict import Verdict, verdict

TELEMETER = "telemeter"
OCP = "api.openshift.com/gate-ocp"
_STS = "api.openshift.com/gate-sts"
KINDS = (OCP, _STS, "api.openshift.com/gate-ingress")
"""The kinds of version gates that the service knows."""
_CANDIDATE = "candidate"
_UNIT = 1000
_RELEASE = 1
# A verdict names this many clusters; more would not fit on a line.
_NAMES_MAX = 3

LABELS_READ = verdict(UpgradeReason.LabelsRead)
IDLE = verdict(UpgradeReason.NothingUnderWay)
NOT_BLOCKED = verdict(VersionReason.VersionNotBlocked)
NO_SOAK = verdict(VersionReason.NoSoakNeeded)
NO_AGREEMENT = verdict(VersionReason.NoAgreementNeeded)


def not_ready(member: FleetMember) -> Verdict | None:
    """Why a cluster cannot be upgraded at all; None: it can."""
    cluster = member.cluster
    if not cluster.is_subscribed:
        return verdict(UpgradeReason.SubscriptionNotInUse, str(cluster.subscription_status))
    return None if member.is_ready else verdict(UpgradeReason.ClusterNotReady, cluster.state)


class FleetCounts(msgspec.Struct, frozen=True):
    """What is counted over all clusters of an organisation."""

    # How many soak a version under a workload right now.
    running: Mapping[tuple[str, str], int]
    # Clusters whose upgrade to a version failed, by version.
    failed: Mapping[str, list[str]]
    # Clusters of which not everything was read.
    unread: list[str]


def counts_of(fleet: OrganisationFleet, ledger: SoakLedger) -> FleetCounts:
    """All that is counted over the clusters of an organisation."""
    unread = sorted(each.called for each in fleet.members if each.progress.unread)
    return FleetCounts(_running(fleet, ledger), _failed(fleet), unread)


class VersionGates:
    """The gates of one organisation, with what they have said already."""

    def __init__(
        self,
        world: UpgradeWorld,
        fleet: OrganisationFleet,
        soak: Days,
        ledger: SoakLedger,
        now: Instant,
        counts: FleetCounts | None = None,
    ) -> None:
        self._world = world
        self._fleet = fleet
        self._soak = soak
        self._ledger = ledger
        self._now = now
        self._windows: dict[tuple[str, str], tuple[Verdict, Instant | None]] = {}
        self._blocks: dict[tuple[tuple[str, ...], str, str], Verdict] = {}
        self._soaks: dict[tuple[tuple[str, ...], int, str], Verdict] = {}
        self._offers: dict[str, Verdict] = {}
        self._under_way: dict[tuple[str, str], Verdict] = {}
        self._counts = counts if counts is not None else counts_of(fleet, ledger)
        self._reading: tuple[Verdict, ...] = ()
        if fleet.org.partial:
            self._reading = (verdict(UpgradeReason.OrgPartlyRead, fleet.org.partial),)
        org_policy = fleet.org_policy
        self._labels = LABELS_READ
        if org_policy.unreadable:
            first = next(
                each for each in org_policy.label_errors if each.label == "blocked-versions"
            )
            self._labels = verdict(UpgradeReason.OrgLabelsUnreadable, first.text())

    def labels(self) -> Verdict:
        """Whether what its organisation wrote can be read; its own can, or it is excluded."""
        return self._labels

    def reading(self) -> tuple[Verdict, ...]:
        """What keeps everything from starting here: not all that is there was read."""
        return self._reading

    def progress(self, member: FleetMember) -> Verdict:
        """What is under way on it."""
        progress = member.progress
        if (unready := not_ready(member)) is not None:
            return unready
        if progress.doubled:
            return verdict(UpgradeReason.TwoUpgrades, len(progress.doubled), progress.doubled)
        if progress.failed:
            return verdict(UpgradeReason.UpgradeFailed, progress.failed[0][0].version or "?")
        if progress.under_way:
            one = progress.under_way[0][0]
            key = (one.version or "?", one.state or "unknown")
            if key not in self._under_way:
                self._under_way[key] = verdict(UpgradeReason.UpgradeUnderWay, *key)
            return self._under_way[key]
        if progress.addons_failed:
            plan, addon = progress.addons_failed[0]
            return verdict(UpgradeReason.AddonFailed, addon, plan.version or "?")
        if progress.addons:
            plan, addon = progress.addons[0]
            facts = (addon, plan.version or "?", plan.state or "unknown")
            return verdict(UpgradeReason.AddonUnderWay, *facts)
        return verdict(UpgradeReason.UpgradedByOwner) if progress.owner_scheduled else IDLE

    def window(self, member: FleetMember) -> tuple[Verdict, Instant | None]:
        """Whether its schedule fires soon, and when an upgrade would start; None: not soon."""
        policy = member.policy
        key = (policy.schedule or "", policy.zone)
        if key not in self._windows:
            self._windows[key] = self._window(member)
        return self._windows[key]

    def _window(self, member: FleetMember) -> tuple[Verdict, Instant | None]:
        policy, now = member.policy, self._now
        lead = lead_of(self._fleet.org.notice_lead)
        fires = None if policy.cron is None else start_of(policy.cron, policy.zone, now, lead)
        if fires is None:
            return verdict(UpgradeReason.ScheduleOver), None
        if fires - now <= lead.most:
            return verdict(UpgradeReason.InWindow, fires, until=Instant(fires - lead.least)), fires
        return verdict(UpgradeReason.OutsideWindow, fires, until=Instant(fires - lead.most)), None

    def block(self, member: FleetMember, version: str) -> Verdict:
        """Whether a label blocks the version: the cluster's own, then the organisation's."""
        key = (member.policy.blocked, member.called if member.policy.blocked else "", version)
        if key not in self._blocks:
            self._blocks[key] = self._block(member, version)
        return self._blocks[key]

    def _block(self, member: FleetMember, version: str) -> Verdict:
        own = first_found(member.policy.blocked, version)
        if own is not None:
            return verdict(VersionReason.VersionBlocked, version, own, member.called)
        found = first_found(self._fleet.org_policy.blocked, version)
        if found is not None:
            owner = f"organisation {self._fleet.org.id}"
            return verdict(VersionReason.VersionBlocked, version, found, owner)
        return NOT_BLOCKED

    def offer(self, cluster: ManagedCluster, version: str) -> Verdict:
        """Whether the version is one the cluster may go to at all."""
        try:
            key, own = key_of(version), key_of(cluster.version)
        except VersionError:
            return verdict(VersionReason.VersionUnreadable, version)
        if key <= own:
            return verdict(VersionReason.VersionNotNewer, version, cluster.version)
        wanted = own[3] != _RELEASE or cluster.updates_from.startswith(_CANDIDATE)
        if key[3] != _RELEASE and not wanted:
            return verdict(VersionReason.PreReleaseUnwanted, version)
        if version not in self._offers:
            self._offers[version] = verdict(VersionReason.VersionOffered, version)
        return self._offers[version]

    def soak(self, member: FleetMember, version: str) -> Verdict:
        """Whether every workload of the cluster has run for long enough on the version."""
        policy = member.policy
        if not policy.soak_days:
            return NO_SOAK
        key = (policy.workloads or (), policy.soak_days, version)
        if key not in self._soaks:
            self._soaks[key] = self._soaked(*key)
        return self._soaks[key]

    def _soaked(self, workloads: tuple[str, ...], needed: int, version: str) -> Verdict:
        least = min(workloads, key=lambda each: (self._soak.get((version, each), 0), each))
        amount = self._soak.get((version, least), 0)
        facts = (version, least, days_text(amount), needed)
        if amount >= needed * DAY:
            return verdict(VersionReason.VersionSoaked, *facts)
        on = self._counts.running.get((version, least), 0)
        until = self._soaked_at(needed * DAY - amount, on) if on else None
        return verdict(
            VersionReason.VersionSoaking, *facts, on, until=until, estimate=until is not None
        )

    def _soaked_at(self, left: int, on: int) -> Instant | None:
        """When enough will have run, counted from the last look; None: at the next look."""
        looked_at = self._ledger.checked_at or self._now
        until = Instant(looked_at + -(-left // on) * _UNIT)
        return until if until > self._now else None

    def quarantine(self, version: str) -> tuple[Verdict, ...]:
        """Whether too many upgrades to the version failed here; nothing where there is no limit."""
        most = self._fleet.org.quarantine_after
        if most <= 0:
            return ()
        failed = self._counts.failed.get(version, [])
        reason, named = VersionReason.VersionTrusted, failed
        if len(failed) >= most:
            reason = VersionReason.VersionQuarantined
        elif len(failed) + len(self._counts.unread) >= most:  # for all we know, they failed too
            reason, named = VersionReason.FailuresUnread, self._counts.unread
        return (verdict(reason, version, len(failed), most, tuple(named[:_NAMES_MAX])),)

    def agreement(self, member: FleetMember, version: str) -> Verdict:
        """Whether all that the minor version asks for was agreed to."""
        cluster, minor = member.cluster, minor_of(version)
        gates = [each for each in self._world.gates if each.prefix == minor]
        asked = relevant(cluster, gates)
        if not asked:
            return NO_AGREEMENT
        missing = [each for each in asked if each.id not in cluster.gate_agreements]
        if not missing:
            return verdict(VersionReason.AgreementsThere, minor, _labels(asked))
        wanted = approved(self._fleet, member)
        theirs = [each for each in missing if each.label not in wanted]
        refused = [each for each in missing if refusal_of(self._world, cluster, each) is not None]
        if refused and not theirs:
            one = refusal_of(self._world, cluster, refused[0])
            detail = one.detail if one is not None else ""
            return verdict(VersionReason.AgreementRefused, minor, _labels(refused), detail)
        return verdict(VersionReason.AgreementMissing, minor, _labels(theirs or missing))

    def health(self, member: FleetMember) -> tuple[Verdict, ...]:
        """Whether it is well, one verdict a source; a brake only where the check is enforced."""
        return tuple(self._health(member, each) for each in self._fleet.org.health_checks)

    def _health(self, member: FleetMember, check: HealthCheck) -> Verdict:
        if not can_be_asked(self._world, check):
            if check.enforced:
                return verdict(UpgradeReason.HealthUnasked, check.provider)
            return verdict(
                UpgradeReason.AlertsShown, (check.provider,), "not asked, and not enforced"
            )
        cluster = member.cluster
        alerts = tuple(sorted(set(cluster.alerts)))
        if not alerts:
            return verdict(UpgradeReason.ClusterHealthy, check.provider)
        if not check.enforced:
            return verdict(
                UpgradeReason.AlertsShown, alerts, "shown only: the check is not enforced"
            )
        snapshot = self._ledger.sights.get(cluster.uuid)
        since = snapshot.since if snapshot is not None else None
        young = tuple(each for each in alerts if _is_young(cluster, each, since))
        if young:
            return verdict(UpgradeReason.AlertsYoung, young, cluster.version)
        return verdict(UpgradeReason.AlertsShown, alerts, "shown only: older than its version")


def lately(
    world: UpgradeWorld, target: str, step: UpgradeStep, now: Instant
) -> tuple[Verdict, ...]:
    """Whether this very step was refused a moment ago; nothing where it was not."""
    refused = world.refused.get(target)
    one = refused.get(what_of(step)) if refused else None
    if one is None or one.until <= now:
        return ()
    return (verdict(VersionReason.RefusedLately, one.tries, one.detail, until=one.until),)


def refusal_of(world: UpgradeWorld, cluster: ManagedCluster, gate: MinorGate) -> OcmRefusal | None:
    """That our agreement to a gate was refused; None: it was not."""
    return world.refused.get(cluster.uuid, {}).get(what_of(agree_step(gate.prefix, gate.id)))


def refused_agreement(
    world: UpgradeWorld, cluster: ManagedCluster, gate: MinorGate, now: Instant
) -> tuple[Verdict, ...]:
    """Whether our agreement was refused a moment ago; nothing where it was not."""
    one = refusal_of(world, cluster, gate)
    if one is None or one.until <= now:
        return ()
    reason = VersionReason.AgreementRefused
    return (verdict(reason, gate.prefix, _labels((gate,)), one.detail, until=one.until),)


def agree_step(minor: str, ident: str) -> UpgradeStep:
    """The step that agrees to a gate."""
    return UpgradeStep(kind=ChangeKind.APPLY, revision=minor, doing=StepKind.AGREE, ident=ident)


def approved(fleet: OrganisationFleet, member: FleetMember) -> tuple[str, ...]:
    """The kinds of gates that are agreed to for a cluster."""
    name = "version-gate-approvals"
    of_org = LabelErrors().items(name, fleet.org.labels.get(name))
    return member.policy.approvals or of_org or (OCP,)


def _labels(gates: Iterable[MinorGate]) -> tuple[str, ...]:
    return tuple(sorted(each.label.rpartition("/")[2] for each in gates))


def why_blocked(said: Iterable[Verdict]) -> str:
    """Why a version is blocked: the pattern or the reason; empty: it is not."""
    for each in said:
        if each.gate is Gates.BLOCK and each.outcome is not Outcome.PASS:
            return "{} ({})".format(*each.facts[-2:])
    return ""


def can_be_asked(world: UpgradeWorld, check: HealthCheck) -> bool:
    """Whether a source of health is there and answers."""
    return check.provider == TELEMETER and not world.health_fails


def relevant(cluster: ManagedCluster, gates: Iterable[MinorGate]) -> list[MinorGate]:
    """The version gates on the way of a cluster; unknown kinds do not apply."""
    return [gate for gate in on_the_way(cluster, gates) if gate.label in KINDS]


def on_the_way(cluster: ManagedCluster, gates: Iterable[MinorGate]) -> list[MinorGate]:
    """The version gates that a cluster may be asked to agree to, unknown kinds included."""
    own = key_of(cluster.version)[:2]
    return [
        gate
        for gate in gates
        if (minor := _minor_key(gate.prefix)) is not None
        and own < minor
        and (cluster.sts or not _is_for_sts(gate))
    ]


def _is_for_sts(gate: MinorGate) -> bool:
    """Whether it is for clusters with short-lived credentials alone; of known kinds that tells."""
    return gate.label == _STS or (gate.sts_only and gate.label not in KINDS)


def _minor_key(prefix: str) -> tuple[int, int] | None:
    try:
        return key_of(f"{prefix}.0")[:2]
    except VersionError:
        return None


def _is_young(cluster: ManagedCluster, alert: str, since: Instant | None) -> bool:
    """Whether an alert came after the version did; where that is not known, it may have."""
    text = cluster.alerts_since.get(alert)
    if text is None or since is None:
        return True
    try:
        return parse_instant(text) >= since
    except ValueError:
        return True


def _running(fleet: OrganisationFleet, ledger: SoakLedger) -> dict[tuple[str, str], int]:
    """How many clusters soak a version under a workload right now."""
    found: dict[tuple[str, str], int] = {}
    for member in fleet.members:
        snapshot = ledger.sights.get(member.cluster.uuid)
        if snapshot is not None and snapshot.healthy:
            for workload in snapshot.workloads:
                key = (snapshot.version, workload)
                found[key] = found.get(key, 0) + 1
    return found


def _failed(fleet: OrganisationFleet) -> dict[str, list[str]]:
    """Clusters whose upgrade to a version failed, by version."""
    found: dict[str, set[str]] = {}
    for member in fleet.members:
        for upgrade, _ in member.progress.failed:
            found.setdefault(upgrade.version, set()).add(member.called)
    return {version: sorted(names) for version, names in found.items()}
