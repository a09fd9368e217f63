"""Labels made what a bundle declares: what is set, what is removed, and what stays.

A label of ours records which labels we wrote: `sre-capabilities.tidegate.declared`, on every holder
of such labels, written last. So

- what is declared is set, even if another author wrote the present value;
- what is no longer declared is removed if we wrote it, and only then, even where a whole cluster is
  no longer declared;
- all else belongs to others, and stays: labels and clusters that are not declared.

    ours soak-days, sector; declared soak-days 5; there soak-days 2, sector a, mutexes m:
    soak-days 2 → 5, sector a → -, and mutexes m is left
"""

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.kinds.upgrades.core.labels.label_edit import (
    ORGANISATION,
    HolderChange,
    LabelEdit,
    LabelHolder,
    edits_of,
)
from tidegate.kinds.upgrades.core.labels.labels import PREFIX, split
from tidegate.model.removal import why_kept

MARK = "sre-capabilities.tidegate.declared"
"""The label that names those we wrote; no label of upgrades, and so none of a policy."""


class LabelledHolder(msgspec.Struct, frozen=True):
    """A holder of labels, as read."""

    holder: LabelHolder
    # Of upgrades, without their prefix.
    labels: Mapping[str, str]
    # What our own label says; None: it is not there, and nothing is ours.
    mark: str | None = None

    @property
    def ours(self) -> frozenset[str]:
        """The labels we wrote, as far as they are still there."""
        return frozenset(split(self.mark) or ()) & self.labels.keys()


class LabelSync(msgspec.Struct, frozen=True):
    """What is to be done to the labels of an organisation and its clusters."""

    changes: tuple[HolderChange, ...] = ()
    # Labels on those who are declared that are not declared, and not ours: they stay.
    others: tuple[tuple[LabelHolder, tuple[str, ...]], ...] = ()
    # What would be taken away, and is not.
    kept: tuple[tuple[LabelHolder, tuple[str, ...]], ...] = ()
    # Why not; empty: all of it is.
    why: str = ""


def full_key(label: str) -> str:
    """What a label is called there."""
    return label if label == MARK else PREFIX + label


def labelling(
    labelled: Iterable[LabelledHolder],
    declared: Mapping[str, Mapping[str, str]],
    *,
    complete: bool,
    allowed: bool = False,
) -> LabelSync:
    """What follows from what is declared, by the id of the holder, and from what is there.

    Nothing is removed if either may be incomplete, or if it is much and not allowed.
    """
    every = list(labelled)
    gone = {each.holder: _gone(each, declared.get(each.holder.id, {})) for each in every}
    losing = [holder for holder, labels in gone.items() if labels]
    managed = sum(bool(each.ours) for each in every)
    emptied = "" if declared else "nothing is declared any more; --allow-mass-delete if so"
    why = ""
    if losing:
        why = why_kept(len(losing), managed, complete=complete, emptied=emptied, allowed=allowed)
    found = [_change(each, declared, frozenset() if why else gone[each.holder]) for each in every]
    return LabelSync(
        changes=tuple(each for each in found if each.edits),
        others=tuple(
            (each.holder, tuple(sorted(others)))
            for each in every
            if each.holder.id in declared
            and (others := each.labels.keys() - declared[each.holder.id].keys() - each.ours)
        ),
        kept=tuple((holder, tuple(sorted(gone[holder]))) for holder in losing if why),
        why=why,
    )


def _gone(each: LabelledHolder, wanted: Mapping[str, str]) -> frozenset[str]:
    """What we wrote and is no longer declared."""
    return each.ours - wanted.keys()


def _change(
    each: LabelledHolder, declared: Mapping[str, Mapping[str, str]], gone: frozenset[str]
) -> HolderChange:
    """All that becomes of one; what is ours is noted last, once all of it is written."""
    wanted = declared.get(each.holder.id, {})
    edits = edits_of(each.labels, {**dict.fromkeys(sorted(gone)), **wanted})
    mark = ",".join(sorted(wanted.keys() | (each.ours - gone))) or None
    marked = () if mark == each.mark else (LabelEdit(MARK, each.mark, mark),)
    return HolderChange(each.holder, (*edits, *marked))


def in_turn(changes: Iterable[HolderChange]) -> tuple[tuple[HolderChange, ...], ...]:
    """Changes in the order in which they are written, so that no cluster is without its sector.

    What is set on the organisation comes first, then the clusters, then what is taken from it.
    """
    every = tuple(changes)
    of_org = [each for each in every if each.holder.kind == ORGANISATION]
    first, last = [], []
    for each in of_org:
        sets = tuple(one for one in each.edits if one.after is not None and one.label != MARK)
        rest = tuple(one for one in each.edits if one not in sets)
        first.append(HolderChange(each.holder, sets))
        last.append(HolderChange(each.holder, rest))
    clusters = tuple(each for each in every if each.holder.kind != ORGANISATION)
    turns = (tuple(first), clusters, tuple(last))
    return tuple(tuple(one for one in turn if one.edits) for turn in turns)


def of_upgrades(changes: Iterable[HolderChange]) -> tuple[HolderChange, ...]:
    """The same without our own label, which no rule of upgrades knows."""
    return tuple(
        HolderChange(each.holder, tuple(one for one in each.edits if one.label != MARK))
        for each in changes
    )
