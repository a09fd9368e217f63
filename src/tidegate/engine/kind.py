"""A kind of change: the rules it is decided by, and the systems it is observed and changed on.

    Rules   pure: facts to a state, a state to a world, a world to a plan, a plan to facts
    Kind    its rules, and what touches the outside: observe, act

The worker, the round, the executor, notices, replay and every command know these two and no kind by
name. A kind is one folder under `kinds/` and one line in each table of `kind_table.py`;
`engine/plain` has what a new kind need not write.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from tidegate.explain.notice import DueNotices
from tidegate.explain.pace import DatePace
from tidegate.explain.view import Counts, PartitionView
from tidegate.gates.approval import Response
from tidegate.gates.brakes import Brakes, Coverages
from tidegate.journal.chain import JournalEntry
from tidegate.journal.fact import Fact, Mode
from tidegate.journal.facts import SHARED_FACTS, Acted, Asked, Bound, TaskOutcome
from tidegate.journal.replay import Replayed
from tidegate.journal.shadow import Shadowed
from tidegate.model.document import Document
from tidegate.model.errors import OutsideError
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict
from tidegate.store.port import TakenPlace

# The actor of what the engine writes.
ACTOR = "tidegate"

S = TypeVar("S")
W = TypeVar("W")
P = TypeVar("P")
O = TypeVar("O")  # noqa: E741  an observation


class Task(Protocol):
    """One action under a key: carried out twice under one key, it is done once."""

    @property
    def key(self) -> str:
        """Names the decision it is from."""
        ...

    @property
    def target(self) -> str:
        """The target, as the kind identifies it."""
        ...

    @property
    def name(self) -> str:
        """The target, as people call it."""
        ...


class ActRefusedError(OutsideError):
    """An outside system refused an action for good: the same request is not repeated soon."""


class PartitionRefusedError(OutsideError):
    """What people declared of a partition cannot be carried out, until they change it."""


class UnderWay(msgspec.Struct, frozen=True, kw_only=True):
    """What brakes, evidence and approvals need to know of a state."""

    # The revision that goes out; None: there is none, or each target has its own.
    revision: str | None = None
    # When it was first given to a target; None: not yet.
    since: Instant | None = None
    # What people answered at approval gates, by gate.
    responses: Mapping[str, tuple[Response, ...]] = {}
    # The brakes of the decision recorded last.
    brakes: Brakes | None = None
    # Whether claims are read even if nothing is shared: some may have to be freed.
    frees: bool = False


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is recorded of a plan."""

    fact: Fact
    tasks: Sequence[Task] = ()
    # Whether it says anything that the journal does not say yet.
    is_news: bool = True
    recheck_at: Instant | None = None
    # Places of what partitions share, taken with the record, each under the key of its task.
    claims: Sequence[TakenPlace] = ()
    # Keys of tasks whose places are free again.
    frees: Sequence[str] = ()


# The state of another partition of the same kind, by its name.
Others = Callable[[str], Any]


