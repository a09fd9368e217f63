"""Labels that people requested, written with the rights of the service.

Right before the first is written they are read: a label that is neither as it was when it was
requested nor as it is to be was changed meanwhile, and none is written. One that is as it is to be
already is left, so that the same task again does no harm.
"""

from tidegate.kinds.upgrades.app.read.survey import PREFIX
from tidegate.kinds.upgrades.core.journal.facts import Job
from tidegate.kinds.upgrades.core.journal.label_state import wanted_labels
from tidegate.kinds.upgrades.core.journal.state import UpgradeState
from tidegate.kinds.upgrades.core.labels.label_edit import ORGANISATION, LabelHolder
from tidegate.kinds.upgrades.core.labels.label_sync import full_key
from tidegate.kinds.upgrades.ocm.port import LabelOwner, LabelType, ManagedClusters
from tidegate.model.errors import OutsideError, StaleError


async def write_labels(manager: ManagedClusters, state: UpgradeState, job: Job) -> None:
    """Write what is requested of one holder; StaleError if it was changed meanwhile.

    OutsideError if one could not be written: what was written before it stays.
    """
    wanted = wanted_labels(state, job)
    if not wanted:
        raise StaleError("the request was withdrawn, or another took its place")
    holder, edits = wanted[0].holder, [each.edit for each in wanted]
    there = await _there(manager, holder)
    for each in edits:
        if there.get(each.label) not in (each.before, each.after):
            raise StaleError(f"{each.label} was changed meanwhile")
    owner = _owner(holder)
    for each in edits:
        if there.get(each.label) == each.after:
            continue
        if each.after is None:
            await manager.delete_label(owner, full_key(each.label))
        else:
            await manager.set_label(owner, full_key(each.label), each.after)


def _owner(holder: LabelHolder) -> LabelOwner:
    of_org = holder.kind == ORGANISATION
    return LabelOwner(LabelType.ORGANIZATION if of_org else LabelType.SUBSCRIPTION, holder.id)


async def _there(manager: ManagedClusters, holder: LabelHolder) -> dict[str, str]:
    """The labels of a holder, by one short list."""
    owner = _owner(holder)
    if owner.type is LabelType.ORGANIZATION:
        found = await manager.labels(PREFIX, owner.type, [holder.id])
    else:
        found = await manager.labels(PREFIX, owner.type, subscription=holder.id)
    if not found.complete or found.unreadable:
        raise OutsideError("its labels could not be read completely")
    mine = (
        each for each in found.items if holder.id in (each.subscription_id, each.organization_id)
    )
    return {each.key.removeprefix(PREFIX): each.value for each in mine}
