"""One partition decided for one moment, as a whole or as far as a caller sees it."""

import dataclasses
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from tidegate.access.roles import PLACES, Reached
from tidegate.app.access.sight import limited_view
from tidegate.app.cells import CellMap, cells_of
from tidegate.app.documents import RolloutItem, group_part, recheck_of
from tidegate.app.partitions.plan_tag import plan_rows
from tidegate.app.tally import needs_of, target_counts, waiting_holds
from tidegate.app.workers import PartitionWorker
from tidegate.engine.kind import Rules
from tidegate.explain.view import PartitionView
from tidegate.gates.scope import kind_word
from tidegate.journal.chain import JournalEntry
from tidegate.journal.facts import Asked
from tidegate.model.time import Instant, format_instant


@dataclass(frozen=True)
class Decision:
    """One partition, decided for one moment."""

    partition: str
    rules: Rules[Any, Any, Any]
    state: Any
    world: Any
    plan: Any
    # The moment it is decided for.
    now: Instant
    worker: PartitionWorker

    def later(self, now: Instant, worker: PartitionWorker) -> "Decision":
        """The same for a later moment, up to which time alone changes nothing.

        What was made of it is kept: rows have dates, and no ages; 50,000 of them take 0.2 s.
        """
        found = dataclasses.replace(self, now=now, worker=worker)
        made, kept = self.__dict__, found.__dict__
        if "view" in made:
            kept["view"] = msgspec.structs.replace(self.view, now=now)
        moves = worker.moves == self.worker.moves
        same = ("names", "named", "rows", "reached", "holds", "needs")
        kept.update({name: made[name] for name in same if name in made})
        if "counts" in made and moves:
            kept["counts"] = self.counts
        if "cells" in made and moves:
            kept["cells"] = msgspec.structs.replace(self.cells, at=format_instant(now))
        return found

    @cached_property
    def view(self) -> PartitionView:
        """Its rows, made once."""
        return self.rules.view(self.partition, self.state, self.world, self.plan, self.now)

    @cached_property
    def names(self) -> frozenset[str]:
        """Its targets by name, gathered once."""
        return frozenset(each.name for each in self.view.targets)

    @cached_property
    def named(self) -> frozenset[str] | None:
        """All names by which brakes may choose its targets; None: they are not known."""
        found = self.rules.named(self.state)
        return None if found is None else frozenset(found)

    @cached_property
    def rows(self) -> dict[str, str]:
        """The plan as a person decides by it, made once."""
        return plan_rows(self.view)

    @cached_property
    def cells(self) -> CellMap:
        """Its targets for a map, made once."""
        return cells_of(self.view, self.rows, moves=self.worker.moves)

    @cached_property
    def counts(self) -> Counter[str]:
        """Its targets by what they do, counted once."""
        return target_counts(self.view, moves=self.worker.moves)

    @cached_property
    def needs(self) -> Counter[str]:
        """What only a person can do, in words, and how often; counted once."""
        return Counter(what for what, _ in needs_of(self.view))

    @cached_property
    def holds(self) -> set[str]:
        """The holds that keep something waiting."""
        return waiting_holds(self.view)

    @cached_property
    def item(self) -> RolloutItem:
        """It, in a list."""
        view = self.view
        return RolloutItem(
            id=self.partition,
            kind=self.kind,
            summary=view.summary,
            breached=view.breached,
            recheck_after=recheck_of(view),
            revision=view.revision,
            counts=dict(view.states()),
            groups=tuple(group_part(each) for each in view.groups),
            more=view.more,
            worker=self.worker,
            returned=sum(each.returned for each in view.targets),
        )

    @property
    def kind(self) -> str:
        """The first part of its name."""
        return kind_word(self.partition)

    @cached_property
    def reached(self) -> tuple[Reached, ...]:
        """Its targets, as grants see them."""
        labels = self.rules.labels(self.state)
        keys = {each.name: each.key for each in self.view.groups}
        # The targets of a promotion are environments themselves.
        is_place = self.rules.target_noun in PLACES[1]
        found = []
        for row in self.view.targets:
            mine = labels.get(row.name, {})
            if is_place:
                mine = {self.rules.target_noun: row.name, **mine}
            found.append(Reached(self.partition, keys.get(row.group, row.group), row.name, mine))
        return tuple(found)

    @property
    def itself(self) -> Reached | None:
        """The partition as grants see it, where it is changed itself; None: its targets are all."""
        labels = self.rules.own_labels(self.state)
        if labels is None:
            return None
        return Reached(self.partition, "", self.partition.rpartition("/")[2], labels)

    @property
    def is_whole(self) -> bool:
        """Whether all of it is seen."""
        return True

    def shows(self, entry: JournalEntry) -> bool:  # noqa: ARG002
        """Whether an entry of its journal is seen."""
        return True


@dataclass(frozen=True)
class LimitedDecision(Decision):
    """One partition as a caller sees it who sees only some of its targets."""

    whole: Decision
    seen: frozenset[str]
    # Names that this caller does not see.
    hidden: frozenset[str]
    # Whether it sees what is not about single targets.
    sees_itself: bool

    @cached_property
    def view(self) -> PartitionView:
        """The rows that are seen."""
        return limited_view(self.whole.view, self.seen, self.hidden, whole=self.is_whole)

    @property
    def is_whole(self) -> bool:
        """Whether all its targets are seen, and what is not about single ones."""
        return self.sees_itself and self.seen == self.whole.names

    def shows(self, entry: JournalEntry) -> bool:
        """An entry about a target that is seen, or about nothing but groups that are."""
        if self.is_whole or entry.target:
            return self.is_whole or entry.target in self.seen
        fact = entry.fact() if entry.kind == "asked" else None
        return isinstance(fact, Asked) and set(fact.groups) <= {
            each.key for each in self.view.groups
        }
