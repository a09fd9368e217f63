"""Partitions of every kind as their journals have them, decided for one moment.

That is now while a worker looks, and else that of its last look (`app/workers.py`). Brakes of the
journal are as they are now; those of a worker's files are as it recorded them last.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import Any, TypeVar

from msgspec.structs import replace

from tidegate.access.roles import Caller
from tidegate.app.access.sight import mentions
from tidegate.app.partitions.decision import Decision, LimitedDecision
from tidegate.app.partitions.kept_states import KeptDecision, KeptStates
from tidegate.app.partitions.lookup import called, ease, instead_of_rollout, targets_called
from tidegate.app.partitions.stop import stopped_by
from tidegate.app.workers import (
    Attendance,
    PartitionWorker,
    attendance,
    trouble_lines,
    unreadable,
    verified,
)
from tidegate.engine.kind import Rules
from tidegate.gates.brakes import Brakes
from tidegate.gates.scope import kind_word
from tidegate.journal.chain import Break
from tidegate.journal.fact import Fact
from tidegate.journal.keys import target_of as target_of_key
from tidegate.journal.lease import KeptLease
from tidegate.model.counted import counted
from tidegate.model.errors import NotFoundError, OutsideError
from tidegate.model.problem import nearest
from tidegate.model.target import bare
from tidegate.model.time import Instant
from tidegate.store.port import BrokenChainError, Store

# Of more partitions than these, a list shows each as it was at most a second ago.
FEW = 20

T = TypeVar("T")
RulesOf = Callable[[str], Rules[Any, Any, Any]]
"""The rules of a partition, by its name."""


class Journals:
    """Reads partitions of all kinds from one store."""

    # Whether it is as the journal has it now, and may be acted on.
    is_now = True

    def __init__(
        self,
        store: Store,
        rules_of: RulesOf,
        now: Instant,
        at: Instant | None = None,
        kept: "KeptStates | None" = None,
        heads: Mapping[str, int] | None = None,
    ) -> None:
        """`at`: decide for this moment, whenever a worker last looked.

        `kept`: states from before, which a process that answers again and again has. `heads`: the
        ends of all chains; what was decided for the same ends within a second is used again.
        """
        self.store = store
        self.now = now
        self._at = at
        self.rules_of = rules_of
        self._kept = kept or KeptStates(store)
        self.book = self._kept.book
        # Where the chain of a partition does not hold; None: it does.
        self.broken: Callable[[str], Break | None] = self._kept.broken
        # Whose answers these are; None: nothing is kept from them.
        self._caller: Caller | None = None
        self._only_whole = False
        self._limited: dict[str, Decision | None] = {}
        # What was decided for this moment; None: every question is decided anew.
        self._known: dict[str, Decision | None] | None = None if kept is None else {}
        self._heads = heads
        # What cannot be folded, because its chain is broken; the reason is with its worker.
        self._unreadable: dict[str, PartitionWorker] = {}

    @cached_property
    def leases(self) -> dict[str, KeptLease]:
        """Every lease there is."""
        return self.store.leases()

    @cached_property
    def _brakes(self) -> Brakes:
        """All brakes there are, without claims."""
        return self.book.read(self.now)

    def unknown(self) -> tuple[str, ...]:
        """Partitions whose entries of this moment were dropped: none, if it is now."""
        return ()

    def attendance(self, partition: str) -> Attendance:
        """The worker of a partition, and the moment to decide for."""
        found = attendance(self.store, self.leases, partition, self.now)
        if self.is_now:
            found = verified(found, self.broken)
        if self._at is None:
            return found
        return Attendance(replace(found.worker, stale=False), self._at)

    def workers(self) -> tuple[PartitionWorker, ...]:
        """The worker of every partition there is."""
        return tuple(self.attendance(each).worker for each in self.names())

    def leaders(self) -> dict[str, str]:
        """The worker of every partition that is led."""
        running = {each: one for each, one in self.leases.items() if one.runs(self.now)}
        return {each: running[each].lease.holder for each in self.names() if each in running}

    @property
    def unseen(self) -> tuple[PartitionWorker, ...]:
        """Partitions of which nothing is known: no worker sees them, or they cannot be folded."""
        found = (self._unreadable[each] for each in self._unreadable if self._is_shown(each))
        return (*self._unobserved, *found)

    @cached_property
    def _unobserved(self) -> tuple[PartitionWorker, ...]:
        led = [
            each
            for each, record in self.leases.items()
            if record.runs(self.now) and record.look is not None and record.look.trouble
        ]
        found = (self.attendance(each).worker for each in led if self._is_shown(each))
        return tuple(each for each in found if each.saw_nothing and not self.read(each.partition))

    def _is_shown(self, partition: str) -> bool:
        """Whether a partition is of a kind, and may be seen, or something in it."""
        caller = self._caller
        if "/" not in partition or caller is None:
            return "/" in partition
        if caller.sees_all_of(partition):
            return True
        if not caller.sees(partition):
            return False
        one = self.read(partition)
        return one is not None and (one.is_whole or not self._only_whole)

    def limited(self, caller: Caller) -> "Journals":
        """The same decisions, as far as a caller may see them."""
        if caller.sees_everything:
            return self
        found = copy(self)
        # What the one before has worked out for itself is not for this caller.
        found.__dict__.pop("_unobserved", None)
        found.__dict__.pop("_hidden", None)
        found._caller, found._limited = caller, {}
        if found._known is None:
            found._known = {}
        return found

    @property
    def is_unlimited(self) -> bool:
        """Whether nothing is kept from the caller."""
        return self._caller is None

    def only_whole(self) -> "Journals":
        """The same, without partitions of which only a part may be seen."""
        found = copy(self)
        found.__dict__.pop("_unobserved", None)
        found._only_whole = True
        return found

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """What verdicts may name of other partitions, and the caller does not see."""
        caller, found = self._caller, set[str]()
        if caller is None:
            return frozenset()
        for claim in self.store.claims():
            if caller.sees_all_of(claim.partition):
                continue
            target = target_of_key(claim.partition, claim.key)
            one = self._any(claim.partition) if caller.sees(claim.partition) else None
            mine = [each for each in one.reached if each.target == target] if one else []
            if not any(map(caller.sees_target, mine)):
                found |= {target, claim.partition, f"{claim.partition} {target}"}
        return frozenset(found)

    def _seen_part(self, one: Decision | None) -> Decision | None:
        """A partition as the caller sees it; None: it does not exist for them."""
        caller = self._caller
        if one is None or caller is None:
            return one
        if one.partition in self._limited:
            return self._limited[one.partition]
        found = self._limited[one.partition] = self._cut(one, caller)
        return found

    def _cut(self, one: Decision, caller: Caller) -> Decision | None:
        every = {each.target for each in one.reached}
        seen, sees_itself = every, True
        if not caller.sees_all_of(one.partition):
            seen = {each.target for each in one.reached if caller.sees_target(each)}
            sees_itself = one.itself is None or caller.sees_target(one.itself)
            if not seen and (one.itself is None or not sees_itself):
                return None
        hidden = (every | self._hidden) - seen
        if not hidden and sees_itself:
            return one
        return LimitedDecision(
            one.partition,
            one.rules,
            one.state,
            one.world,
            one.plan,
            one.now,
            one.worker,
            one,
            frozenset(seen),
            frozenset(hidden),
            sees_itself,
        )

    def names(self, kind: str = "") -> list[str]:
        """The partitions there are, of one kind or of all."""
        there = self.store.partitions() if self._heads is None else self._heads
        every = (each for each in there if self._is_shown(each))
        return [each for each in every if not kind or kind_word(each) == kind]

    def read(self, partition: str, *, listed: bool = False) -> Decision | None:
        """One partition; None: nothing of it is declared or observed yet, or may be seen.

        `listed`: it is one of many, and may be as it was a moment ago.
        """
        return self._seen_part(self._any(partition, listed))

    def _any(self, partition: str, listed: bool = False) -> Decision | None:
        if self._known is not None and partition in self._known:
            return self._known[partition]
        seq, kept = self._before(partition, listed)
        if kept is None or not kept.is_fresh(self.now):
            return self._renewed(partition, seq, kept)
        if self._known is not None and kept.seq == seq:
            self._known[partition] = kept.found
        return kept.found

    def _before(self, partition: str, listed: bool) -> tuple[int | None, KeptDecision | None]:
        """The end of its chain, if it is known; what was decided before, if that counts."""
        if self._heads is None:
            return None, None
        seq = self._heads.get(partition, 0)
        return seq, self._kept.known(partition, seq, self._brakes, self.now, listed)

    def _renewed(
        self, partition: str, seq: int | None, kept: KeptDecision | None
    ) -> Decision | None:
        found = self._again(partition, kept) or self._afresh(partition, seq)
        if self._known is not None:
            self._known[partition] = found
        return found

    def _again(self, partition: str, kept: KeptDecision | None) -> Decision | None:
        """What was decided before, if it is the same now; None: it has to be decided."""
        attended = None if kept is None else self.attendance(partition)
        if kept is None or kept.found is None or attended is None or not kept.holds(attended.at):
            return None
        found = kept.found.later(attended.at, attended.worker)
        self._kept.keep(partition, dataclasses.replace(kept, found=found, at=self.now))
        return found

    def _afresh(self, partition: str, seq: int | None) -> Decision | None:
        rules = self.rules_of(partition)
        try:
            state = self._kept.state(rules, partition)
        except BrokenChainError as error:
            self._unreadable[partition] = unreadable(self.leases, partition, error, self.now)
            return None
        found, alone = self._made(partition, rules, state)
        if seq is not None:
            kept = KeptDecision(seq, self._brakes, found, self.now, alone)
            self._kept.keep(partition, kept)
        return found

    def supposing(self, one: Decision, fact: Fact, actor: str) -> Decision | None:
        """The same partition as it would be with one more fact."""
        copied = one.rules.decode(one.rules.encode(one.state))  # a fold changes what it is given
        state = one.rules.fold(copied, self.now, fact, actor)
        then = self._decided(one.partition, one.rules, state)
        return then if then is None or self._caller is None else self._cut(then, self._caller)

    def supposing_brakes(self, facts: Iterable[Fact], actor: str) -> "Journals":
        """The same journals as they would be with more facts about brakes."""
        found = Journals(self.store, self.rules_of, self.now, self._at)
        found._caller = self._caller
        found._kept.states = self._kept.states
        found.book = self.book.supposing(facts, self.now, actor)
        return found

    def _decided(self, partition: str, rules: Rules[Any, Any, Any], state: Any) -> Decision | None:
        return self._made(partition, rules, state)[0]

    def _made(
        self, partition: str, rules: Rules[Any, Any, Any], state: Any
    ) -> tuple[Decision | None, bool]:
        """A decision, and whether it rests on nothing but its own state, brakes and the clock."""
        attended = self.attendance(partition)
        now = attended.at
        brakes = self.book.seen(partition, rules.under_way(state), now)
        asked: list[str] = []
        others = self._kept.states.of(rules)

        def other(name: str) -> Any:
            asked.append(name)
            return others(name)

        world = rules.world(state, brakes, now, other)
        if world is None:
            return None, False
        plan = rules.decide(world, now)
        shares = brakes.budgets or brakes.mutexes or brakes.health or brakes.claims
        alone = not asked and not shares
        return Decision(partition, rules, state, world, plan, now, attended.worker), alone

    def once(self, one: Decision, make: Callable[[], T]) -> T:
        """What is made of a decision, and is the same for all that ask for it."""
        return self._kept.once(one, make)

    def all(self, kind: str = "") -> Iterator[Decision]:
        """Every partition of which something is known."""
        names = self.names(kind)
        self._kept.listed_at = self.now
        for name in names:
            found = self.read(name, listed=len(names) > FEW)
            if found is not None:
                yield found

    def aging(self) -> Iterator[Decision]:
        """Those of which what was decided is soon too old for a list, decided again."""
        for name in self.names():
            if self._kept.is_aging(name, self.now):
                found = self._renewed(name, *self._before(name, False))
                if found is not None:
                    yield found

    def find(self, name: str) -> Decision:
        """One partition, by its name with or without its kind; NotFoundError names the nearest."""
        wanted = name.removeprefix("rollout/")
        names = self.names()
        for each in called(names, wanted):
            found = self.read(each)
            if found is not None:
                return found
        self._refuse_unseen(wanted)
        raise NotFoundError("rollout", wanted, instead_of_rollout(wanted, list(self.all())))

    def find_target(self, name: str) -> tuple[Decision, str | None, tuple[str, ...]]:
        """The partition of this name, or the one a target of this name is in, and the target.

        A target of several partitions is that of the one in trouble, or of one that is not done
        with it; the names of the others are returned, too.
        """
        for each in called(self.names(), name.removeprefix("rollout/")):
            found = self.read(each)
            if found is not None:
                return found, None, ()
        self._refuse_unseen(name.removeprefix("rollout/"))
        wanted = bare(name)
        every = [(each, each.view) for each in self.all()]
        mine = [(one, view, row) for one, view in every for row in targets_called(one, name)]
        mine.sort(key=lambda found: ease(found[1], found[2]))
        if mine:
            others = tuple(one.partition for one, *_ in mine[1:])
            return mine[0][0], mine[0][2].name, others
        names = {target.name for _, view in every for target in view.targets}
        names |= {one.partition for one, _ in every}
        listed = f"`tidegate get rollouts` lists {counted(len(every), 'rollout')}"
        hint = nearest(wanted, names) or listed
        lost = self.unseen
        if lost:  # it may be a target of one of these
            hint = next(trouble_lines(lost, self.now))
        elif not every:
            hint = "nothing was decided yet; `tidegate run` and `tidegate serve` do"
        raise NotFoundError("rollout or target", wanted, hint)

    def _refuse_unseen(self, name: str) -> None:
        """OutsideError says why nothing is known of a partition that a worker cannot see."""
        workers = {each.partition: each for each in self.unseen}
        for each in called(list(workers), name):
            raise OutsideError(next(trouble_lines([workers[each]], self.now)))

    def stopped_by(self, one: Decision) -> str:
        """What ended a partition, as its journal has it; empty: nothing did."""
        found = stopped_by(self.store, one)
        if isinstance(one, LimitedDecision) and mentions(found, one.hidden):
            return ""
        return found
