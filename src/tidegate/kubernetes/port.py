"""A Kubernetes cluster as Tidegate sees it: what is there, and a way to change it object by object.

Every implementation keeps the same contract (tests/contract/test_cluster.py). *Ours* is an object
that Tidegate applied, or set entries of, and no other manager took over since, by the server's own
record of which manager owns which field: a label can be copied, an entry there cannot. Nothing else
is deleted.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from tidegate.model.errors import OutsideError, StaleError
from tidegate.model.problem import shown

# By this name the server knows whose fields are whose.
MANAGER = "tidegate"

# A document as the server keeps it; what is in it is between its author and the server.
Document = Mapping[str, Any]
# Values of `data` by key; None: no entry.
Entries = Mapping[str, str | None]


class ResourceKind(msgspec.Struct, frozen=True, order=True):
    """A kind of object, and where the server keeps it."""

    api_version: str
    name: str
    plural: str


DEPLOYMENT = ResourceKind("apps/v1", "Deployment", "deployments")
STATEFUL_SET = ResourceKind("apps/v1", "StatefulSet", "statefulsets")
REPLICA_SET = ResourceKind("apps/v1", "ReplicaSet", "replicasets")
CRON_JOB = ResourceKind("batch/v1", "CronJob", "cronjobs")
JOB = ResourceKind("batch/v1", "Job", "jobs")
SERVICE = ResourceKind("v1", "Service", "services")
CONFIG_MAP = ResourceKind("v1", "ConfigMap", "configmaps")
VOLUME_CLAIM = ResourceKind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
POD = ResourceKind("v1", "Pod", "pods")

EVENT = ResourceKind("events.k8s.io/v1", "Event", "events")

_POLICY = "policy.open-cluster-management.io"
_CLUSTER = "cluster.open-cluster-management.io"
POLICY = ResourceKind(f"{_POLICY}/v1", "Policy", "policies")
POLICY_SET = ResourceKind(f"{_POLICY}/v1beta1", "PolicySet", "policysets")
PLACEMENT_BINDING = ResourceKind(f"{_POLICY}/v1", "PlacementBinding", "placementbindings")
PLACEMENT = ResourceKind(f"{_CLUSTER}/v1beta1", "Placement", "placements")
PLACEMENT_DECISION = ResourceKind(f"{_CLUSTER}/v1beta1", "PlacementDecision", "placementdecisions")
MANAGED_CLUSTER = ResourceKind(f"{_CLUSTER}/v1", "ManagedCluster", "managedclusters")
ROLLOUT = ResourceKind("tidegate.dev/v1alpha1", "Rollout", "rollouts")
# Of the Topology Aware Lifecycle Manager, which enforces policies in batches.
CLUSTER_GROUP_UPGRADE = ResourceKind(
    "ran.openshift.io/v1alpha1", "ClusterGroupUpgrade", "clustergroupupgrades"
)

KINDS: Mapping[tuple[str, str], ResourceKind] = {
    (kind.api_version, kind.name): kind
    for kind in (
        DEPLOYMENT,
        STATEFUL_SET,
        REPLICA_SET,
        CRON_JOB,
        JOB,
        SERVICE,
        CONFIG_MAP,
        VOLUME_CLAIM,
        POD,
        EVENT,
        POLICY,
        POLICY_SET,
        PLACEMENT_BINDING,
        PLACEMENT,
        PLACEMENT_DECISION,
        MANAGED_CLUSTER,
        ROLLOUT,
        CLUSTER_GROUP_UPGRADE,
    )
}


class Object(msgspec.Struct, frozen=True):
    """One object as it was read."""

    kind: ResourceKind
    namespace: str
    name: str
    # Another object of the same name has another one.
    uid: str
    # The server's, and of no meaning elsewhere: it differs once anything does. Empty for one
    # that a dry run would have made.
    version: str
    # Tidegate applied it or set entries of it, and still owns some of its fields.
    ours: bool
    # Without the book of owners.
    document: Document

    @property
    def where(self) -> str:
        """`deployment/namespace/name`."""
        return f"{self.kind.name.lower()}/{self.namespace}/{self.name}"


class ObjectReading(msgspec.Struct, frozen=True):
    """What a namespace holds of some kinds; every kind is one consistent reading."""

    objects: tuple[Object, ...]
    # Where to watch from, by the name of the kind.
    versions: Mapping[str, str]
    # What could not be read, in words: with gaps nothing is concluded from absence.
    gaps: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether what is not in it is not there."""
        return not self.gaps


class ObjectPage(msgspec.Struct, frozen=True):
    """Some of the objects of one kind."""

    objects: tuple[Object, ...]
    # Where to watch from, once the last page was read; all pages have the same.
    version: str


class Take(StrEnum):
    """What to do about fields of other managers that have another value."""

    NOTHING = "nothing"  # ConflictError
    SHARED = "shared"  # those that are ours as well are set; for others ConflictError
    BACK = "back"  # in an object that is ours, they are set again; elsewhere ConflictError
    OVER = "over"  # they are set: how an object is adopted


