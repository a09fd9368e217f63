"""Objects that one revision names and another does not: what a move deletes, and what it leaves.

An agent that gets a new revision deletes what the one before made and the new one no longer names,
if the new one says so (`pruneObjectBehavior`). It does so even where what takes the place of an
object cannot be created. Going back makes such an object anew: it is another one, with what the
earlier revision says of it and nothing else that it held.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tidegate.kinds.policies.core.revision import Revision

_KEEPS = "None"


class MoveLosses(msgspec.Struct, frozen=True):
    """What a move from one revision to another does to objects that it no longer names."""

    deleted: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def losses_of(before: Revision, after: Revision) -> MoveLosses:
    """What moving a cluster does to objects; a policy that only informs made none."""
    if before.is_inform:
        return MoveLosses()
    deleted: list[str] = []
    left: list[str] = []
    for old, new in zip(before.bodies, after.bodies, strict=False):
        still = set(_objects(new))
        prunes = str(new.get("pruneObjectBehavior") or _KEEPS) != _KEEPS
        (deleted if prunes else left).extend(each for each in _objects(old) if each not in still)
    return MoveLosses(tuple(sorted(set(deleted))), tuple(sorted(set(left))))


def words_of_return(before: Revision, back: Revision) -> str:
    """What a cluster that returns lost by the revision it leaves, and what of that stays on it."""
    lost, stays = losses_of(back, before).deleted, losses_of(before, back).left
    words = f"; deleted by {before.name} and made anew: {', '.join(lost)}" if lost else ""
    return words + (f"; made by {before.name} and left: {', '.join(stays)}" if stays else "")


def _objects(body: Mapping[str, Any]) -> Iterator[str]:
    """The objects that a template wants, by kind, namespace and name, where it names them."""
    for each in body.get("object-templates") or ():
        wanted = (each.get("objectDefinition") or {}) if isinstance(each, Mapping) else {}
        metadata = wanted.get("metadata") or {}
        name = metadata.get("name")
        if name and str(each.get("complianceType") or "").lower() != "mustnothave":
            place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
            yield f"{wanted.get('kind')} {place}{name}"
