"""Workloads without a canary: every cluster waits for the soak of others, so none ever begins.

A canary asks for no soak. One in an organisation whose soak is inherited will do, and one whose
labels cannot be read does not: it does not move.
"""

from collections.abc import Iterable

from tidegate.kinds.upgrades.core.lint.findings import LintFinding, names
from tidegate.kinds.upgrades.core.lint.label_text import owner_of
from tidegate.kinds.upgrades.core.rules.fleet import OrganisationFleet


def canaries(
    fleet: OrganisationFleet, fleets: Iterable[OrganisationFleet]
) -> dict[str, LintFinding]:
    """A finding for each workload in which no cluster goes first."""
    known = {each.key: each for each in fleets}
    sources = [known.get(key) for key in fleet.sources]
    if None in sources:
        return {}  # the clusters of that organisation are not visible: there may be one
    inherited = {each for one in sources if one is not None for each in _first_movers(one)}
    first = _first_movers(fleet) | inherited
    waiting: dict[str, list[str]] = {}
    excluded: dict[str, list[str]] = {}
    for member in fleet.members:
        for workload in member.policy.workloads or ():
            mine = excluded if member.excluded is not None else waiting
            mine.setdefault(workload, []).append(member.called)
    found: dict[str, LintFinding] = {}
    for workload in sorted(waiting.keys() - first):
        message = f"{workload}: every cluster asks for soak ({names(waiting[workload])})"
        if unread := excluded.get(workload):
            message += f", and {names(unread)} cannot be read"
        remedy = "give one of them soak-days 0, so that versions soak there first"
        found[workload] = owner_of(fleet).found("no-canary", "", message, remedy)
    return found


def _first_movers(fleet: OrganisationFleet) -> set[str]:
    """The workloads of those who ask for no soak."""
    return {
        workload
        for member in fleet.members
        if member.excluded is None and member.policy.soak_days == 0
        for workload in member.policy.workloads or ()
    }
