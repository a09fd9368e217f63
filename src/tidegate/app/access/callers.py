"""Which caller asks, how it is known, and what it may."""

from collections.abc import Iterable

from tidegate.access.four_eyes import GivenApproval, four_eyes_refusal
from tidegate.access.roles import Caller, Reached, Right, refusal
from tidegate.app.partitions.decision import Decision
from tidegate.model.document import Document


class CallerReport(Document, frozen=True, kw_only=True):
    """The caller, how it is known, and its roles."""

    actor: str
    via: str
    roles: tuple[str, ...]
    # Whether nothing is kept from it.
    sees_everything: bool


class PermissionReport(Document, frozen=True, kw_only=True):
    """Whether a caller may do something, and if not, why."""

    actor: str
    verb: str
    # A partition, or everything.
    what: str
    allowed: bool
    why: str = ""


def permission(
    caller: Caller,
    verb: str,
    right: Right,
    one: Decision | None,
    groups: tuple[str, ...],
    target: str | None = None,
) -> PermissionReport:
    """Whether a caller may do something to a partition, some groups or one target of it.

    Without a partition, to everything there is and will be.
    """
    reached = None if one is None else tuple(targets_of(one, groups))
    if target is not None and reached is not None:
        reached = tuple(each for each in reached if each.target == target)
    why = refusal(caller, right, reached, verb)
    if not why and one is not None and right is Right.APPROVE and verb == "approve":
        approval = given_approval(one, one.view.version, one.view.gates)
        why = four_eyes_refusal(caller, approval, reached or ())
    named = (*groups, target) if target is not None else groups
    what = "everything" if one is None else ", ".join((one.partition, *named))
    return PermissionReport(actor=caller.actor, verb=verb, what=what, allowed=not why, why=why)


def given_approval(
    one: Decision, version: str | None, gates: tuple[str, ...] = ()
) -> GivenApproval:
    """An approval of a revision, and the people who proposed that."""
    known = frozenset() if version is None else one.rules.proposers(one.state, version)
    return GivenApproval(partition=one.partition, version=version, proposers=known, gates=gates)


def targets_of(one: Decision, groups: tuple[str, ...] = ()) -> Iterable[Reached]:
    """The targets of a partition, or those of some groups, as grants see them."""
    return (each for each in one.reached if not groups or each.group in groups)


def caller_report(caller: Caller) -> CallerReport:
    """The caller of a question."""
    return CallerReport(
        actor=caller.actor,
        via=caller.via,
        roles=tuple(dict.fromkeys(each.role.value for each in caller.grants)),
        sees_everything=caller.sees_everything,
    )
