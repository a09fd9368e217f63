"""Four eyes: a change is not approved by the person who proposed it.

Which person proposed a revision is in the journal. Where it is not known, no approval is taken: it
could be the proposer's own.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

import msgspec

from tidegate.access.roles import Caller, FourEyesRule, Reached, Right


class GivenApproval(msgspec.Struct, frozen=True, kw_only=True):
    """An approval that is to be given."""

    partition: str
    # None: for every revision to come.
    version: str | None
    # The people who proposed it, as the journal has them; empty: not known.
    proposers: frozenset[str] = frozenset()
    gates: tuple[str, ...] = ()


def four_eyes_refusal(caller: Caller, approval: GivenApproval, reached: Iterable[Reached]) -> str:
    """Why a caller may not approve this, although it has the role; empty: it may."""
    some = tuple(reached)
    if not any(_binds(each, approval, some) for each in caller.four_eyes):
        return ""
    what = f"{approval.version or 'a revision without a name'} of {approval.partition}"
    if approval.version is None:
        return (
            f"{approval.partition} is under four eyes: an approval for every revision would be"
            " given to one's own, too; approve one revision"
        )
    if not approval.proposers:
        return (
            f"{approval.partition} is under four eyes, and the person who proposed {what} is not"
            " known, so no approval is taken; have its author named"
        )
    mine = [each for each in sorted(approval.proposers) if _is_same(each, caller)]
    if not mine:
        return ""
    return f"{mine[0]} proposed {what}, and may not approve it (four eyes); {_others(caller)}"


def _binds(rule: FourEyesRule, approval: GivenApproval, reached: tuple[Reached, ...]) -> bool:
    if rule.gates:
        named = (fnmatchcase(gate, each) for gate in approval.gates for each in rule.gates)
        if not any(named):
            return False
    return any(rule.scope.has(each) for each in reached)


def _is_same(proposer: str, caller: Caller) -> bool:
    """Whether a caller is a person, or was made by them: a token acts for its creator."""
    return _bare(proposer) in {_bare(caller.actor), _bare(caller.creator)}


def _bare(name: str) -> str:
    return name.removeprefix("user:").strip().casefold()


def _others(caller: Caller) -> str:
    """Which subjects may, in words."""
    given = (each for each in caller.policy_grants if Right.APPROVE in each.role.rights)
    names = sorted({name for each in given for name in each.subjects} - {caller.actor})
    listed = f"the policy file lets approve: {', '.join(names)}" if names else ""
    return listed or "have another approver do it"
