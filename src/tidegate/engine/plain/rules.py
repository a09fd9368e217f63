"""What a new kind need not write: state, records, tasks, views and replay of a plain plan.

A plain kind has targets with names and a plan of options with verdicts (`model/plan.py`). It brings
a state (a subclass of `PlainState`), its own facts, `inner` (the world as its facts have it) and
`plan` (its rules); pause, approvals, retries, notices, records and replay are here. A kind that
outgrows one of them overrides it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from tidegate.engine.kind import Others, OthersThen, PlanRecord, Rules, Task, UnderWay
from tidegate.engine.plain.state import (
    PlainStand,
    PlainState,
    PlainTask,
    PlanMade,
    take_outcome,
    take_plan,
    take_request,
    tried_at,
)
from tidegate.explain.notice import DueNotices, Notice, NoticeKind
from tidegate.explain.table import first_shut
from tidegate.explain.view import Needs, OptionRow, PartitionView, TargetRow
from tidegate.gates.approval import missing_approvals
from tidegate.gates.ask import Ask, Purpose, say, shut_now
from tidegate.gates.brakes import Brakes, Coverages
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import (
    SHARED_FACTS,
    Acted,
    Asked,
    Bound,
    Folded,
    Told,
)
from tidegate.journal.keys import task_key
from tidegate.journal.replay import DecisionDifference, Replayed
from tidegate.journal.verdict_marks import VerdictMark, marks_of
from tidegate.model.json_text import decode_json
from tidegate.model.plan import Option, Plan
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict, all_pass, verdict

S = TypeVar("S", bound=PlainState)


class PlainWorld(msgspec.Struct, frozen=True):
    """A world of a plain kind: its own, the targets by name, and what the engine adds."""

    inner: Any
    targets: tuple[str, ...]
    brakes: Brakes
    paused: bool = False
    # Targets with a task that has no outcome yet.
    pending: frozenset[str] = frozenset()


class PlainRules(Rules[S, PlainWorld, Plan], Generic[S]):
    """Rules of a plain kind."""

    retries: ClassVar[bool] = True
    state_type: ClassVar[type[PlainState]] = PlainState
    own_facts: ClassVar[tuple[type[Fact], ...]] = ()

    @property
    def facts(self) -> tuple[type[Fact], ...]:  # type: ignore[override]
        """The facts that its state takes into account."""
        return (PlanMade, *self.own_facts, *SHARED_FACTS)

    # The kind's own.

    def take(self, state: S, at: Instant, fact: Fact) -> None:
        """Take one of the kind's own facts into account."""
        raise NotImplementedError

    def inner(self, state: S, now: Instant) -> tuple[Any, tuple[str, ...]] | None:
        """The kind's own world and its targets; None: nothing is known yet."""
        raise NotImplementedError

    def plan(self, world: PlainWorld, now: Instant) -> Plan:
        """Options with verdicts, one or more for each target; positions are those of targets."""
        raise NotImplementedError

    # What is the same for all.

    def empty(self) -> S:
        """Nothing is known."""
        return self.state_type()  # type: ignore[return-value]

    def encode(self, state: S) -> bytes:
        """The state, to be kept."""
        return msgspec.json.encode(state)

    def decode(self, raw: bytes) -> S:
        """The state that was kept."""
        return decode_json(raw, self.state_type)  # type: ignore[return-value]

    def fold(self, state: S, at: Instant, fact: Fact, actor: str) -> S:
        """Take one fact into account."""
        if isinstance(fact, Folded):
            return self.decode(bytes(fact.state))
        if isinstance(fact, PlanMade):
            take_plan(state, at, fact)
        elif isinstance(fact, Acted):
            take_outcome(state, at, fact)
        elif isinstance(fact, Asked):
            take_request(state, at, fact, actor)
        elif isinstance(fact, Bound):
            state.brakes = fact.brakes
        elif isinstance(fact, Told):
            for key in fact.retired:
                state.told.pop(key, None)
            state.told |= dict.fromkeys(fact.keys, at)
        elif isinstance(fact, self.own_facts):
            self.take(state, at, fact)
        return state

    def under_way(self, state: S) -> UnderWay:
        """There is no revision; answers and brakes are as recorded."""
        frees = state.brakes is not None
        return UnderWay(responses=state.responses, brakes=state.brakes, frees=frees)

    def world(self, state: S, brakes: Brakes, now: Instant, _others: Others) -> PlainWorld | None:
        """The kind's own world, under brakes."""
        found = self.inner(state, now)
        if found is None:
            return None
        inner, targets = found
        return PlainWorld(inner, targets, brakes, state.paused, frozenset(state.pending))

    def world_then(
        self, state: S, brakes: Brakes, now: Instant, others: Others
    ) -> PlainWorld | None:
        """The world that a recorded plan was made of, under the brakes recorded with it."""
        return self.world(state, brakes, now, others)

    def decide(self, world: PlainWorld, now: Instant) -> Plan:
        """The kind's plan; a pause, brakes and tasks under way shut what they cover."""
        plan = self.plan(world, now)
        coverages = Coverages(world.brakes, {})
        options = [self._braked(each, world, coverages, now) for each in plan.options]
        starts = {world.targets[each.target] for each in options if all_pass(each.verdicts)}
        actions = [each for each in plan.actions if each.target in starts]
        return msgspec.structs.replace(plan, options=options, actions=actions)

    def _braked(
        self, option: Option, world: PlainWorld, coverages: Coverages, now: Instant
    ) -> Option:
        name, more = world.targets[option.target], list[Verdict]()
        if world.paused:
            more.append(verdict(ProgressReason.Paused))
        if name in world.pending:
            more.append(verdict(ProgressReason.InFlight))
        version = option.change.revision
        ask = Ask(purpose=Purpose.ROLL_OUT, now=now, revision=version, version=version)
        more += say(world.brakes, coverages.of(name), ask)
        if not more:
            return option
        return msgspec.structs.replace(option, verdicts=(*more, *option.verdicts))

    def bound(self, state: S, world: PlainWorld) -> Bound | None:
        """The brakes of a decision, where they are new."""
        brakes = world.brakes if any(_lists(world.brakes)) else None
        return None if brakes == state.brakes else Bound(brakes=brakes)

    def record(
        self,
        partition: str,
        seq: int,
        state: S,
        world: PlainWorld,
        plan: Plan,
        now: Instant,
        mode: Mode,
    ) -> PlanRecord:
        """Tasks with keys, and targets whose verdicts changed."""
        stands = stands_of(world, plan)
        changed = tuple(each for each in stands if state.stands.get(each.target) != each)
        tasks = tuple(
            PlainTask(
                task_key(partition, str(seq), each.target),
                each.target,
                each.change.revision or "",
            )
            for each in plan.actions
        )
        made = PlanMade(
            now=now,
            mode=mode,
            tasks=tasks,
            changed=changed,
            recheck_at=plan.recheck_at,
            digest=digest_of(stands, tasks),
        )
        acts = bool(tasks) and mode is Mode.ACT
        return PlanRecord(
            fact=made, tasks=tasks, is_news=bool(changed) or acts, recheck_at=plan.recheck_at
        )

    def due(self, state: S, now: Instant) -> Sequence[Sequence[Task]]:
        """Tasks whose time to be tried has come."""
        some = sorted(state.pending.items())
        return ([each.task for _, each in some if tried_at(each) <= now],)

    def retry_at(self, state: S) -> Instant | None:
        """When the next task is tried."""
        return min((tried_at(each) for each in state.pending.values()), default=None)

    def unwanted(self, state: S, task: Task) -> str:
        """Whether another decision took its place, or a person paused it."""
        known = state.pending.get(task.target)
        if known is None or known.task.key != task.key:
            return "another decision took its place"
        return "it is paused" if state.paused else ""

    def shut(self, _state: S, task: Task, coverages: Coverages, now: Instant) -> Verdict | None:
        """The brake that covers a task."""
        assert isinstance(task, PlainTask)
        ask = Ask(purpose=Purpose.ROLL_OUT, now=now, revision=task.change, need=Duration(0))
        return shut_now(coverages.of(task.target), ask)

    def sent(self, state: S) -> Mapping[str, Instant]:
        """The keys of notices that were sent."""
        return state.told

    def notices(
        self, partition: str, state: S, world: PlainWorld, plan: Plan, now: Instant
    ) -> DueNotices:
        """Approvals that are missing, and a pause."""
        view = self.view(partition, state, world, plan, now)
        present = {f"approvalNeeded/{gate}": gate for gate in view.needs.approvals}
        if state.paused:
            present["stop/paused"] = "paused"
        notices = tuple(
            Notice(partition, NoticeKind(key.partition("/")[0]), "", (name,), name, (key,))
            for key, name in present.items()
            if key not in state.told
        )
        return DueNotices(notices, tuple(key for key in state.told if key not in present))

    def view(
        self, partition: str, state: S, world: PlainWorld, plan: Plan, now: Instant
    ) -> PartitionView:
        """One row a target."""
        options: dict[int, list[Option]] = {}
        for option in plan.options:
            options.setdefault(option.target, []).append(option)
        rows = tuple(
            _row(name, options.get(at, []), name in world.pending)
            for at, name in enumerate(world.targets)
        )
        states = [each.state for each in rows]
        summary = "Paused" if state.paused else "Progressing"
        if not state.paused and all(each == "Done" for each in states):
            summary = "Succeeded"
        counts = (f"{states.count(word)} {word.lower()}" for word in dict.fromkeys(sorted(states)))
        return PartitionView(
            partition=partition,
            summary=summary,
            now=now,
            headline=" · ".join((summary, *counts)),
            targets=rows,
            needs=Needs(approvals=missing_approvals(each.verdicts for each in plan.options)),
            recheck_at=plan.recheck_at,
            paused=state.paused,
            gates=tuple(each.name for each in world.brakes.approvals),
        )

    def replay(
        self, entries: Iterable[JournalEntry], others_then: OthersThen
    ) -> Iterator[Replayed]:
        """Every recorded plan, decided again."""
        state, begun = self.empty(), False
        for entry in entries:
            fact = entry.fact()
            begun = begun or entry.seq == 1 or isinstance(fact, Folded)
            if begun and isinstance(fact, PlanMade):
                brakes = state.brakes or Brakes()
                world = self.world_then(state, brakes, fact.now, lambda _: others_then)
                if world is not None:
                    plan = self.decide(world, fact.now)
                    odd = _differs(state, world, plan, fact)
                    yield Replayed(entry.seq, len(world.targets), odd)
            if begun:
                state = self.fold(state, entry.at, fact, entry.actor)