class Rules(Generic[S, W, P]):
    """The pure part of a kind. Readers (status, why, replay) need nothing else.

    Methods that raise NotImplementedError are the kind's own; the others have a default that is
    right for a kind that does without.
    """

    # The name of the kind, and the first part of the names of its partitions.
    word: ClassVar[str] = ""
    # Whether a task that failed is retried under its key; if not, it is decided again.
    retries: ClassVar[bool] = False
    # Whether people can have single groups retried.
    retries_groups: ClassVar[bool] = False
    # What going back does not undo, in words; empty: it undoes all.
    not_undone: ClassVar[str] = ""
    # What a partition and a target are called in texts.
    noun: ClassVar[str] = "partition"
    # The facts that its state takes into account: these can be compacted into the state.
    facts: ClassVar[tuple[type[Fact], ...]] = SHARED_FACTS
    target_noun: ClassVar[str] = "target"

    def empty(self) -> S:
        """The state before the first fact."""
        raise NotImplementedError

    def fold(self, state: S, at: Instant, fact: Fact, actor: str) -> S:
        """Take one fact into account; a fact of another kind changes nothing."""
        raise NotImplementedError

    def encode(self, state: S) -> bytes:
        """The state, to be kept as a projection."""
        raise NotImplementedError

    def decode(self, raw: bytes) -> S:
        """The state that was kept."""
        raise NotImplementedError

    def under_way(self, state: S) -> UnderWay:  # noqa: ARG002
        """What brakes, evidence and approvals need to know."""
        return UnderWay()

    def world(self, state: S, brakes: Brakes, now: Instant, others: Others) -> W | None:
        """The world as the facts have it, under brakes; None: nothing is known yet."""
        raise NotImplementedError

    def decide(self, world: W, now: Instant) -> P:
        """The plan: every option of every target, with its verdicts."""
        raise NotImplementedError

    def bound(self, state: S, world: W) -> Bound | None:
        """The brakes of a decision, where they are not those of the one before."""
        raise NotImplementedError

    def record(
        self, partition: str, seq: int, state: S, world: W, plan: P, now: Instant, mode: Mode
    ) -> PlanRecord:
        """What is recorded of a plan, as entry number `seq` of its partition."""
        raise NotImplementedError

    def due(self, state: S, now: Instant) -> Sequence[Sequence[Task]]:
        """Tasks to be carried out now, stage after stage; those of a stage side by side."""
        raise NotImplementedError

    def overdue(self, state: S, now: Instant) -> Sequence[Task]:  # noqa: ARG002
        """Tasks that were never tried and are too old to be carried out: they are dropped."""
        return ()

    def retry_at(self, state: S) -> Instant | None:  # noqa: ARG002
        """When the next task is to be tried again; None: none is."""
        return None

    def withheld(
        self,
        state: S,  # noqa: ARG002
        tasks: Sequence[Task],  # noqa: ARG002
        allow_mass_removal: bool,  # noqa: ARG002
    ) -> Mapping[str, str]:
        """Why tasks are put off, by key: removals of too many targets at once."""
        return {}

    def unwanted(self, state: S, task: Task) -> str:
        """Why a task is no longer wanted; empty: it is."""
        raise NotImplementedError

    def labels(self, state: S) -> Mapping[str, Mapping[str, str]]:  # noqa: ARG002
        """The labels of targets by which brakes select them."""
        return {}

    def own_labels(self, state: S) -> Mapping[str, str] | None:  # noqa: ARG002
        """What grants select a partition by that is changed itself, beside its targets; None: it
        is not.
        """
        return None

    def named(self, state: S) -> Iterable[str] | None:  # noqa: ARG002
        """All names by which brakes may choose its targets; None: they are not known."""
        return None

    def proposers(self, state: S, version: str) -> frozenset[str]:  # noqa: ARG002
        """The people who proposed a revision, as its declaration has them; empty: not known."""
        return frozenset()

    def shut(
        self,
        state: S,  # noqa: ARG002
        task: Task,  # noqa: ARG002
        coverages: Coverages,  # noqa: ARG002
        now: Instant,  # noqa: ARG002
    ) -> Verdict | None:
        """The brake that keeps a task from being carried out now; None: there is none."""
        return None

    def acted(self, task: Task, outcome: TaskOutcome, detail: str, refused: bool) -> Acted:
        """The fact of a task's outcome."""
        return Acted(
            key=task.key, target=task.name, outcome=outcome, detail=detail, refused=refused
        )

    def sent(self, state: S) -> Mapping[str, Instant]:
        """The keys of notices that were sent, and when."""
        raise NotImplementedError

    def notices(
        self,
        partition: str,  # noqa: ARG002
        state: S,  # noqa: ARG002
        world: W,  # noqa: ARG002
        plan: P,  # noqa: ARG002
        now: Instant,  # noqa: ARG002
    ) -> DueNotices:
        """What people are to be notified of now."""
        return DueNotices()

    def view(self, partition: str, state: S, world: W, plan: P, now: Instant) -> PartitionView:
        """What status, get, show, why, metrics and the API show of a plan."""
        raise NotImplementedError

    def counts(self, partition: str, state: S, world: W, plan: P, now: Instant) -> Counts:
        """A plan in numbers, for metrics."""
        return self.view(partition, state, world, plan, now).counts()

    def asked(self, fact: Asked, view: PartitionView) -> str:  # noqa: ARG002
        """Why a request of a person cannot mean anything here, and what to use; empty: it can."""
        return ""

    def stopped_by(self, entries: Iterable[JournalEntry], plan: P) -> str:  # noqa: ARG002
        """What ended a partition, as its journal has it; empty: nothing did."""
        return ""

    def no_dates(self) -> str:
        """Why `when` has no dates for a partition of this kind, and what to use instead."""
        return f"`when` does not apply to {self.noun}s: nothing of it waits for a clock; use `why`"

    def dates(
        self,
        partition: str,  # noqa: ARG002
        state: S,  # noqa: ARG002
        world: W,  # noqa: ARG002
        now: Instant,  # noqa: ARG002
        entries: Iterable[JournalEntry],  # noqa: ARG002
        pace: DatePace,  # noqa: ARG002
        target: str | None,  # noqa: ARG002
    ) -> Document | None:
        """The expected dates of a partition or of one target; None: there are none (`no_dates`)."""
        return None

    def settings(self, state: S) -> Mapping[str, str]:  # noqa: ARG002
        """What is declared of its pace and may be assumed to be otherwise, by name; {}: nothing."""
        return {}

    def assumed(self, state: S, settings: Mapping[str, str]) -> Fact:
        """The fact by which some settings would have other values.

        UserError if one is none of `settings`, or its value cannot be read.
        """
        raise NotImplementedError

    def shadow(
        self,
        entries: Iterable[JournalEntry],  # noqa: ARG002
        others_then: "OthersThen",  # noqa: ARG002
    ) -> Shadowed | None:
        """Decisions beside those of another system; None: there is none (`no_shadow`)."""
        return None

    def no_shadow(self) -> str:
        """Why `shadow` has nothing to compare with, and what to use instead."""
        return (
            f"`shadow` does not apply to {self.noun}s: no other system's decisions are known;"
            " use `replay`"
        )

    def replay(
        self, entries: Iterable[JournalEntry], others_then: "OthersThen"
    ) -> Iterable[Replayed]:
        """Every recorded decision, decided again by today's rules."""
        raise NotImplementedError


