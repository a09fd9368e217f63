"""An organisation as its owner sees it, from the last recorded survey; no API is called.

A worker reads clusters without a label once an hour: a new one may not be known here. Display names
are not recorded, so a cluster is called by its name and its ids.
"""

from collections.abc import Callable

import msgspec

from tidegate.access.roles import Caller, Reached
from tidegate.app.access.sight import mentions
from tidegate.app.partitions.decision import Decision
from tidegate.app.workers import trouble_lines
from tidegate.kinds.upgrades.app.owners.organisation import DeclaredOrganisation
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.labels.label_edit import changed, cluster_holders
from tidegate.kinds.upgrades.core.labels.label_requests import labels_there
from tidegate.kinds.upgrades.core.rules.fleet import brake_labels
from tidegate.kinds.upgrades.core.service import PARTITION
from tidegate.kinds.upgrades.core.world import ManagedCluster, Organisation, UpgradeWorld
from tidegate.model.errors import NotFoundError
from tidegate.model.time import SECOND, Duration, Instant, format_age

# A survey that is older may miss labels: it is made every ten minutes, unless set otherwise.
OLD = Duration(15 * 60 * SECOND)


class RecordedOrganisation(msgspec.Struct, frozen=True):
    """One organisation with all its clusters, and which of them a caller sees."""

    one: Decision
    state: UpgradeState
    # With its clusters without labels.
    world: UpgradeWorld
    sees: Callable[[ManagedCluster], bool]

    @property
    def org(self) -> Organisation:
        """The organisation."""
        return self.world.orgs[0]

    @property
    def expected(self) -> UpgradeWorld:
        """The world as it is once all is written that is requested and was not overtaken."""
        there = labels_there(self.org, self.world.clusters)
        return changed(self.world, self.state.requested.upheld(there).changes)

    def declared(self, world: UpgradeWorld, warnings: tuple[str, ...] = ()) -> DeclaredOrganisation:
        """What it declares in a world, as far as the caller sees it.

        Which clusters are seen rests on the labels there are, and not on those that are requested.
        """
        seen = {each.subscribed_as for each in self.world.clusters if self.sees(each)}
        mine = tuple(each for each in world.clusters if each.subscribed_as in seen)
        return DeclaredOrganisation(
            world.orgs[0],
            msgspec.structs.replace(world, clusters=mine),
            {each.subscribed_as: each.name for each in mine},
            cluster_holders(world),
            warnings,
        )

    def shown(self, text: str) -> bool:
        """Whether a text names no cluster that the caller does not see."""
        hidden = {
            name
            for each in self.world.clusters
            if not self.sees(each)
            for name in (each.name, each.uuid, f"cluster/{each.name}")
        }
        return not (hidden and mentions(text, hidden))

    def gaps(self, now: Instant) -> tuple[str, ...]:
        """What keeps the recorded survey from being what is there now."""
        return tuple(trouble_lines([self.one.worker], now)) or self.age(now)

    def age(self, now: Instant) -> tuple[str, ...]:
        """How old the recorded survey is, if labels may have changed since."""
        read_at = self.state.surveyed_at
        if read_at is None or now - read_at <= OLD:
            return ()
        return (f"labels are shown as they were read {format_age(now - read_at)} ago",)


def recorded_organisation(one: Decision, caller: Caller) -> RecordedOrganisation:
    """The organisation of a partition; NotFoundError if it is none."""
    if one.rules.word != PARTITION:
        hint = f"it is a {one.rules.noun}; write {PARTITION}/ENV/ORG"
        raise NotFoundError("organisation", one.partition, hint)
    world: UpgradeWorld = one.world.world
    every = (*world.clusters, *one.state.unlabelled.values())
    world = msgspec.structs.replace(world, clusters=every)
    org, whole = world.orgs[0], caller.sees_all_of(one.partition)

    def sees(cluster: ManagedCluster) -> bool:
        return whole or caller.sees_target(reached_cluster(one.partition, org, cluster))

    return RecordedOrganisation(one, one.state, world, sees)


def reached_cluster(partition: str, org: Organisation, cluster: ManagedCluster) -> Reached:
    """A cluster as grants see it: its sector is its group."""
    labels = brake_labels(org, cluster)
    return Reached(partition, labels.get("sector", ""), cluster.name, labels)
