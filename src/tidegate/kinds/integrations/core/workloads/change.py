"""A change to one object of a cluster: what is done, why, what differs and whether pods restart."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.kinds.integrations.core.reasons import ObjectReason
from tidegate.kinds.integrations.core.workloads.difference import ObjectDifference
from tidegate.kinds.integrations.core.workloads.workloads import Manifest
from tidegate.model.verdict import Verdict

Key = tuple[str, str, str, str]
_IMAGE = (ObjectReason.StartsAsOthers, ObjectReason.ImageStays, ObjectReason.ImageLeftToRollout)


class ObjectAction(StrEnum):
    """What becomes of an object."""

    CREATE = "create"
    CONFIGURE = "configure"
    ADOPT = "adopt"  # it is there and not ours: with consent it will be
    REMOVE = "remove"
    UNCHANGED = "unchanged"
    STAGED = "staged"  # only its image differs, and its rollout moves that
    HELD = "held"  # a brake covers it
    RESHARD = "reshard"  # two would own a key: the engine lets the old ones end first
    CONFLICT = "conflict"  # it, or a field of it, belongs to another manager
    REFUSED = "refused"  # the server does not accept it
    KEPT = "kept"  # declared no more, and not removed now
    UNREAD = "unread"  # what is there could not be read
    WAITING = "waiting"  # it is not its turn, or is left to another way
    UNKNOWN = "unknown"  # what it is to run is not known


# What is sent to a cluster; the rest is only shown.
ACTING = frozenset(
    (ObjectAction.CREATE, ObjectAction.CONFIGURE, ObjectAction.ADOPT, ObjectAction.REMOVE)
)


class FoundObject(msgspec.Struct, frozen=True, kw_only=True):
    """One object as it was read."""

    cluster: str
    namespace: str
    kind: str
    name: str
    # Tidegate applied it, and still owns some of its fields.
    ours: bool
    document: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return self.cluster, self.namespace, self.kind, self.name


class ClusterReading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one cluster."""

    found: tuple[FoundObject, ...] = ()
    # What could not be read, in words, by namespace; "" is everywhere else.
    gaps: Mapping[str, str] = {}
    # Why nothing could be read; empty: something was.
    error: str = ""
    # The digest all pods of a workload say they run, where they were read.
    pulled: Mapping[Key, str] = {}
    # What else to know; it stops nothing.
    notes: tuple[str, ...] = ()
    # Units that are being split another way right now, and how.
    resharding: Mapping[str, str] = {}


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one object, and why."""

    verb: ObjectAction
    cluster: str
    namespace: str
    kind: str
    name: str
    # What each gate says of it; the last one decides what becomes of it.
    verdicts: tuple[Verdict, ...] = ()
    integration: str = ""
    # As a target is named: `terraform-resources/ter-int-dev`; empty: it is for the namespace.
    shard: str = ""
    # What it is to be; None: nothing.
    manifest: Manifest | None = None
    differences: tuple[ObjectDifference, ...] = ()
    restarts: bool = False
    # It was made from this very manifest and changed since: what is put back was ours.
    drifted: bool = False
    # The image it has once this is done; empty: it runs none, or it is not known.
    image: str = ""

    @property
    def target(self) -> str:
        """What brakes and questions call it: its shard, or the object itself."""
        return self.shard or self.where

    @property
    def reason(self) -> str:
        """Why, as a sentence; empty where nothing is to be done."""
        if self.verb is ObjectAction.UNCHANGED or not self.verdicts:
            return ""
        return sentence(self.verdicts[-1])

    @property
    def held(self) -> str:
        """Which image it keeps although another is wanted, and why; empty: it has the wanted."""
        if self.verb is ObjectAction.HELD:
            return ""
        kept = (each for each in self.verdicts if each.reason in _IMAGE)
        return next(map(sentence, kept), "")

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return self.cluster, self.namespace, self.kind, self.name

    @property
    def where(self) -> str:
        """`deployment/name`."""
        return f"{self.kind.lower()}/{self.name}"


# Within a namespace: what is called before what calls it, and the old only once the new is there.
_RANK = {"Service": 0}


def rank(change: PlannedChange) -> tuple[int, str, str]:
    """Where a change comes in its namespace."""
    last = (
        2 if change.verb in (ObjectAction.REMOVE, ObjectAction.KEPT) else _RANK.get(change.kind, 1)
    )
    return last, change.kind, change.name
