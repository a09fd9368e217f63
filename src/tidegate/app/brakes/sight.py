"""Brakes and claims as far as a caller sees them: the others have no name, reason or actor for it.

An act is prepared on all there is, since a brake binds more than its caller sees. So what is said
of a name is checked before: a brake on hidden targets is answered as one that is not there.
"""

from collections.abc import Sequence

from tidegate.access.roles import Reached
from tidegate.app.access.callers import targets_of
from tidegate.app.brakes.brake_list import brake_items
from tidegate.app.brakes.claims import ClaimRelease, ClaimRow, check_free, claim_list
from tidegate.app.partitions.journals import Journals
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all


def check_seen(journals: Journals, brake: str, names: Sequence[str]) -> None:
    """NotFoundError for a brake that a caller does not see; it offers those that it does."""
    if journals.is_unlimited:
        return
    on = journals.book.state().on
    there = [each.name for each in brake_items(journals, brake) if (brake, each.name) in on]
    for name in names:
        if name not in there:
            raise NotFoundError(brake, name, nearest_or_all(name, there))


def check_new(journals: Journals, brake: str, name: str) -> None:
    """UserError for the name of a brake that a caller does not see: only that it is taken."""
    if journals.is_unlimited or (brake, name) not in journals.book.state().on:
        return
    if all(each.name != name for each in brake_items(journals, brake)):
        raise UserError((Problem("", f'{brake} "{name}" is on already', "take another name"),))


def seen_claims(journals: Journals) -> tuple[ClaimRow, ...]:
    """The places whose targets a caller sees; of a rollout that is gone, if it sees everything."""
    return tuple(each for each in claim_list(journals).items if _is_seen(journals, each))


def check_claim_seen(journals: Journals, name: str, target: str) -> None:
    """NotFoundError if a caller sees none of these places; it offers those that it does."""
    if journals.is_unlimited:
        return
    seen = seen_claims(journals)
    if not any(each.name == name and target in ("", each.target) for each in seen):
        there = sorted({each.name for each in seen})
        raise NotFoundError("claim on", name, nearest_or_all(name, there))


def check_unused(journals: Journals, freed: ClaimRelease, *, force: bool) -> None:
    """UserError while a place is in use; of one that a caller does not see nothing is said."""
    if set(freed.keys) <= {each.key for each in seen_claims(journals)}:
        check_free(freed, force=force)


def claimants(journals: Journals, freed: ClaimRelease) -> tuple[Reached, ...] | None:
    """The targets that have places; None where the rollout of one is gone."""
    wanted = {(each.rollout, each.target) for each in freed.items}
    known = {each.rollout for each in freed.items} & set(journals.names())
    every = (row for name in known for row in _targets(journals, name))
    found = tuple(each for each in every if (each.partition, each.target) in wanted)
    return found if len({(each.partition, each.target) for each in found}) == len(wanted) else None


def _targets(journals: Journals, name: str) -> tuple[Reached, ...]:
    one = journals.read(name)
    return () if one is None else tuple(targets_of(one))


def _is_seen(journals: Journals, claim: ClaimRow) -> bool:
    one = journals.read(claim.rollout) if claim.rollout in journals.names() else None
    if one is None:
        return journals.is_unlimited
    return any(each.target == claim.target for each in one.reached)
