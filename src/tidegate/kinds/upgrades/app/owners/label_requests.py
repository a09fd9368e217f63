"""Changes of labels that are requested of a service: planned on the last recorded survey, checked
by the rules that upgrades are decided by, and recorded; a worker writes them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from tidegate.access.roles import Caller, Reached
from tidegate.app.change_requests import ChangeRequestReport, request_ident, request_report
from tidegate.app.partitions.journals import Journals
from tidegate.kinds.upgrades.app.owners.changes import LabelChange, Planner, label_changes
from tidegate.kinds.upgrades.app.owners.recorded_organisation import (
    RecordedOrganisation,
    reached_cluster,
    recorded_organisation,
)
from tidegate.kinds.upgrades.core.journal.facts import LabelsRequested
from tidegate.kinds.upgrades.core.labels.label_check import check
from tidegate.kinds.upgrades.core.labels.label_edit import (
    CLUSTER,
    ORGANISATION,
    HolderChange,
    LabelEdit,
    with_edits,
)
from tidegate.kinds.upgrades.core.labels.label_requests import labels_there
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

ANOTHER = "what is requested is not valid for a cluster that you do not see"


class LabelRequestReport(ChangeRequestReport, frozen=True, kw_only=True):
    """Labels that are requested: every one that changes, what every gate says, what follows."""

    # Empty: all labels have these values, or are requested to have them.
    changes: tuple[LabelChange, ...] = ()
    # Whether the labels are those of the organisation, and not of clusters.
    of_organisation: bool = False
    # How many clusters it reaches.
    reach: int = 0


class PreparedLabels(msgspec.Struct, frozen=True):
    """A request that can be recorded."""

    partition: str
    # None: nothing changes.
    fact: LabelsRequested | None
    report: LabelRequestReport
    rows: dict[str, str]
    reached: tuple[Reached, ...]


def prepare_labels(
    journals: Journals,
    caller: Caller,
    name: str,
    planner: Planner,
    reason: str,
    allow: Callable[[Iterable[Reached]], None],
    *,
    of_organisation: bool = False,
) -> PreparedLabels:
    """Plan a change of labels; UserError for what the service would report as an error.

    `allow` raises where its caller may not change what it is given. It is asked before a mistake is
    named, because that names what is there.
    """
    one = journals.find(name)
    known = recorded_organisation(one, caller)
    if of_organisation:
        allow(_whole(known))
    expected = known.expected
    try:
        plan = planner(known.declared(expected))
    except UserError as error:
        raise UserError(tuple(map(_known_only, error.problems))) from None
    asked = tuple(each for each in plan.changes if each.edits)
    there = labels_there(known.org, known.world.clusters)
    changes = tuple(HolderChange(each.holder, tuple(_anew(each, there))) for each in asked)
    reached = tuple(_reached(known, changes))
    allow(reached)
    found = check(expected, asked, one.now)
    if found.refused:
        shown = [each for each in found.refused if known.shown(each)] or [ANOTHER]
        raise UserError(tuple(Problem("", each) for each in shown))
    warnings = (*filter(known.shown, found.warnings), *known.age(journals.now))
    fact, actor = None, caller.actor
    if changes:
        ident = request_ident(one.partition, journals.now, actor, [changes, reason])
        fact = LabelsRequested(ident=ident, changes=changes, reason=reason)
        base = request_report(journals, one, fact, actor, warnings=warnings, notes=plan.notes)
    else:
        base = ChangeRequestReport(
            rollout=one.partition,
            requests=(),
            warnings=warnings,
            notes=tuple(_pending(known)),
            worker=one.worker,
        )
    report = LabelRequestReport(
        **msgspec.structs.asdict(base),
        changes=tuple(label_changes(changes, ())),
        of_organisation=any(each.holder.kind == ORGANISATION for each in changes),
        reach=_reach(known, changes),
    )
    return PreparedLabels(one.partition, fact, report, one.rows, reached)


def _known_only(problem: Problem) -> Problem:
    """A cluster that is not there may only have no label yet, so that no survey reads it."""
    if not (problem.path.startswith(f"{CLUSTER}/") and problem.message.startswith("not in ")):
        return problem
    more = "a service knows a cluster without labels after an hour at most"
    return Problem(problem.path, problem.message, f"{problem.remedy}; {more}")


def _anew(change: HolderChange, there: Mapping[str, Mapping[str, str]]) -> Iterator[LabelEdit]:
    """The same edits on what is there, and not on what is requested already."""
    for each in change.edits:
        yield LabelEdit(each.label, there[change.holder.id].get(each.label), each.after)


def _pending(known: RecordedOrganisation) -> Iterator[str]:
    """What is requested already, where nothing new is."""
    for each in known.one.view.requests:
        yield f"{each.ident} is requested already: {each.change}"


def _reached(known: RecordedOrganisation, changes: Iterable[HolderChange]) -> Iterator[Reached]:
    """The clusters whose labels change, with their labels before and after: nothing is moved into
    another scope, or out of one. Labels of the organisation are about all of it.
    """
    edits = {each.holder.id: each for each in changes}
    if known.org.id in edits:
        yield from _whole(known)
    for each in known.world.clusters:
        change = edits.get(each.subscribed_as)
        if change is not None:
            yield reached_cluster(known.one.partition, known.org, each)
            after = msgspec.structs.replace(each, labels=with_edits(each.labels, change.edits))
            yield reached_cluster(known.one.partition, known.org, after)


def _reach(known: RecordedOrganisation, changes: Iterable[HolderChange]) -> int:
    """How many clusters it reaches, each by itself where several are called the same."""
    holders = {each.holder.id for each in changes}
    of_all = known.org.id in holders
    every = known.world.clusters
    return sum(each.subscribed_as in holders or bool(of_all and each.labels) for each in every)


def _whole(known: RecordedOrganisation) -> Iterator[Reached]:
    """The organisation, and every cluster that upgrades by its labels."""
    partition, org = known.one.partition, known.org
    if known.one.itself is not None:
        yield known.one.itself
    for each in known.world.clusters:
        if each.labels:
            yield reached_cluster(partition, org, each)
