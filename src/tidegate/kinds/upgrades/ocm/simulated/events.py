"""What happens in a simulated OpenShift Cluster Manager, to be shown afterwards."""

import enum

import msgspec

from tidegate.model.time import Instant


class OcmEventKind(enum.Enum):
    """What can happen: by itself, or on request."""

    OUT = "out"  # a version came out
    ASKED = "asked"  # for an upgrade
    STARTED = "started"
    DELAYED = "delayed"
    DONE = "done"
    FAILED = "failed"
    CALLED_OFF = "calledOff"  # an upgrade that had not started
    AGREED = "agreed"  # to a version gate
    CHANNEL = "channel"  # a cluster was put on it
    TOLD = "told"  # an owner, in the service log of a cluster


class OcmEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something happened at a moment."""

    at: Instant
    what: OcmEventKind
    # By its id; empty: to no cluster.
    cluster: str = ""
    # The part of it that is upgraded; empty: the cluster, or its control plane.
    pool: str = ""
    addon: str = ""
    # To what, and from what: versions, channels; a version gate, by its id.
    to: str = ""
    was: str = ""
    # When an upgrade is to start; None: none is.
    starts_at: Instant | None = None
    # The text of a service log.
    summary: str = ""
    text: str = ""
