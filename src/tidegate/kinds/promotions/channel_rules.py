"""The rules of pipelines, as the engine and every reader use them; a target is a subscriber.

A task is about a merge request: one is opened, changed or closed. What the tasks of a decision
write is worked out from the state again, so that a journal keeps what was decided and not a copy
of every file.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from tidegate.engine.kind import OthersThen, PlanRecord, Task, UnderWay
from tidegate.engine.plain.rules import PlainRules, PlainWorld, digest_of, stands_of
from tidegate.engine.plain.state import PlainState, PlainTask, PlanMade, tried_at
from tidegate.explain.notice import DueNotices
from tidegate.explain.pace import DatePace
from tidegate.explain.view import PartitionView
from tidegate.gates.ask import Ask, Purpose, shut_now
from tidegate.gates.brakes import Brakes, Coverages
from tidegate.git.history import SHORT
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import Asked, Bound, Verb
from tidegate.journal.keys import task_key
from tidegate.journal.shadow import Shadowed
from tidegate.kinds.promotions.core.channels.explain.notices import pipeline_notices
from tidegate.kinds.promotions.core.channels.explain.view import pipeline_view
from tidegate.kinds.promotions.core.channels.journal.facts import PIPELINE_FACTS
from tidegate.kinds.promotions.core.channels.journal.shadow import ShadowBook
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown, take
from tidegate.kinds.promotions.core.channels.journal.world import channel_world, labels_of
from tidegate.kinds.promotions.core.channels.pipeline import KIND
from tidegate.kinds.promotions.core.channels.plan import (
    PipelinePlan,
    PipelineWorld,
    plan_pipeline,
)
from tidegate.kinds.promotions.core.requests.model import RequestAct, RequestVerb
from tidegate.model.document import Document
from tidegate.model.plan import Plan
from tidegate.model.time import Duration, Instant
from tidegate.model.verdict import Verdict
from tidegate.store.port import TakenPlace

_STAGES = (RequestVerb.CLOSE, RequestVerb.UPDATE, RequestVerb.OPEN)


class PipelineState(PlainState):
    """What the engine remembers of a pipeline, and what is known of it."""

    known: PipelineKnown = msgspec.field(default_factory=PipelineKnown)
    # Versions whose promotion a person aborted.
    aborted: tuple[str, ...] = ()


class ChannelRules(PlainRules[PipelineState]):
    """Versions of publishers to subscribers, by evidence and merge requests."""

    word: ClassVar[str] = KIND
    noun: ClassVar[str] = "pipeline"
    target_noun: ClassVar[str] = "subscriber"
    state_type: ClassVar[type[PlainState]] = PipelineState
    own_facts: ClassVar[tuple[type[Fact], ...]] = PIPELINE_FACTS

    def __init__(self, *, adopt: bool = False) -> None:
        # Whether merge requests of the existing manager are taken over.
        self._adopt = adopt

    def empty(self) -> PipelineState:
        """Nothing was read."""
        return PipelineState()

    def fold(self, state: PipelineState, at: Instant, fact: Fact, actor: str) -> PipelineState:
        """Take one fact into account."""
        if isinstance(fact, PIPELINE_FACTS):
            take(state.known, at, fact, actor)
            return state
        if isinstance(fact, Asked):
            _ask(state, fact)
        return super().fold(state, at, fact, actor)

    def under_way(self, state: PipelineState) -> UnderWay:
        """Each channel has its own version, so there is no revision."""
        frees = state.brakes is not None
        return UnderWay(responses=state.responses, brakes=state.brakes, frees=frees)

    def world(
        self, state: PipelineState, brakes: Brakes, _now: Instant, _others: Any
    ) -> PlainWorld | None:
        """The world under the brakes that cover a subscriber."""
        known = state.known
        channels = channel_world(
            known,
            brakes,
            state.responses,
            paused=state.paused,
            aborted=frozenset(state.aborted),
        )
        if channels is None or known.reading is None:
            return None
        inner = PipelineWorld(
            reading=known.reading,
            channels=channels,
            requests=known.requests if known.requests_at is not None else None,
            adopt=self._adopt,
        )
        names = tuple(each.name for each in channels.subscribers)
        return PlainWorld(inner, names, channels.brakes, state.paused, frozenset(state.pending))

    def decide(self, world: PlainWorld, now: Instant) -> PipelinePlan:
        """Which subscribers get a version now, and the merge requests for that."""
        return plan_pipeline(world.inner, now)

    def bound(self, state: PipelineState, world: PlainWorld) -> Bound | None:
        """The brakes of a decision, where they are new."""
        found = None if world.brakes == Brakes() else world.brakes
        return None if found == state.brakes else Bound(brakes=found)

    def record(
        self,
        partition: str,
        seq: int,
        state: PipelineState,
        world: PlainWorld,
        plan: Plan,
        now: Instant,
        mode: Mode,
    ) -> PlanRecord:
        """Tasks of merge requests with keys, and subscribers whose verdicts changed."""
        assert isinstance(plan, PipelinePlan)
        stands = stands_of(world, plan)
        changed = tuple(each for each in stands if state.stands.get(each.target) != each)
        tasks = tuple(_new_tasks(partition, seq, state, plan))
        made = PlanMade(
            now=now,
            mode=mode,
            tasks=tasks,
            changed=changed,
            recheck_at=plan.recheck_at,
            digest=digest_of(stands, tasks),
        )
        return PlanRecord(
            fact=made,
            tasks=tasks,
            is_news=bool(changed) or (bool(tasks) and mode is Mode.ACT),
            recheck_at=plan.recheck_at,
            claims=[
                TakenPlace(
                    one.name, one.place, partition, task_key(partition, str(seq), one.target), now
                )
                for one in plan.claims
            ],
            frees=sorted({each.key for each in plan.freed}),
        )

    def due(self, state: PipelineState, now: Instant) -> Sequence[Sequence[Task]]:
        """What is closed first, then what is changed, then what is opened."""
        tasks = [each.task for each in state.pending.values() if tried_at(each) <= now]
        return tuple(
            sorted((one for one in tasks if one.change == verb.value), key=lambda one: one.target)
            for verb in _STAGES
        )

    def labels(self, state: PipelineState) -> Mapping[str, Mapping[str, str]]:
        """The labels of subscribers: environment, cluster, namespace, saas file."""
        reading = state.known.reading
        some = () if reading is None else reading.subscribers
        return {each.name: labels_of(each.place) for each in some}

    def named(self, state: PipelineState) -> Iterable[str] | None:
        """The subscribers: brakes bind no publisher."""
        return None if state.known.reading is None else self.labels(state)

    def proposers(self, state: PipelineState, version: str) -> frozenset[str]:
        """The authors of the commits that a version brings; none: not all of them are known."""
        reading = state.known.reading
        ranges = [] if reading is None else list(reading.commits.items())
        mine = [each for key, each in ranges if version and key.endswith(f"..{version}")]
        if not mine or any(each.number > len(each.commits) for each in mine):
            return frozenset()
        every = (commit for each in mine for commit in each.commits)
        return frozenset(name for one in every for name in (one.email, one.author) if name)

    def planned(self, state: PipelineState, now: Instant) -> PipelinePlan | None:
        """The plan as it was recorded last, made again."""
        world = self.world(state, state.brakes or Brakes(), now, None)
        return None if world is None else self.decide(world, now)

    def shut(
        self, state: PipelineState, task: Task, coverages: Coverages, now: Instant
    ) -> Verdict | None:
        """The brake that covers a subscriber of a request; one that is closed is never too soon."""
        assert isinstance(task, PlainTask)
        plan = self.planned(state, now)
        act = None if plan is None else act_of(plan, task)
        if plan is None or act is None or act.verb is RequestVerb.CLOSE:
            return None
        held = {each.channels for each in act.holds}
        for promotion in plan.promotions:
            for change in promotion.changes if promotion.channels in held else ():
                ask = Ask(
                    purpose=Purpose.ROLL_OUT,
                    now=now,
                    revision=change.version[:SHORT],
                    version=change.version,
                    need=Duration(0),
                )
                if (found := shut_now(coverages.of(change.name), ask)) is not None:
                    return found
        return None

    def notices(
        self, partition: str, state: PipelineState, world: PlainWorld, plan: Plan, now: Instant
    ) -> DueNotices:
        """Offers, ends, failures with their suspects, missing approvals, a pause."""
        assert isinstance(plan, PipelinePlan)
        return pipeline_notices(partition, state.known, world.inner, plan, state.told, now)

    def view(
        self, partition: str, state: PipelineState, world: PlainWorld, plan: Plan, now: Instant
    ) -> PartitionView:
        """One row a subscriber."""
        assert isinstance(plan, PipelinePlan)
        return pipeline_view(partition, state.known, world.inner, plan, now)

    def dates(
        self,
        partition: str,
        _state: PipelineState,
        world: PlainWorld,
        now: Instant,
        _entries: Iterable[JournalEntry],
        pace: DatePace,
        target: str | None,
    ) -> Document | None:
        """When each subscriber is offered its version, if nothing but time passes."""
        # The application makes documents of what the rules foresee.
        from tidegate.kinds.promotions.app.pipelines.dates import pipeline_dates

        return pipeline_dates(partition, world.inner, now, pace, target)

    def shadow(self, entries: Iterable[JournalEntry], _others_then: OthersThen) -> Shadowed | None:
        """What is decided after every fact, beside the existing manager's merge requests."""
        state, book = self.empty(), ShadowBook()
        for entry in entries:
            fact = entry.fact()
            state = self.fold(state, entry.at, fact, entry.actor)
            if isinstance(fact, (PlanMade, *PIPELINE_FACTS)):
                world = self.world(state, state.brakes or Brakes(), entry.at, None)
                if world is not None:
                    book.take(world.inner, self.decide(world, entry.at), entry.at)
        return book.shadowed()


