"""The facts in which a survey differs from what is known: only these are recorded."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from tidegate.kinds.upgrades.app.surveys import OrganisationReading
from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.journal.facts import SoakSample, Surveyed
from tidegate.kinds.upgrades.core.journal.state import UpgradeState, perhaps_asked
from tidegate.kinds.upgrades.core.rules.addons import addon_fleets
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet, gather
from tidegate.kinds.upgrades.core.rules.observations import minima_of, seen_in
from tidegate.kinds.upgrades.core.service import Registration
from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld
from tidegate.model.time import Instant, format_instant


def news_of(
    state: UpgradeState, look: OrganisationReading, registration: Registration, now: Instant
) -> Surveyed:
    """What a look shows that is not known; that nothing is new is a fact too."""
    world = look.world
    org, others = world.orgs[0], world.orgs[1:]
    if state.org is not None and state.done_at.get(org.id, look.began_at - 1) >= look.began_at:
        org = msgspec.structs.replace(org, labels=state.org.labels)
    known = state.clusters
    clusters = {
        each.uuid: _whole(world, known.get(each.uuid), _dated(known.get(each.uuid), each, now))
        for each in world.clusters
    }
    # What was done since the look began is not in it.
    later = {uuid for uuid, at in state.done_at.items() if at >= look.began_at}
    clusters |= {uuid: known[uuid] for uuid in later & known.keys()}
    if state.planned_at is not None and state.planned_at >= look.began_at:
        clusters |= perhaps_asked(state)
    seen, minima, addon_minima = _seen(world, clusters, now)
    new, unlabelled_gone = _unlabelled(state, look, later | clusters.keys())
    return Surveyed(
        org=_new(state.org, org),
        rules=_new(state.rules, registration.rules),
        others=_new(state.others, others),
        gates=_new(state.gates, world.gates),
        minima=_new(state.minima, minima),
        addon_minima=_new(state.addon_minima, {**state.addon_minima, **addon_minima}),
        clusters=tuple(each for uuid, each in clusters.items() if known.get(uuid) != each),
        gone=() if org.partial else tuple(sorted(known.keys() - clusters.keys())),
        seen=tuple(each for uuid, each in seen.items() if state.seen.get(uuid) != each),
        unseen=tuple(sorted(state.seen.keys() - seen.keys())),
        unread=dict(world.unread),
        health_fails=world.health_fails,
        unlabelled=new,
        unlabelled_gone=unlabelled_gone,
    )


def _new(known: Any, found: Any) -> Any:
    """What is found, if it is not known; None if it is."""
    return None if found == known else found


def _unlabelled(
    state: UpgradeState, look: OrganisationReading, known_better: Collection[str]
) -> tuple[tuple[ManagedCluster, ...], tuple[str, ...]]:
    """Clusters without labels that are new or changed, and those that are gone."""
    if look.unlabelled is None:
        return (), ()
    known, found = state.unlabelled, {each.uuid: each for each in look.unlabelled}
    new = (each for uuid, each in found.items() if known.get(uuid) != each)
    return (
        tuple(each for each in new if each.uuid not in known_better),
        tuple(sorted(known.keys() - found.keys() - set(known_better))),
    )


def _dated(known: ManagedCluster | None, found: ManagedCluster, now: Instant) -> ManagedCluster:
    """A cluster with the moment at which each of its alerts was first seen."""
    if not found.alerts:
        return found
    before = known.alerts_since if known is not None else {}
    since = {each: before.get(each, format_instant(now)) for each in found.alerts}
    return msgspec.structs.replace(found, alerts_since=since)


def _whole(
    world: UpgradeWorld, known: ManagedCluster | None, found: ManagedCluster
) -> ManagedCluster:
    """A cluster that could not be read whole, with what was last known of the rest."""
    if known is None or found.uuid not in world.unread:
        return found
    return msgspec.structs.replace(
        found,
        upgrade_policies=known.upgrade_policies,
        node_pools=known.node_pools,
        gate_agreements=known.gate_agreements,
        addons=known.addons,
    )


def _seen(
    world: UpgradeWorld, clusters: Mapping[str, ManagedCluster], now: Instant
) -> tuple[dict[str, SoakSample], Minima | None, dict[str, Minima]]:
    """What counts for soak, the lowest versions, and the same of add-ons."""
    looked = msgspec.structs.replace(world, clusters=tuple(clusters.values()), read_at=now)
    seen: dict[str, SoakSample] = {}
    minima: Minima | None = None
    lowest: dict[str, Minima] = {}
    for fleet in gather(looked, now):
        minima = minima_of(fleet)
        addons = _addons(looked, fleet, lowest, now) if fleet.org.addons else {}
        for each in seen_in(looked, fleet, now):
            snapshot = each.snapshot
            seen[each.uuid] = SoakSample(
                uuid=each.uuid,
                name=each.name,
                version=snapshot.version,
                workloads=snapshot.workloads,
                healthy=snapshot.healthy,
                unique=each.unique,
                addons=addons.get(each.uuid, {}),
            )
    return seen, minima, lowest


def _addons(
    looked: UpgradeWorld, fleet: OrganisationFleet, lowest: dict[str, Minima], now: Instant
) -> dict[str, dict[str, tuple[str, bool]]]:
    """The add-ons of each cluster: their versions, and whether they are well."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    for each in addon_fleets(fleet, now):
        if (minima := minima_of(each)) is not None:
            lowest[each.addon] = minima
        for one in seen_in(looked, each, now):
            mine = found.setdefault(one.uuid, {})
            mine[each.addon] = (one.snapshot.version, one.snapshot.healthy)
    return found
