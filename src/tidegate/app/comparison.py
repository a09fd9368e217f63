"""Recorded decisions, beside today's rules (`replay`) and beside another system (`shadow`)."""

from collections.abc import Iterable

from tidegate.app.partitions.journals import Journals
from tidegate.engine.replay import StatesThen, replay_partition
from tidegate.journal.shadow import ShadowDecision, Shadowed
from tidegate.model.document import Document, Part, instant_text
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all


class ReplayDifference(Part, frozen=True):
    """The first decision that today's rules take differently, with both explanations."""

    partition: str
    seq: int
    target: str
    then: tuple[str, ...]
    now: tuple[str, ...]


class ReplayReport(Document, frozen=True, kw_only=True):
    """Recorded decisions, taken again up to the first difference."""

    decisions: int
    # How many targets a decision had, at least and at most.
    targets_min: int
    targets_max: int
    # Null: all are equal.
    difference: ReplayDifference | None = None


class ShadowDifference(Part, frozen=True):
    """A change that only one of both asked for, and why the other did not."""

    target: str
    # What it is; empty: the revision that goes out.
    what: str
    ours_at: str | None
    theirs_at: str | None
    why: str


class ShadowedPartition(Part, frozen=True):
    """Our decisions beside those of another system, in one partition."""

    partition: str
    began_at: str | None
    ended_at: str | None
    # Observations that both decided on; null: theirs are only observed.
    looks: int | None
    decisions: int
    equal: int
    differ: tuple[ShadowDifference, ...]
    # What we would have started and the other system has not yet.
    ours_only: tuple[ShadowDifference, ...]


class ShadowReport(Document, frozen=True, kw_only=True):
    """Our decisions beside those of another system."""

    items: tuple[ShadowedPartition, ...]


def replay(journals: Journals, partition: str | None = None) -> ReplayReport:
    """Take recorded decisions again, of one partition or of all, up to the first difference."""
    sizes: list[int] = []
    for name in _names(journals, partition):
        for one in replay_partition(journals.store, name, journals.rules_of(name)):
            sizes.append(one.targets)
            if one.difference is not None:
                found = one.difference
                difference = ReplayDifference(
                    partition=name, seq=one.seq, target=found.target, then=found.then, now=found.now
                )
                return _replayed(sizes, difference)
    return _replayed(sizes)


def _replayed(sizes: list[int], difference: ReplayDifference | None = None) -> ReplayReport:
    return ReplayReport(
        decisions=len(sizes),
        targets_min=min(sizes, default=0),
        targets_max=max(sizes, default=0),
        difference=difference,
    )


def shadow(journals: Journals, partition: str | None = None) -> ShadowReport:
    """Compare decisions with what another system did, or would have done.

    UserError if one partition is named of whose kind there is no other system.
    """
    items: list[ShadowedPartition] = []
    for name in _names(journals, partition):
        rules = journals.rules_of(name)
        found = rules.shadow(journals.store.read(name), StatesThen(journals.store, rules))
        if found is not None:
            items.append(_shadowed(name, found))
        elif partition is not None:
            raise UserError((Problem(name, rules.no_shadow()),))
    return ShadowReport(items=tuple(items))


def _names(journals: Journals, partition: str | None) -> Iterable[str]:
    names = journals.names()
    if partition is None:
        return names
    if partition not in names:
        raise NotFoundError("partition", partition, nearest_or_all(partition, names, "none yet"))
    return [partition]


def _shadowed(partition: str, found: Shadowed) -> ShadowedPartition:
    differ = found.differ
    return ShadowedPartition(
        partition=partition,
        began_at=instant_text(found.began_at),
        ended_at=instant_text(found.ended_at),
        looks=found.looks,
        decisions=len(found.decisions),
        equal=len(found.decisions) - len(differ),
        differ=tuple(map(_difference, differ)),
        ours_only=tuple(map(_difference, found.ours_only)),
    )


def _difference(one: ShadowDecision) -> ShadowDifference:
    return ShadowDifference(
        target=one.target,
        what=one.what,
        ours_at=instant_text(one.ours_at),
        theirs_at=instant_text(one.theirs_at),
        why=one.why,
    )
