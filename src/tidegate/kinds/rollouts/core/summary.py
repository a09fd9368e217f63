"""One word for every group and one for the whole rollout."""

import enum

import msgspec

from tidegate.kinds.rollouts.core.budget import FailureBudget
from tidegate.kinds.rollouts.core.census import Census, Tally
from tidegate.kinds.rollouts.core.course import Course, CourseMode
from tidegate.kinds.rollouts.core.world import RolloutWorld


class Summary(enum.Enum):
    """The state of a rollout, or of one group of it."""

    WAITING = "Waiting"
    PROGRESSING = "Progressing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    PAUSED = "Paused"
    ABORTED = "Aborted"


class GroupReport(msgspec.Struct, frozen=True):
    """The state of one group, with its counts."""

    group: int
    status: Summary
    tally: Tally


def report_groups(
    world: RolloutWorld, census: Census, course: Course, budget: FailureBudget
) -> tuple[GroupReport, ...]:
    """The state of every group."""
    reports: list[GroupReport] = []
    for position, (group, tally) in enumerate(zip(world.groups, census.tallies, strict=True)):
        failed = position in budget.breached
        status = _word(tally, course, failed, group.complete)
        reports.append(GroupReport(position, status, tally))
    return tuple(reports)


def summarise(
    world: RolloutWorld, census: Census, course: Course, budget: FailureBudget
) -> Summary:
    """The state of the whole rollout."""
    if course.aborted:
        return Summary.ABORTED
    if budget.breached:
        return Summary.FAILED
    if course.mode is CourseMode.SETTLED:
        return Summary.SUCCEEDED
    whole = Tally(
        waiting=sum(tally.waiting for tally in census.tallies),
        in_flight=sum(tally.in_flight for tally in census.tallies),
        soaking=sum(tally.soaking for tally in census.tallies),
        done=sum(tally.done for tally in census.tallies),
        failed=sum(tally.failed for tally in census.tallies),
    )
    seen_all = world.complete and all(group.complete for group in world.groups)
    word = _word(whole, course, False, seen_all)
    # However many may fail: where no target has it in the end, it did not succeed.
    in_vain = word is Summary.SUCCEEDED and whole.failed and not whole.done
    return Summary.FAILED if in_vain else word


def _word(tally: Tally, course: Course, failed: bool, seen_all: bool) -> Summary:
    if failed:
        return Summary.FAILED
    if not tally.unfinished and seen_all:
        return Summary.SUCCEEDED
    if course.aborted:
        return Summary.ABORTED
    if course.paused:
        return Summary.PAUSED
    return Summary.PROGRESSING if tally.touched else Summary.WAITING