def _ask(state: PipelineState, fact: Asked) -> None:
    """An abort is of the versions that publishers have now; a retry takes it back."""
    reading = state.known.reading
    if fact.verb is Verb.ABORT and reading is not None:
        versions = {each.version for each in reading.publishers if each.version is not None}
        state.aborted = tuple(sorted(versions))
    elif fact.verb in (Verb.RETRY, Verb.RETRY_FAILED):
        state.aborted = ()


def act_name(act: RequestAct) -> str:
    """What a task about a request is called: its number, or the key of one to be opened."""
    return act.key if act.number is None else f"!{act.number}"


def act_of(plan: PipelinePlan, task: PlainTask) -> RequestAct | None:
    """The act of a task in a plan; None: it is not wanted any more."""
    some = (each for each in plan.requests.due() if act_name(each) == task.target)
    return next((each for each in some if each.verb.value == task.change), None)


def _new_tasks(
    partition: str, seq: int, state: PipelineState, plan: PipelinePlan
) -> Sequence[PlainTask]:
    """Acts that are not pending already."""
    found: list[PlainTask] = []
    for act in plan.requests.due():
        name = act_name(act)
        pending = state.pending.get(name)
        if pending is None or pending.task.change != act.verb.value:
            found.append(PlainTask(task_key(partition, str(seq), name), name, act.verb.value))
    return found
