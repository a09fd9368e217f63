"""Changes that callers requested: the targets each is about, and withdrawing one."""

from collections.abc import Collection
from typing import Any

from tidegate.access.roles import Reached, Right
from tidegate.api.route import ActRoute, PreparedAct, RouteAct, RouteBody
from tidegate.app.access.callers import targets_of
from tidegate.app.change_requests import WithdrawalReport, prepare_withdrawal
from tidegate.app.partitions.decision import Decision
from tidegate.journal.fact import Fact
from tidegate.model.document import Document


class WithdrawBody(RouteBody, frozen=True):
    """A requested change that is not wanted any more."""

    # As `show` and `why` of the rollout list it.
    request: str


def withdraw(act: RouteAct[WithdrawBody]) -> PreparedAct:
    """Withdraw a change that was requested and is not carried out yet."""
    body = act.body
    made = prepare_withdrawal(act.journals, act.name, body.request, body.reason, act.caller.actor)
    return requested(act, made.one, made.fact, made.report, made.row.targets)


def requested(
    act: RouteAct[Any], one: Decision, fact: Fact, report: Document, names: Collection[str]
) -> PreparedAct:
    """An act about a requested change: what is recorded, and the targets that it is about."""
    whole = act.every.read(one.partition) or one
    return PreparedAct(
        partition=one.partition,
        facts=(fact,),
        reach=report,
        answer=report,
        rows=one.rows,
        reached=_requested_targets(whole, names),
    )


def _requested_targets(one: Decision, names: Collection[str]) -> tuple[Reached, ...]:
    """The targets that a request is about; without names all of its partition."""
    every = tuple(targets_of(one))
    # Of a target that is no row, who may change it is not known: it takes all of the partition.
    if not names or not one.names.issuperset(names):
        return every if one.itself is None else (one.itself, *every)
    return tuple(each for each in every if each.target in names)


REQUEST_ACTS: tuple[ActRoute, ...] = (
    ActRoute("/withdraw/{name}", withdraw, (WithdrawalReport,), Right.OPERATE),
)
