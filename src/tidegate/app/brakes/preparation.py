"""A brake as it is before it is set: checked, what it covers, and what is said once it is set."""

import msgspec
from msgspec.structs import replace

from tidegate.app.brakes.change import BrakeReport, brake_report
from tidegate.app.brakes.reach import BrakeReach, brake_reach
from tidegate.app.brakes.release import release
from tidegate.app.brakes.request import BrakeRequest, CheckedBrake, check_brake
from tidegate.app.partitions.journals import Journals


class PreparedBrake(msgspec.Struct, frozen=True):
    """A brake that can be set."""

    checked: CheckedBrake
    reach: BrakeReach
    report: BrakeReport


def prepare_brake(journals: Journals, request: BrakeRequest, actor: str) -> PreparedBrake:
    """Check a brake, and say what it covers; UserError lists all that is wrong with it."""
    checked = check_brake(journals, request)
    reach = brake_reach(journals, checked)
    if checked.replaces is not None:
        freed = release(journals, request.brake, (request.name,), (checked.fact(),), actor)
        reach = replace(reach, releases=freed.rollouts)
    covered = [each.partition for each in reach.rollouts]
    return PreparedBrake(checked, reach, brake_report(journals, checked, covered))
