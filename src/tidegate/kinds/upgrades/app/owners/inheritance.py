"""Soak that organisations share: inherited from others, and published to others."""

import asyncio
from collections.abc import Mapping, Sequence

from tidegate.kinds.upgrades.app.owners.changes import LabelPlan, organisation_change
from tidegate.kinds.upgrades.app.owners.organisation import (
    DeclaredOrganisation,
    OwnerDocument,
    listed_items,
    read_organisation,
)
from tidegate.kinds.upgrades.app.read.survey import PREFIX
from tidegate.kinds.upgrades.core.labels.label_edit import INHERIT, PUBLISH, Wanted
from tidegate.kinds.upgrades.core.labels.labels import split
from tidegate.kinds.upgrades.core.world import Organisation
from tidegate.kinds.upgrades.ocm.port import LabelType, ManagedClusters
from tidegate.kinds.upgrades.wire.labels_doc import inheritance_document
from tidegate.model.document import Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.time import Instant

DIRECTIONS = {"inherit": INHERIT, "publish": PUBLISH}

Sides = Mapping[str, Mapping[str, str]]
"""The version-data labels of organisations that are visible, by id."""


class InheritanceSide(Part, frozen=True, kw_only=True):
    """Another organisation, and whether its labels agree; both must, or nothing is inherited."""

    direction: str
    organisation: str
    # Null: it is not visible.
    agrees: bool | None
    text: str


class Inheritance(OwnerDocument, frozen=True, kw_only=True):
    """The organisations that soak is inherited from, and published to."""

    org: str
    # As `inheritance set -f` reads them.
    inherit: tuple[str, ...]
    publish: tuple[str, ...]
    sides: tuple[InheritanceSide, ...]


async def read_inheritance_of(
    manager: ManagedClusters, org: Organisation, now: Instant
) -> Inheritance:
    """The organisations that soak is shared with, and whether they agree."""
    declared, others = await asyncio.gather(
        read_organisation(manager, org, now), _version_data(manager)
    )
    return list_inheritance(declared, others, "not visible to your token")


def list_inheritance(declared: DeclaredOrganisation, others: Sides, unseen: str) -> Inheritance:
    """The organisations that soak is shared with; `unseen`: what is said of one not in `others`."""
    document = inheritance_document(declared.org.labels)
    return Inheritance(
        warnings=declared.warnings,
        org=declared.org.id,
        inherit=tuple(document["inherit"]),
        publish=tuple(document["publish"]),
        sides=tuple(
            _side(declared.org.id, each, others.get(each), direction, unseen)
            for direction, label in DIRECTIONS.items()
            for each in listed_items([declared.org.labels.get(label, "")])
        ),
    )


async def _version_data(manager: ManagedClusters) -> Sides:
    found: dict[str, dict[str, str]] = {}
    reading = await manager.labels(f"{PREFIX}version-data.", LabelType.ORGANIZATION)
    for each in reading.items:
        found.setdefault(each.organization_id, {})[each.key.removeprefix(PREFIX)] = each.value
    return found


def _side(
    own: str, name: str, other: Mapping[str, str] | None, direction: str, unseen: str
) -> InheritanceSide:
    inherits = direction == "inherit"
    agrees: bool | None = None
    text = unseen
    if other is not None:
        agrees = own in listed_items([other.get(PUBLISH if inherits else INHERIT, "")])
        if inherits:
            text = "publishes to you" if agrees else f"does not publish to {own}: ask them to"
        else:
            text = "inherits from you" if agrees else "does not inherit from you"
    return InheritanceSide(direction=direction, organisation=name, agrees=agrees, text=text)


def set_inheritance(declared: DeclaredOrganisation, wanted: Wanted) -> LabelPlan:
    """Set the organisations of each side that is named, with a note on what theirs must do."""
    there = listed_items([declared.org.labels.get(INHERIT, "")])
    notes = tuple(
        f"{each} must publish to {declared.org.id}; until then nothing is inherited, and sectors"
        " that rely on it wait"
        for each in listed_items([wanted.get(INHERIT) or ""])
        if each not in there and each != declared.org.id
    )
    return LabelPlan(organisation_change(declared, wanted), notes)


def add_inheritance(declared: DeclaredOrganisation, more: Mapping[str, Sequence[str]]) -> LabelPlan:
    """Add organisations to each side, by label."""
    wanted = {
        label: ",".join(dict.fromkeys((*_there(declared, label), *items)))
        for label, items in more.items()
    }
    return set_inheritance(declared, wanted)


def remove_inheritance(
    declared: DeclaredOrganisation, fewer: Mapping[str, Sequence[str]]
) -> LabelPlan:
    """Remove organisations from each side, by label; UserError for one that is not there."""
    wanted: dict[str, str] = {}
    for label, items in fewer.items():
        there = _there(declared, label)
        known = [each.strip() for each in there]
        for each in items:
            if each not in known:
                hint = nearest_or_all(each, known)
                raise UserError((Problem(label, f'"{each}" is not there', hint),))
        wanted[label] = ",".join(each for each in there if each.strip() not in items)
    return set_inheritance(declared, wanted)


def _there(declared: DeclaredOrganisation, label: str) -> tuple[str, ...]:
    return split(declared.org.labels.get(label)) or ()
