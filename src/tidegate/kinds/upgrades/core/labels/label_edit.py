"""Edits of labels as data: what is asked for, what is there, and the writes that follow.

An edit touches the labels it names and no other: unknown labels stay as they are.
Asked for what is there already, nothing is written. Labels stand without their prefix.

    there {soak-days: 2, owner: me}, asked for {soak-days: 5, sector: ""}: soak-days 2 → 5
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.labels.labels import SECTOR_DEPENDENCIES
from tidegate.kinds.upgrades.core.world import Organisation, UpgradeWorld

SCHEDULE = "schedule"
BLOCKED = "blocked-versions"
APPROVALS = "version-gate-approvals"
INHERIT, PUBLISH = "version-data.inherit", "version-data.publish"
CLUSTER_LABELS = (
    "soak-days",
    "workloads",
    SCHEDULE,
    "schedule-timezone",
    "sector",
    "mutexes",
    BLOCKED,
    APPROVALS,
)
"""What the labels of a cluster may be, in the order in which people think of them."""

ORG_LABELS = (BLOCKED, INHERIT, PUBLISH, "version-gate-approvals")
"""What the labels of an organisation may be, beside those of its sectors."""

# What the labels of a cluster and of an organisation belong to, in an address of a label.
CLUSTER, ORGANISATION = "cluster", "organisation"

Wanted = Mapping[str, str | None]
"""Labels and what they should be; an empty text and None: not there."""


class LabelHolder(msgspec.Struct, frozen=True):
    """Who has labels: a cluster, under its subscription, or an organisation."""

    kind: str
    id: str
    called: str

    def text(self) -> str:
        """What people call it: cluster/pay-prod-1."""
        return f"{self.kind}/{self.called}"


class LabelEdit(msgspec.Struct, frozen=True):
    """One label that changes."""

    label: str
    before: str | None  # None: not there
    after: str | None  # None: to be taken away


class HolderChange(msgspec.Struct, frozen=True):
    """All labels of one holder that change, in the order in which they are written."""

    holder: LabelHolder
    edits: tuple[LabelEdit, ...]


def cluster_holders(world: UpgradeWorld) -> dict[str, LabelHolder]:
    """The holder of each cluster's labels, by subscription; equal names get an external id."""
    names = Counter((each.org, each.name) for each in world.clusters)
    return {
        each.subscribed_as: LabelHolder(
            CLUSTER,
            each.subscribed_as,
            each.name if names[each.org, each.name] == 1 else f"{each.name} ({each.uuid})",
        )
        for each in world.clusters
    }


def org_holder(org: Organisation) -> LabelHolder:
    """Who has the labels of an organisation."""
    return LabelHolder(ORGANISATION, org.id, org.id)


def edits_of(there: Mapping[str, str], wanted: Wanted) -> tuple[LabelEdit, ...]:
    """What has to be written so that the labels are what is wanted, and nothing more."""
    found: list[LabelEdit] = []
    for label, value in wanted.items():
        before, after = there.get(label), value
        # Only a sector means something with nothing in it: that it is there, and waits for none.
        if not value and not label.startswith(SECTOR_DEPENDENCIES):
            after = before if value == "" and not before else None
        if before != after:
            found.append(LabelEdit(label, before, after))
    return ordered(found)


def ordered(edits: Iterable[LabelEdit]) -> tuple[LabelEdit, ...]:
    """Edits of one holder in the order in which they are written."""
    return tuple(sorted(edits, key=_turn))


def _turn(edit: LabelEdit) -> tuple[int, str]:
    """The schedule, without which no cluster is upgraded, is written last and taken away first.

    So no cluster is upgraded by a half-written policy.
    """
    removes = edit.after is None
    if edit.label == SCHEDULE:
        return (0 if removes else 3), edit.label
    return (2 if removes else 1), edit.label


def replacing(there: Mapping[str, str], wanted: Wanted, known: Iterable[str]) -> Wanted:
    """The same, with all known labels that are there and not asked for taken away."""
    return {**{label: None for label in known if label in there}, **wanted}


def with_edits(there: Mapping[str, str], edits: Iterable[LabelEdit]) -> dict[str, str]:
    """The labels as they are once all edits are written."""
    labels = dict(there)
    for each in edits:
        labels.pop(each.label, None)
        if each.after is not None:
            labels[each.label] = each.after
    return labels


def changed(world: UpgradeWorld, changes: Iterable[HolderChange]) -> UpgradeWorld:
    """The world as it is once all changes are written."""
    every = list(changes)
    of_orgs = {each.holder.id: each.edits for each in every if each.holder.kind == ORGANISATION}
    of_clusters = {each.holder.id: each.edits for each in every if each.holder.kind == CLUSTER}
    return msgspec.structs.replace(
        world,
        orgs=tuple(
            msgspec.structs.replace(org, labels=with_edits(org.labels, of_orgs.get(org.id, ())))
            for org in world.orgs
        ),
        clusters=tuple(
            msgspec.structs.replace(
                each, labels=with_edits(each.labels, of_clusters.get(each.subscribed_as, ()))
            )
            for each in world.clusters
        ),
    )