def stands_of(world: PlainWorld, plan: Plan) -> list[PlainStand]:
    """What every gate says of every target, over all its options."""
    marks: dict[str, tuple[VerdictMark, ...]] = {}
    for option in plan.options:
        name = world.targets[option.target]
        marks[name] = marks.get(name, ()) + marks_of(option.verdicts)
    return [PlainStand(name, some) for name, some in marks.items()]


def digest_of(stands: Iterable[PlainStand], tasks: Iterable[PlainTask]) -> str:
    """One number for a whole plan: two that decide and explain the same have the same."""
    said = [f"{each.target} {each.verdicts}" for each in stands]
    said += [f"{task.target} {task.change}" for task in tasks]
    return blake2b("\n".join(said).encode(), digest_size=16).hexdigest()


def _differs(
    state: PlainState, world: PlainWorld, plan: Plan, fact: PlanMade
) -> DecisionDifference | None:
    stands = stands_of(world, plan)
    if digest_of(stands, fact.tasks) == fact.digest:
        return None
    then = state.stands | {each.target: each for each in fact.changed}
    for each in stands:
        known = then.get(each.target)
        if known != each:
            was = () if known is None else tuple(map(str, known.verdicts))
            return DecisionDifference(each.target, was, tuple(map(str, each.verdicts)))
    return DecisionDifference("the plan", tuple(task.target for task in fact.tasks), ())


def _lists(brakes: Brakes) -> Iterator[object]:
    yield from (getattr(brakes, each) for each in ("holds", "freezes", "blocks", "pins"))
    yield from (getattr(brakes, each) for each in ("budgets", "mutexes", "approvals", "health"))


def _row(name: str, options: list[Option], pending: bool) -> TargetRow:
    shut = first_shut(options[0].verdicts) if options else None
    done = shut is not None and shut.reason is ProgressReason.Done
    starts = bool(options) and shut is None
    return TargetRow(
        name=name,
        state="Updating" if pending else "Done" if done else "Waiting",
        next=(options[0].change.revision or "") if options else "",
        starts=starts,
        waits=not pending and not done,
        shut=shut,
        options=tuple(
            OptionRow(
                change=each.change.revision or "",
                verdicts=each.verdicts,
                starts=all_pass(each.verdicts),
            )
            for each in options
        ),
    )
