"""Upgrades of add-ons, by the labels of their clusters: what of a cluster's add-ons goes now.

One thing at a time on a cluster: its own upgrade first, then its add-ons by their ids. An add-on is
asked for while the schedule fires at most ten minutes from now, and starts six minutes later; it
knows no gates and no channels. Patterns block it that begin with its id: `logging/1.3`.

Each add-on of an organisation is a fleet of its own: the clusters that have it, by its versions. So
soak, sectors, failures and what is inherited are computed for it as for clusters. A cluster that
could not be read may have any add-on in any version, and so counts for each.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from tidegate.kinds.upgrades.core.declared.patterns import first_found
from tidegate.kinds.upgrades.core.reasons.upgrade_reasons import UpgradeReason
from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.brake_gates import BrakeGates
from tidegate.kinds.upgrades.core.rules.expedite import Expedites
from tidegate.kinds.upgrades.core.rules.fleet import READY, FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.gates import NOT_BLOCKED, VersionGates, lately, why_blocked
from tidegate.kinds.upgrades.core.rules.observations import look
from tidegate.kinds.upgrades.core.rules.plan import CLUSTER_WRONG, OwnerNotice
from tidegate.kinds.upgrades.core.rules.progress import can_be_taken_back, is_left_over, progress_of
from tidegate.kinds.upgrades.core.rules.sector_order import SectorOrder
from tidegate.kinds.upgrades.core.rules.soak import SoakLedger, inherited
from tidegate.kinds.upgrades.core.schedule.schedule import ADDON, addon_lead
from tidegate.kinds.upgrades.core.schedule.window import start_of
from tidegate.kinds.upgrades.core.step import StepKind, UpgradeStep
from tidegate.kinds.upgrades.core.versions import Key, VersionError, key_of
from tidegate.kinds.upgrades.core.world import ClusterAddon, OcmUpgrade, UpgradeWorld
from tidegate.model.plan import ChangeKind, Option
from tidegate.model.reason import Outcome
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

Verdicts = tuple[Verdict, ...]


class _Ground(msgspec.Struct, frozen=True):
    """One add-on of the organisation: who has it, and what its gates say."""

    members: dict[str, FleetMember]  # by external id, with the add-on's versions
    asked: VersionGates
    ahead: SectorOrder


class AddonUpgrades:
    """The add-ons of one organisation, while its clusters are gone through."""

    def __init__(
        self, world: UpgradeWorld, fleet: OrganisationFleet, braking: BrakeGates, now: Instant
    ) -> None:
        self._world = world
        self._fleet = fleet
        self._braking = braking
        self._expedites = Expedites(world.brakes.expedites, fleet, now)
        self._now = now
        self._starts_at = Instant(now + addon_lead(fleet.org.notice_lead))
        self._windows: dict[tuple[str, str], Verdict] = {}
        self._grounds: dict[str, _Ground] = {}
        self.ledgers: dict[str, SoakLedger] = {}
        self.owner_notices: list[OwnerNotice] = []
        for each in addon_fleets(fleet, now):
            ledger = self.ledgers[each.key] = look(world, each, now)
            sources = [world.ledgers[key] for key in each.sources if key in world.ledgers]
            soak, minima = inherited(ledger, sources)
            self._grounds[each.addon] = _Ground(
                {one.cluster.uuid: one for one in each.members},
                VersionGates(world, each, soak, ledger, now),
                SectorOrder(each, minima),
            )

    def look_at(self, at: int, member: FleetMember, shared: Verdicts) -> list[Option]:
        """Every option of a cluster's add-ons; `shared` is what is said of the cluster."""
        options: list[Option] = []
        first: Verdict | None = None
        for addon in sorted(member.cluster.addons, key=lambda each: each.id):
            options += self._drops(at, member, addon)
            for option in self._upgrade(at, member, addon, shared):
                if first is not None:
                    option = msgspec.structs.replace(option, verdicts=(*option.verdicts, first))
                elif all_pass(option.verdicts):
                    first = verdict(UpgradeReason.EarlierAddonFirst, addon.id, addon.latest or "")
                options.append(option)
        return options

    def _drops(self, at: int, member: FleetMember, addon: ClusterAddon) -> Iterator[Option]:
        """Plans that are over or automatic, and those to versions that are blocked by now."""
        for plan in addon.upgrade_plans:
            said: Verdicts = ()
            if is_left_over(plan):
                facts = (addon.id, plan.version or "?", _what(plan))
                said = (verdict(UpgradeReason.AddonPlanDropped, *facts),)
            elif can_be_taken_back(plan) and (why := self._unwanted(member, addon.id, plan)):
                said = (
                    verdict(UpgradeReason.UpgradeNotStarted, plan.version, plan.state or ""),
                    verdict(VersionReason.VersionUnwanted, plan.version, why),
                )
            if said and plan.id:
                step = UpgradeStep(
                    kind=ChangeKind.REMOVE,
                    revision=plan.version,
                    doing=StepKind.CANCEL_ADDON,
                    addon=addon.id,
                    ident=plan.id,
                )
                late = lately(self._world, member.cluster.uuid, step, self._now)
                yield Option(at, step, (*said, *late))

    def _unwanted(self, member: FleetMember, addon: str, plan: OcmUpgrade) -> str:
        """Why the version of a plan is blocked by now; empty: it is not."""
        if not plan.version:
            return ""
        brakes = self._braking.verdicts(member, f"{addon}/{plan.version}", None)
        return why_blocked((self._block(member, addon, plan.version), *brakes))

    def _upgrade(
        self, at: int, member: FleetMember, addon: ClusterAddon, shared: Verdicts
    ) -> Iterator[Option]:
        """Its newest version, where it does not have that."""
        version = addon.latest
        if version is None or version == addon.version:
            return
        name = f"{addon.id}/{version}"
        ground = self._grounds[addon.id]
        mine = ground.members[member.cluster.uuid]
        expedited = self._expedites.of(member, name, self._starts_at)
        window, soak = (expedited[0], expedited[1]) if expedited else (self._window(member), None)
        step = UpgradeStep(
            kind=ChangeKind.APPLY,
            revision=version,
            doing=StepKind.ADDON,
            addon=addon.id,
            starts_at=self._starts_at if window.outcome is Outcome.PASS else None,
        )
        said = (*shared, *self._progress(mine, addon), window, _offer(addon, version))
        if all(each.reason is not VersionReason.VersionUnreadable for each in said):
            said = (
                *said,
                self._block(member, addon.id, version),
                soak or ground.asked.soak(mine, version),
                *ground.asked.quarantine(version),
                ground.ahead.verdict(mine, version),
                *self._braking.verdicts(member, name, step.starts_at),
                *lately(self._world, member.cluster.uuid, step, self._now),
            )
        yield Option(at, step, said)

    def _progress(self, mine: FleetMember, addon: ClusterAddon) -> Iterator[Verdict]:
        """What keeps this add-on, and no other, from being upgraded."""
        if addon.state != READY:
            yield verdict(UpgradeReason.AddonNotReady, addon.id, addon.state)
        if doubled := mine.progress.doubled:
            yield verdict(UpgradeReason.TwoUpgrades, len(doubled), doubled)
            what = f"upgrade plans of add-on {addon.id} for {', '.join(doubled)} at once"
            text = f"- there are {what}; delete all but one"
            self.owner_notices.append(OwnerNotice(mine.cluster.uuid, CLUSTER_WRONG, text))
        for plan in addon.upgrade_plans:
            if is_left_over(plan):
                yield verdict(
                    UpgradeReason.AddonPlanLeft, addon.id, plan.version or "?", _what(plan)
                )

    def _window(self, member: FleetMember) -> Verdict:
        policy, now = member.policy, self._now
        key = (policy.schedule or "", policy.zone)
        if key not in self._windows:
            cron = policy.cron
            fires = None if cron is None else start_of(cron, policy.zone, now, ADDON)
            self._windows[key] = self._in_window(fires)
        return self._windows[key]

    def _in_window(self, fires: Instant | None) -> Verdict:
        if fires is None:
            return verdict(UpgradeReason.ScheduleOver)
        if fires - self._now <= ADDON.most:
            until = Instant(fires - ADDON.least)
            return verdict(UpgradeReason.InWindow, self._starts_at, until=until)
        return verdict(UpgradeReason.AddonOutsideWindow, fires, until=Instant(fires - ADDON.most))

    def _block(self, member: FleetMember, addon: str, version: str) -> Verdict:
        """Whether a label blocks it; only patterns that begin with its id speak of it."""
        name = f"{addon}/{version}"
        owners = (
            (member.policy.blocked, member.called),
            (self._fleet.org_policy.blocked, f"organisation {self._fleet.org.id}"),
        )
        for patterns, owner in owners:
            found = first_found(about(addon, patterns), name)
            if found is not None:
                return verdict(VersionReason.VersionBlocked, name, found, owner)
        return NOT_BLOCKED


