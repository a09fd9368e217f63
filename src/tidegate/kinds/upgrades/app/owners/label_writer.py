"""Labels read and written for their owner: all of one organisation, many clusters at once.

The labels of one cluster are written one after the other, and where one fails the rest of them is
skipped; other clusters continue. What was written stays; the same change again writes the rest.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from tidegate.kinds.upgrades.app.read.survey import PREFIX, ClusterDetails, Survey
from tidegate.kinds.upgrades.core.labels.label_edit import (
    ORGANISATION,
    HolderChange,
    LabelEdit,
    LabelHolder,
)
from tidegate.kinds.upgrades.core.labels.label_sync import full_key
from tidegate.kinds.upgrades.ocm.port import LabelOwner, LabelType, ManagedClusters, OcmList
from tidegate.model.errors import OutsideError, StaleError


class WrittenLabel(msgspec.Struct, frozen=True):
    """What became of one edit."""

    holder: LabelHolder
    edit: LabelEdit
    # Why it was not written, or why that is not known; empty: it was.
    why: str = ""
    # Whether it was not even tried, for an earlier one of its holder failed.
    untried: bool = False


Tell = Callable[[WrittenLabel], None]


async def read_declared(manager: ManagedClusters, org: str) -> Survey:
    """All labels of an organisation and its clusters, those without any too; nothing else of them.

    OutsideError if a list cannot be had, or is not known to be whole.
    """
    subscriptions, of_org, of_clusters = await asyncio.gather(
        manager.subscriptions(organizations=[org]),
        manager.labels(PREFIX, LabelType.ORGANIZATION, [org]),
        manager.labels(PREFIX, LabelType.SUBSCRIPTION),
    )
    used = tuple(each for each in subscriptions.items if each.unused is msgspec.UNSET)
    ours = {each.id for each in used}
    clusters = await manager.clusters(sorted(ours))
    readings: tuple[OcmList[Any], ...] = (subscriptions, of_org, of_clusters, clusters)
    if not all(each.complete for each in readings):
        raise OutsideError(f"organisation {org}: lists changed while they were read; ask again")
    mine = tuple(each for each in of_clusters.items if each.subscription_id in ours)
    return Survey(
        labels=(*of_org.items, *mine),
        subscriptions=used,
        clusters=clusters.items,
        details={each.id: ClusterDetails() for each in clusters.items},
        gates=(),
        versions=(),
        unreadable=tuple(each for reading in readings for each in reading.unreadable),
        complete=True,
    )


def check_fresh(survey: Survey, changes: Iterable[HolderChange]) -> None:
    """StaleError if a label that is to change is no longer what it was."""
    there = {
        (each.subscription_id or each.organization_id, each.key.removeprefix(PREFIX)): each.value
        for each in survey.labels
    }
    for change in changes:
        for edit in change.edits:
            if there.get((change.holder.id, edit.label)) != edit.before:
                raise StaleError(
                    f"{change.holder.text()}: {edit.label} was changed meanwhile;"
                    " nothing was written, run it again"
                )


async def write(
    manager: ManagedClusters, changes: Iterable[HolderChange], tell: Tell
) -> tuple[WrittenLabel, ...]:
    """Write changes; the result of each edit is reported as soon as it is known."""
    several = await asyncio.gather(*(_write_one(manager, each, tell) for each in changes))
    return tuple(each for found in several for each in found)


async def _write_one(
    manager: ManagedClusters, change: HolderChange, tell: Tell
) -> list[WrittenLabel]:
    holder = change.holder
    type_ = LabelType.ORGANIZATION if holder.kind == ORGANISATION else LabelType.SUBSCRIPTION
    owner = LabelOwner(type_, holder.id)
    found: list[WrittenLabel] = []
    for edit in change.edits:
        if found and found[-1].why:
            done = WrittenLabel(holder, edit, "not tried", untried=True)
        else:
            done = WrittenLabel(holder, edit, await _try(manager, owner, edit))
        found.append(done)
        tell(done)
    return found


async def _try(manager: ManagedClusters, owner: LabelOwner, edit: LabelEdit) -> str:
    """Why an edit could not be written; empty: it was."""
    try:
        if edit.after is None:
            await manager.delete_label(owner, full_key(edit.label))
        else:
            await manager.set_label(owner, full_key(edit.label), edit.after)
    except OutsideError as error:
        return str(error)
    return ""
