"""Changes that callers requested: the targets each is about, and withdrawing one."""

from collections.abc import Collection

from tidegate.access.roles import Reached, Right
from tidegate.api.route import ActRoute, PreparedAct, RouteAct, RouteBody
from tidegate.app.access.callers import targets_of
from tidegate.app.change_requests import WithdrawalReport, prepare_withdrawal
from tidegate.app.partitions.decision import Decision


class WithdrawBody(RouteBody, frozen=True):
    """A requested change that is not wanted any more."""

    # As `show` and `why` of the rollout list it.
    request: str


def withdraw(act: RouteAct[WithdrawBody]) -> PreparedAct:
    """Withdraw a change that was requested and is not carried out yet."""
    body = act.body
    made = prepare_withdrawal(act.journals, act.name, body.request, body.reason, act.caller.actor)
    whole = act.every.read(made.one.partition) or made.one
    return PreparedAct(
        partition=whole.partition,
        facts=(made.fact,),
        reach=made.report,
        answer=made.report,
        rows=made.one.rows,
        reached=requested_targets(whole, made.row.targets),
    )


def requested_targets(one: Decision, names: Collection[str]) -> tuple[Reached, ...]:
    """The targets that a request is about; without names all of its partition."""
    every = tuple(targets_of(one))
    # Of a target that is no row, who may change it is not known: it takes all of the partition.
    if not names or not one.names.issuperset(names):
        return every
    return tuple(each for each in every if each.target in names)


REQUEST_ACTS: tuple[ActRoute, ...] = (
    ActRoute("/withdraw/{name}", withdraw, (WithdrawalReport,), Right.OPERATE),
)
