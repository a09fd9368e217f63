"""The course of a rollout: which revision goes out now, and under which rules.

Three courses, distinguished before any target is read:

    FORWARD   the revision goes out, gate by gate
    REVERT    the declared revision is the last good one again: touched targets return at once
    SETTLED   the rollout is completed: targets that join get the last good revision at once

and, decided from the failures found on the way, the rollback of rollback.py.
"""

import enum
from collections.abc import Mapping

import msgspec

from tidegate.kinds.rollouts.core.strategy import Retry, Rollout, wider
from tidegate.kinds.rollouts.core.world import RolloutWorld


class CourseMode(enum.Enum):
    """Which rules bind."""

    FORWARD = "forward"
    REVERT = "revert"
    SETTLED = "settled"


class Course(msgspec.Struct, frozen=True):
    """What goes out, and what of the past still counts."""

    mode: CourseMode
    revision: str | None
    # What approvals must be given for.
    version: str | None
    # Whether a status without a revision speaks of this one.
    vouched: bool = True
    retry: Retry = Retry.NOTHING
    paused: bool = False
    aborted: bool = False
    retry_groups: Mapping[str, Retry] = {}

    @property
    def is_retried(self) -> bool:
        """Whether any of it is retried."""
        return self.retry is not Retry.NOTHING or bool(self.retry_groups)

    def retry_of(self, group: str) -> Retry:
        """What is retried of a group, by the name that approvals have for it."""
        return wider(self.retry, self.retry_groups.get(group, Retry.NOTHING))


def course_under_way(world: RolloutWorld) -> Course:
    """The course of the rollout that is remembered."""
    rollout = world.rollout
    revision = world.revision if rollout.revision is None else rollout.revision
    # The version goes with the declared revision; an earlier one has no name but its own.
    is_declared = revision == world.revision
    version = rollout.version if is_declared and rollout.version is not None else revision
    retried = rollout.is_retried
    settled = rollout.completed and not retried
    mode = CourseMode.SETTLED if settled else _forward_or_revert(revision, rollout)
    if settled and rollout.last_good is not None:
        revision = rollout.last_good
    return Course(
        mode,
        revision,
        version,
        retry=rollout.retry,
        paused=rollout.paused,
        aborted=rollout.aborted and not retried,
        retry_groups=rollout.retried_groups,
    )


def course_of_newest(world: RolloutWorld) -> Course:
    """The course of a newer revision that takes the place of the one under way.

    What is remembered of the old one (completed, aborted, retried) does not bind it; a pause does,
    because a pause means that nothing moves. It may have been aborted itself, before it began.
    """
    rollout = world.rollout
    return Course(
        CourseMode.REVERT if _is_last_good(world.revision, rollout) else CourseMode.FORWARD,
        world.revision,
        rollout.version if rollout.version is not None else world.revision,
        vouched=False,
        paused=rollout.paused,
        aborted=rollout.aborted_early == world.revision,
    )


def _forward_or_revert(revision: str | None, rollout: Rollout) -> CourseMode:
    # A retry of a completed rollout opens it again, in order: it is no revert.
    reopened = rollout.completed and rollout.is_retried
    restarted = rollout.restarted or reopened or rollout.retry is Retry.EVERYTHING
    reverts = _is_last_good(revision, rollout) and not restarted
    return CourseMode.REVERT if reverts else CourseMode.FORWARD


def _is_last_good(revision: str | None, rollout: Rollout) -> bool:
    return revision is not None and revision == rollout.last_good
