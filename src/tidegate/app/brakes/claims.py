"""Places of budgets and mutexes that are taken, and giving back those of a rollout that is gone."""

from tidegate.app.partitions.journals import Journals
from tidegate.app.partitions.lookup import target_of
from tidegate.journal.brake_state import PARTITION
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Lifted
from tidegate.journal.keys import target_of as target_of_key
from tidegate.model.document import Document, Part, fields_of
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.time import format_second
from tidegate.store.port import TakenPlace

_IN_USE = frozenset(("Updating", "Soaking"))


class ClaimRow(Part, frozen=True):
    """One place that a task has taken."""

    # mutex/db, budget/eu
    name: str
    place: int
    target: str
    rollout: str
    since: str
    key: str


class ClaimList(Document, frozen=True, kw_only=True):
    """The places of budgets and mutexes that are taken."""

    items: tuple[ClaimRow, ...]


class ReleasedClaim(ClaimRow, frozen=True):
    """A place that is given back, or is to be."""

    # Whether its target is being changed, or soaks, as far as the journal shows.
    in_use: bool


class ClaimRelease(Document, frozen=True, kw_only=True):
    """The places of one budget or mutex that are given back, or would be."""

    name: str
    items: tuple[ReleasedClaim, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its places."""
        return tuple(sorted({each.key for each in self.items}))


def claim_list(journals: Journals, name: str | None = None) -> ClaimList:
    """Every place that is taken, or those of one budget or mutex."""
    found = journals.store.claims()
    if name is not None:
        found = _named(found, name, None, "claim")
    return ClaimList(items=tuple(map(_row, found)))


def claims_of(journals: Journals, name: str, target: str | None = None) -> ClaimRelease:
    """The places that would be given back, and whether they are in use; NotFoundError if none."""
    return ClaimRelease(
        name=name,
        items=tuple(
            ReleasedClaim(**fields_of(_row(each)), in_use=_is_used(journals, each))
            for each in _named(journals.store.claims(), name, target, "claim on")
        ),
    )


def free_claims(
    journals: Journals, release: ClaimRelease, reason: str, actor: str, *, force: bool = False
) -> ClaimRelease:
    """Give places back; UserError while one is in use, unless forced."""
    check_free(release, force=force)
    note = JournalNote(journals.now, actor, free_fact(release, reason))
    journals.store.append(PARTITION, [note], frees=release.keys)
    return release


def free_fact(release: ClaimRelease, reason: str) -> Lifted:
    """What is recorded when places are given back."""
    return Lifted(brake="claim", name=release.name, reason=reason)


def check_free(release: ClaimRelease, *, force: bool = False) -> None:
    """UserError if a place is in use, unless forced."""
    used = [each.target for each in release.items if each.in_use]
    if used and not force:
        what = f"still in use by {', '.join(used)}"
        raise UserError((Problem("", what, "wait, or use --force if it is gone"),))


def _named(every: list[TakenPlace], name: str, target: str | None, noun: str) -> list[TakenPlace]:
    found = [
        each
        for each in every
        if each.name == name and target in (None, target_of_key(each.partition, each.key))
    ]
    if not found:
        names = sorted({each.name for each in every})
        raise NotFoundError(noun, name, nearest_or_all(name, names))
    return found


def _row(each: TakenPlace) -> ClaimRow:
    return ClaimRow(
        name=each.name,
        place=each.place,
        target=target_of_key(each.partition, each.key),
        rollout=each.partition,
        since=format_second(each.at),
        key=each.key,
    )


def _is_used(journals: Journals, claim: TakenPlace) -> bool:
    """Whether the target of a claim is being changed, as far as the journal shows."""
    if claim.partition not in journals.names():
        return False
    one = journals.read(claim.partition)
    name = target_of_key(claim.partition, claim.key)
    row = None if one is None else target_of(one.view, name)
    return row is not None and row.state in _IN_USE
