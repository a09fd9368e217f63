"""A target receives the change; a group is the targets that go together."""

import enum

import msgspec

from tidegate.model.time import Instant

# What people may write before the name of a target: what it is.
WORDS = ("cluster/", "shard/", "env/", "target/")


def bare(name: str) -> str:
    """The name of a target without what it is: `shard/terraform-resources/ter-int-dev`."""
    word = next((each for each in WORDS if name.startswith(each)), "")
    return name.removeprefix(word)


class Status(enum.IntEnum):
    """What a target reports, in the words Open Cluster Management uses on the wire."""

    ToApply = 0
    Progressing = 1
    Succeeded = 2
    Failed = 3
    TimeOut = 4
    Skip = 5
    NewCluster = 6
    Unknown = 7  # a word we do not know; such a target counts as in flight


class State(enum.IntEnum):
    """What a target is to the rollout under way, once clocks and revisions are weighed."""

    WAITING = 0
    IN_FLIGHT = 1
    SOAKING = 2
    DONE = 3
    FAILED = 4
    TIMED_OUT = 5
    JOINED = 6  # joined after the rollout was completed
    HOLDING = 7  # waiting for this revision, while it is still being updated to another


class Target(msgspec.Struct, frozen=True, gc=False):
    """One target as observed; the defaults are a target that has reported nothing yet."""

    name: str
    status: Status = Status.ToApply
    # When it last changed its status; None: it did not say.
    since: Instant | None = None
    # The revision its status speaks of; None: the current one.
    revision: str | None = None
    # Its status counts neither way (`ignoreClusterRolloutStatus`); it still receives the change.
    ignored: bool = False
    # The word behind Status.Unknown.
    word: str = ""
    # What it is busy with, or what went wrong, in its own words; nothing is decided by it.
    detail: str = ""


# What requests of people call the targets in no group of a name.
UNGROUPED = "ungrouped"


class Group(msgspec.Struct, frozen=True, gc=False):
    """Targets that go together: a slice of the world's targets."""

    name: str
    index: int
    first: int
    last: int  # exclusive
    label: str  # the name people see, with what distinguishes it from others
    placement: str = ""
    mandatory: bool = False
    # False where the reading may lack members of this group.
    complete: bool = True

    @property
    def size(self) -> int:
        """How many targets it has."""
        return self.last - self.first

    @property
    def key(self) -> str:
        """What requests of people call it."""
        return self.name or UNGROUPED
