"""A plan is what a decision says about every target: options, verdicts, and what to do now.

An option is acted on if and only if all its verdicts pass, and at most one option a target and kind
of change is. A plan is data: the executor carries it out and decides nothing.
"""

import enum

import msgspec

from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict


class ChangeKind(enum.Enum):
    """What happens to a target."""

    APPLY = "apply"  # it gets the revision
    RETURN = "return"  # it goes back to the last good revision
    REMOVE = "remove"  # it is no longer ours


class Change(msgspec.Struct, frozen=True, gc=False):
    """What an option would do; shared by every target it is offered to."""

    kind: ChangeKind
    # None: the caller gave the revision no name.
    revision: str | None = None


class Option(msgspec.Struct, frozen=True, gc=False):
    """One thing that could be done to one target, and what every gate says of it."""

    target: int  # the position in the world's targets
    change: Change
    verdicts: tuple[Verdict, ...]


class Action(msgspec.Struct, frozen=True, gc=False):
    """An option all of whose verdicts pass, to be carried out now."""

    target: str
    change: Change


class Event(enum.Enum):
    """What a plan makes true of the rollout itself; to be remembered together with the plan."""

    RESTARTED = "restarted"  # a retry was taken up: forget what targets reported, take a new uid
    RETRIED = "retried"  # the failed targets are tried again: forget what they reported
    ABORTED = "aborted"  # the rollout failed and goes back: it does not start anything again
    # The newest revision takes the place of the one under way; whatever was reported without a
    # revision spoke of the old one.
    SUPERSEDED = "superseded"
    COMPLETED = "completed"  # every target has it: the revision is the last good one now


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What every target's gates say, what to do now, and when to look again."""

    options: list[Option]
    actions: list[Action]
    # The earliest moment at which time alone changes a verdict; None: time alone never does.
    recheck_at: Instant | None
    events: tuple[Event, ...] = ()