# The states of other partitions of the same kind as they were at a moment, by name.
OthersThen = Callable[[tuple[str, ...], Instant], Mapping[str, Any]]


class Kind(Generic[S, W, P, O]):
    """A kind with the systems it is observed and changed on."""

    # Whether more may be removed at once than the limit says: a person asked for it.
    allow_mass_removal: bool = False

    def __init__(self, rules: Rules[S, W, P]) -> None:
        self.rules = rules

    async def partitions(self) -> list[str]:
        """What there is of it, by name: `kind/name`."""
        raise NotImplementedError

    async def changes(self) -> AsyncIterator[str]:
        """Names of partitions that may have changed, as it happens.

        It need not report everything: every partition is observed now and then. It may end, or
        fail with OutsideError; then it is asked again, later.
        """
        import asyncio  # readers of a journal import this module, and run nothing

        await asyncio.Event().wait()
        yield ""

    async def observe(self, partition: str) -> O | None:
        """One reading of a partition; None: there is none yet, ask again soon."""
        raise NotImplementedError

    def news(self, state: S, seen: O, now: Instant) -> Sequence[tuple[Instant, Fact]]:
        """The facts in which a reading differs from what is known, each with its moment."""
        raise NotImplementedError

    def look_at(self, state: S) -> Instant | None:  # noqa: ARG002
        """When what was read means something else by time alone; None: never."""
        return None

    def acts_until(self, seen: O) -> Instant | None:  # noqa: ARG002
        """Until when a reading is fresh enough to be acted on; None: for this round."""
        return None

    def observe_soon(self, partition: str) -> None:
        """A fresh reading is needed to act."""

    def system_of(self, partition: str) -> str:  # noqa: ARG002
        """The outside system of a partition: it has a breaker of its own."""
        return ""

    async def act(self, partition: str, state: S, task: Any) -> str:
        """Carry out one task, idempotent under its key; what to note about it.

        StaleError: the target is no longer as the task supposes. ActRefusedError: refused for good.
        OutsideError: no answer, or none that says so.
        """
        raise NotImplementedError

    def rests(self, result: Any) -> bool:
        """Whether nothing more happens to a partition by itself, for `run --once`."""
        return result.plan is not None

    async def unseen(self, round_: Any, error: Exception) -> None:
        """A partition could not be observed: what is left to do about it before that is told."""

    async def after_round(self, round_: Any) -> Mapping[str, str]:  # noqa: ARG002
        """What is left to do once a round was recorded and carried out; what failed, by name."""
        return {}

    def on_lease_lost(self, partition: str) -> None:
        """Another worker leads a partition now."""

    def background(
        self,
        wake: Callable[[str], None],  # noqa: ARG002
    ) -> Coroutine[Any, Any, None] | None:
        """What runs beside the rounds, for as long as the worker does; None: nothing."""
        return None

    def stop(self) -> None:
        """Start nothing more."""
