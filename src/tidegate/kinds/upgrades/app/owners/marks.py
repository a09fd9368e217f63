"""An organisation's labels read together with the label that says which of them are ours."""

import asyncio

import msgspec

from tidegate.kinds.upgrades.app.owners.label_writer import read_declared
from tidegate.kinds.upgrades.app.read.survey import Survey
from tidegate.kinds.upgrades.app.read.worlds import world_of
from tidegate.kinds.upgrades.core.labels.label_edit import cluster_holders, org_holder
from tidegate.kinds.upgrades.core.labels.label_sync import MARK, LabelledHolder
from tidegate.kinds.upgrades.core.world import Organisation, UpgradeWorld
from tidegate.kinds.upgrades.ocm.port import ManagedClusters
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant


class MarkedOrganisation(msgspec.Struct, frozen=True):
    """What an organisation and its clusters have for labels, and which of them are ours."""

    world: UpgradeWorld
    labelled: tuple[LabelledHolder, ...]
    # All labels, ours included, to see whether they are still so.
    survey: Survey

    @property
    def complete(self) -> bool:
        """Whether all of it could be read."""
        return not self.survey.unreadable


async def read_marked(
    manager: ManagedClusters, org: Organisation, now: Instant
) -> MarkedOrganisation:
    """All of one organisation; OutsideError if a list cannot be had, or may not be whole."""
    survey, marks = await asyncio.gather(read_declared(manager, org.id), manager.labels(MARK))
    if not marks.complete:
        raise OutsideError(f"organisation {org.id}: labels changed while they were read; ask again")
    theirs = {org.id, *(each.id for each in survey.subscriptions)}
    ours = [
        each
        for each in marks.items
        if each.key == MARK and (each.subscription_id or each.organization_id) in theirs
    ]
    world = world_of(survey, [org], now)
    by_owner = {each.subscription_id or each.organization_id: each.value for each in ours}
    holders = cluster_holders(world)
    clusters = (
        LabelledHolder(holders[each.subscribed_as], each.labels, by_owner.get(each.subscribed_as))
        for each in world.clusters
    )
    own = LabelledHolder(org_holder(world.orgs[0]), world.orgs[0].labels, by_owner.get(org.id))
    excluded = (*survey.unreadable, *marks.unreadable)
    whole = msgspec.structs.replace(survey, labels=(*survey.labels, *ours), unreadable=excluded)
    return MarkedOrganisation(world, (own, *clusters), whole)
