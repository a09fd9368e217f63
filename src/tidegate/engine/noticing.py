"""What of a reading is news: only that is written down."""

from collections.abc import Iterator

from tidegate.core.journal.facts import Declared, Observed
from tidegate.core.journal.rollout_state import RolloutState
from tidegate.core.model.target import Status, Target
from tidegate.ports.fleet import Observation


def notice(state: RolloutState, seen: Observation) -> Iterator[Declared | Observed]:
    """The facts in which a reading differs from what is known."""
    if seen.declared != state.declared:
        yield seen.declared
    reports = tuple(report for report in seen.reports if _is_news(state, report))
    heard = {report.name for report in seen.reports}
    # From a partial reading nothing is concluded about those it does not mention.
    gone = tuple(sorted(state.reports.keys() - heard)) if seen.complete else ()
    gone = tuple(name for name in gone if name not in state.pending)
    if reports or gone or seen.complete != state.complete:
        yield Observed(reports=reports, gone=gone, complete=seen.complete)


def _is_news(state: RolloutState, report: Target) -> bool:
    if report.status is Status.ToApply:
        return report.name in state.reports and report.name not in state.pending
    known = state.reports.get(report.name)
    if known is not None and _is_older(report, known):
        return False
    return known != report


def _is_older(report: Target, known: Target) -> bool:
    """A reading may lag behind what we did ourselves: an older word on another revision is no news.

    On the same revision every word counts, whatever its clock says: clocks differ, and a success
    must not be missed for that.
    """
    if report.since is None or known.since is None or report.revision == known.revision:
        return False
    return report.since < known.since
