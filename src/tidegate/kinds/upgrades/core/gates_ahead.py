"""The version gates before each cluster, of any kind, and who agrees to them.

Before a minor version there may be gates. The service agrees to those that a cluster's labels
approve; all others are for its owner. Kinds that the service does not know hold nothing here, but
OpenShift Cluster Manager may refuse the upgrade until they are agreed to.
"""

from collections.abc import Iterable

import msgspec

from tidegate.kinds.upgrades.core.rules.agreements import APPROVER
from tidegate.kinds.upgrades.core.rules.fleet import gather
from tidegate.kinds.upgrades.core.rules.gates import KINDS, approved, on_the_way
from tidegate.kinds.upgrades.core.versions import is_version, minor_of
from tidegate.kinds.upgrades.core.world import ManagedCluster, MinorGate, UpgradeWorld
from tidegate.model.time import Instant

NO_GATE = "none"
"""What is written in place of kinds of gates, to have the service agree to none."""


def approvals(names: Iterable[str]) -> list[str]:
    """Kinds of gates as labels have them, from their short names too: ocp, gate-sts."""
    short = {each.rpartition("/gate-")[2]: each for each in KINDS}
    return [short.get(each.removeprefix("gate-"), each) for each in names]


def strangers(items: Iterable[str]) -> list[str]:
    """Approvals that name no kind of gate that the service knows, and so do nothing."""
    return [each for each in items if each not in (*KINDS, NO_GATE)]


class PendingGate(msgspec.Struct, frozen=True):
    """One gate before one cluster."""

    cluster: ManagedCluster
    gate: MinorGate
    near: bool  # a version behind it is offered now
    agreed: bool
    approved: bool  # labels have the service agree, once a version behind it is offered
    known: bool  # the service knows its kind


def ahead_of(
    world: UpgradeWorld, clusters: Iterable[ManagedCluster], now: Instant
) -> list[PendingGate]:
    """The gates before clusters, by cluster and minor version; none before a version of no kind."""
    approvals = _approvals(world, now)
    found: list[PendingGate] = []
    for cluster in clusters:
        if not is_version(cluster.version):
            continue
        minors = {minor_of(each) for each in cluster.available_upgrades if is_version(each)}
        gates = on_the_way(cluster, world.gates)
        found += [
            PendingGate(
                cluster,
                gate,
                gate.prefix in minors,
                gate.id in cluster.gate_agreements,
                gate.label in KINDS and gate.label in approvals.get(cluster.uuid, ()),
                gate.label in KINDS,
            )
            for gate in sorted(gates, key=lambda one: (_order(one), one.id))
        ]
    return found


def _order(gate: MinorGate) -> tuple[int, ...]:
    return tuple(int(each) if each.isdigit() else 0 for each in gate.prefix.split("."))


def _approvals(world: UpgradeWorld, now: Instant) -> dict[str, tuple[str, ...]]:
    """The kinds of gates that the service agrees to by itself, by external id."""
    return {
        member.cluster.uuid: approved(fleet, member)
        for fleet in gather(world, now, APPROVER)
        for member in fleet.members
        if member.excluded is None
    }
