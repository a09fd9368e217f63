"""What can be asked of OpenShift Cluster Manager for a cluster."""

import enum

from tidegate.model.plan import Change, ChangeKind
from tidegate.model.time import Instant


class StepKind(enum.Enum):
    """What is asked of OpenShift Cluster Manager."""

    UPGRADE = "upgrade"  # the cluster, or its control plane
    POOL = "pool"  # a node pool follows its control plane
    CHANNEL = "channel"  # the channel of the next minor
    CANCEL = "cancel"  # an upgrade that has not started, to a version that is blocked by now
    AGREE = "agree"  # a version gate
    ADDON = "addon"  # an add-on of the cluster
    CANCEL_ADDON = "cancel-addon"  # an upgrade of an add-on that is over, or not ours to have
    LABELS = "labels"  # of the cluster or its organisation, as a person requested


class UpgradeStep(Change, frozen=True, gc=False, kw_only=True):
    """What an option would do; `revision` is the version, the channel, or the gate's minor.

    Of LABELS it is what they will be, in short, and `ident` says whose they are.
    """

    doing: StepKind
    # The node pool, for POOL and for CANCEL of one; empty: the cluster, or its control plane.
    pool: str = ""
    # The add-on, for ADDON and CANCEL_ADDON.
    addon: str = ""
    # What is deleted or agreed to, by its id.
    ident: str = ""
    # None: it would not start soon, or starts nothing.
    starts_at: Instant | None = None


def step_of(doing: StepKind, revision: str) -> UpgradeStep:
    """A step that applies a version, a channel or the minor version of a gate."""
    return UpgradeStep(kind=ChangeKind.APPLY, revision=revision, doing=doing)