def about(addon: str, patterns: Iterable[str]) -> Iterator[str]:
    """Patterns that speak of an add-on: those that begin with its id."""
    begins = (f"{addon}/", f"^{addon}/")
    return (each for each in patterns if each.startswith(begins))


def _what(plan: OcmUpgrade) -> str:
    return plan.state if plan.state == "completed" else plan.schedule_type


def _offer(addon: ClusterAddon, version: str) -> Verdict:
    """Whether the newest version of an add-on is one to go to."""
    for each in (addon.version, version):
        try:
            key_of(each)
        except VersionError:
            return verdict(VersionReason.VersionUnreadable, each)
    if key_of(version) <= key_of(addon.version):
        return verdict(VersionReason.VersionNotNewer, version, addon.version)
    return verdict(VersionReason.VersionOffered, version)


def addon_fleets(fleet: OrganisationFleet, now: Instant) -> list[OrganisationFleet]:
    """A fleet for each add-on that some cluster has, by the id of the add-on."""
    every = {addon.id for member in fleet.members for addon in member.cluster.addons}
    return [_addon_fleet(fleet, ident, now) for ident in sorted(every)]


def _addon_fleet(fleet: OrganisationFleet, ident: str, now: Instant) -> OrganisationFleet:
    pairs = ((member, _installed(member, ident)) for member in fleet.members)
    members = tuple(
        _addon_member(member, addon, now) for member, addon in pairs if addon is not None
    )
    sources = tuple(f"{key}/{ident}" for key in fleet.sources)
    return replace(fleet, members=members, sources=sources, addon=ident)


def _installed(member: FleetMember, ident: str) -> ClusterAddon | None:
    for each in member.cluster.addons:
        if each.id == ident:
            return each
    return ClusterAddon(ident, "") if member.progress.unread else None


def _addon_member(member: FleetMember, addon: ClusterAddon, now: Instant) -> FleetMember:
    """A cluster that has the add-on, as if the add-on were all of it."""
    cluster = replace(
        member.cluster,
        version=addon.version,
        available_upgrades=(addon.latest,) if addon.latest is not None else (),
        hypershift=False,
        upgrade_policies=addon.upgrade_plans,
        node_pools=(),
        addons=(),
        state=addon.state if member.cluster.state == READY else member.cluster.state,
    )
    on = _version_key(addon.version)
    unread, excluded = member.progress.unread, member.excluded
    if excluded is None and on is None:
        excluded = verdict(VersionReason.VersionUnreadable, addon.version)
    return replace(
        member,
        cluster=cluster,
        key=None if unread else on,
        on=on,
        progress=progress_of(cluster, now, unread=unread),
        excluded=excluded,
    )


def _version_key(version: str) -> Key | None:
    try:
        return key_of(version)
    except VersionError:
        return None
