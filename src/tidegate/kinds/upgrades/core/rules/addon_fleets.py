"""Each add-on of an organisation as a fleet: the clusters that have it, by the add-on's versions.

Soak, sectors, failures and what is inherited are then worked out for an add-on as for clusters.
A cluster that could not be read may have any add-on in any version, and so counts for each.
"""

from msgspec.structs import replace

from tidegate.kinds.upgrades.core.reasons.version_reasons import VersionReason
from tidegate.kinds.upgrades.core.rules.fleet import READY, FleetMember, OrganisationFleet
from tidegate.kinds.upgrades.core.rules.progress import progress_of
from tidegate.kinds.upgrades.core.versions import Key, VersionError, key_of
from tidegate.kinds.upgrades.core.world import ClusterAddon
from tidegate.model.time import Instant
from tidegate.model.verdict import verdict


def addon_fleets(fleet: OrganisationFleet, now: Instant) -> list[OrganisationFleet]:
    """A fleet for each add-on that some cluster has, by the id of the add-on."""
    every = {addon.id for member in fleet.members for addon in member.cluster.addons}
    return [_fleet(fleet, ident, now) for ident in sorted(every)]


def _fleet(fleet: OrganisationFleet, ident: str, now: Instant) -> OrganisationFleet:
    pairs = ((member, _installed(member, ident)) for member in fleet.members)
    members = tuple(_member(member, addon, now) for member, addon in pairs if addon is not None)
    sources = tuple(f"{key}/{ident}" for key in fleet.sources)
    return replace(fleet, members=members, sources=sources, addon=ident)


def _installed(member: FleetMember, ident: str) -> ClusterAddon | None:
    for each in member.cluster.addons:
        if each.id == ident:
            return each
    return ClusterAddon(ident, "") if member.progress.unread else None


def _member(member: FleetMember, addon: ClusterAddon, now: Instant) -> FleetMember:
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
    on = _key(addon.version)
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


def _key(version: str) -> Key | None:
    try:
        return key_of(version)
    except VersionError:
        return None