class ApplyOutcome(StrEnum):
    """What applying did; or would do."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"


class FieldConflict(msgspec.Struct, frozen=True):
    """A field that another manager owns, as the server writes both."""

    field: str
    manager: str


class Applied(msgspec.Struct, frozen=True):
    """What applying did, and the object after it."""

    outcome: ApplyOutcome
    object: Object
    # Fields that belonged to other managers.
    taken: tuple[FieldConflict, ...] = ()


class ObjectEvent(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class WatchEvent(msgspec.Struct, frozen=True):
    """One thing that happened, and the object after it; of a deleted one, the last that was."""

    change: ObjectEvent
    object: Object


class ConflictError(StaleError):
    """Fields belong to other managers."""

    def __init__(self, where: str, conflicts: tuple[FieldConflict, ...]) -> None:
        self.conflicts = conflicts
        stated = ", ".join(f"{each.field} belongs to {each.manager}" for each in conflicts)
        super().__init__(f"{where}: {stated}; leave it out, or take it back")


class ExpiredError(StaleError):
    """The server no longer knows what happened since then: read anew."""


class ObjectRefusedError(OutsideError):
    """The server does not accept this document, however often it is sent."""


class AbsentError(OutsideError):
    """The server has nothing at this place: no such kind, or no such namespace."""


class NotAllowedError(OutsideError):
    """Our account may not do this."""


class Cluster(Protocol):
    """One cluster. Every call may take long, or fail with OutsideError, whose text names it."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    def under(self, manager: str) -> "Cluster":
        """The same cluster, by the same connections, where we apply under another name.

        What one manager applies and then leaves out is removed; what another applied is not.
        """
        ...

    async def read(
        self, namespace: str, kinds: Sequence[ResourceKind], selector: str = ""
    ) -> ObjectReading:
        """All objects of some kinds, ours or not; those a label selector chooses, if one is given.

        Of all namespaces if it is empty. OutsideError if no kind could be read.
        """
        ...

    def pages(
        self, namespace: str, kind: ResourceKind, selector: str = ""
    ) -> AsyncGenerator[ObjectPage, None]:
        """The same of one kind, page by page, all of one moment: no caller need hold all of it.

        ExpiredError if that moment is too long ago: begin again. Until the last page was read,
        nothing is concluded from absence. Close it when done (`aclosing`).
        """
        ...

    async def get(self, kind: ResourceKind, namespace: str, name: str) -> Object | None:
        """One object; None if there is none."""
        ...

    async def apply(
        self,
        document: Document,
        *,
        before: Object | None = None,
        take: Take = Take.NOTHING,
        dry_run: bool = False,
        exact: bool = False,
    ) -> Applied:
        """Apply the fields of a document; the second time, it changes nothing.

        A field that was in the document we applied before and is in this one no more is removed.
        `before` is the object the caller saw, if any: StaleError if it is there no more, or another
        one is. `exact`: StaleError, too, if it was changed since; what its controller writes is no
        change. `dry_run`: the server decides as it would, and changes nothing.
        """
        ...

    async def set_entries(
        self, head: Document, values: Entries, *, seen: Entries, former: str = ""
    ) -> Object | None:
        """Have some entries in an object's `data`, or none of a key, all at once and no others.

        `head` is the object without its data, made where there is none. `seen` are the values that
        the caller saw, None where there was no entry or an empty one: StaleError if one is another
        by now, and not the wanted one. What managers whose names begin with `former` applied before
        is ours from then on. None: there is no object, nor need be.
        """
        ...

    async def write_status(self, found: Object, status: Document) -> Object:
        """Set fields of an object's status, which applying does not; lists are set whole.

        StaleError if the object is there no more.
        """
        ...

    async def delete(self, found: Object, *, dry_run: bool = False) -> bool:
        """Delete an object that is ours; False if it is already gone.

        StaleError if it is not ours, or was changed after it was read.
        """
        ...

    async def end(self, pod: Object) -> bool:
        """End a pod, so that its controller makes another; False if it is already gone.

        For what its controller will not do by itself: a StatefulSet leaves a pod that never got
        ready as it is, whatever is wished by then.
        """
        ...

    async def release(self, found: Object) -> Object:
        """Give all our fields back, as they are: the object is ours no more, and is not changed."""
        ...

    def watch(
        self, namespace: str, kind: ResourceKind, after: str, selector: str = ""
    ) -> AsyncGenerator[WatchEvent, None]:
        """What happens after a reading, in order, through broken connections.

        In all namespaces if it is empty. ExpiredError once there would be a gap;
        OutsideError if there is no answer. Close it when done (`aclosing`).
        """
        ...

    async def fetch(self, pod: Object, port: int, path: str) -> str:
        """What a pod answers over HTTP, asked once; OutsideError if that is nothing good.

        Its size and the time it takes are bounded.
        """
        ...

    def logs(
        self,
        namespace: str,
        pod: str,
        container: str = "",
        *,
        follow: bool = False,
        tail: int | None = None,
    ) -> AsyncGenerator[str, None]:
        """The lines of a pod's log, of its only container if none is named; the last few: `tail`.

        Following, it goes on through broken connections and restarts, until the pod has ended or is
        gone. OutsideError if there is none. Close it when done (`aclosing`).
        """
        ...

    async def close(self) -> None:
        """Let go of whatever it holds open."""
        ...


def kind_of(document: Document) -> ResourceKind:
    """The kind of a document; RefusedError if Tidegate does not know it."""
    key = str(document.get("apiVersion", "")), str(document.get("kind", ""))
    if key not in KINDS:
        known = ", ".join(kind.name for kind in KINDS.values())
        raise ObjectRefusedError(f"{key[0]} {key[1]}: no kind Tidegate applies; known: {known}")
    return KINDS[key]


def check_entries(where: str, there: Entries, values: Entries, seen: Entries) -> None:
    """StaleError unless every entry is as it was seen, or as wanted."""
    for key, value in values.items():
        now, before = there.get(key) or None, seen.get(key)
        if now not in (before, value):
            raise StaleError(f"{where}: {key} is {shown(now)} by now, not {shown(before)}")
