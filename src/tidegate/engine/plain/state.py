"""The state and the facts of a plain kind: what the engine remembers of its partitions."""

import msgspec

from tidegate.gates.approval import Response
from tidegate.gates.brakes import Brakes
from tidegate.journal.answers import answered
from tidegate.journal.fact import Fact, Mode, register, some_names
from tidegate.journal.facts import Acted, Asked, TaskOutcome, Verb
from tidegate.journal.retry import retry_at
from tidegate.journal.verdict_marks import (
    EVERY_GATE_OPEN,
    VerdictMark,
    asks_gate,
    changed_marks,
    changed_names,
    plan_news,
)
from tidegate.model.time import SECOND, Duration, Instant

# A task that failed is tried again after this long, then twice as long, up to the limit.
RETRY_FIRST = Duration(2 * SECOND)
RETRY_MAX = Duration(300 * SECOND)


class PlainTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One action under its key."""

    key: str
    target: str
    change: str = ""

    @property
    def name(self) -> str:
        """The target, as people call it."""
        return self.target


class PlainStand(msgspec.Struct, frozen=True, omit_defaults=True):
    """What every gate says of a target."""

    target: str
    verdicts: tuple[VerdictMark, ...]


class PlanMade(Fact, frozen=True, tag="plan", kw_only=True, omit_defaults=True):
    """A plan of a plain kind, recorded before anything is done about it."""

    now: Instant
    mode: Mode
    tasks: tuple[PlainTask, ...] = ()
    changed: tuple[PlainStand, ...] = ()
    recheck_at: Instant | None = None
    # Of all verdicts of the plan, so that a replay can compare its decision.
    digest: str = ""

    def line(self) -> str:
        """What is done, whose verdicts changed, and when to look again."""
        would = "" if self.mode is Mode.ACT else "would "
        parts = [f"{would}change {some_names(task.target for task in self.tasks)}"]
        parts = parts if self.tasks else []
        parts += plan_news(changed_names(self.changed), self.recheck_at)
        return "; ".join(parts) or "nothing to do"

    def line_of(self, target: str, gate: str) -> str:
        """What the plan says of one target, of one gate, or of one gate at one target."""
        if not (target or gate):
            return self.line()
        return "; ".join(changed_marks(self.changed, target, gate)) or EVERY_GATE_OPEN

    def names(self, target: str) -> bool:
        """Whether something is done about a target, or its verdicts changed."""
        named = {task.target for task in self.tasks} | {each.target for each in self.changed}
        return target in named

    def asks(self, gate: str, target: str) -> bool:
        """Whether a verdict of the gate changed."""
        return asks_gate(self.changed, gate, target)


class PlainPending(msgspec.Struct, frozen=True):
    """A task without an outcome: when it was decided, and how trying it went."""

    task: PlainTask
    at: Instant
    tries: int = 0
    tried_at: Instant | None = None


class PlainState(msgspec.Struct):
    """What the engine remembers of a partition; a kind adds what it observes."""

    pending: dict[str, PlainPending] = {}
    stands: dict[str, PlainStand] = {}
    told: dict[str, Instant] = {}
    responses: dict[str, tuple[Response, ...]] = {}
    brakes: Brakes | None = None
    paused: bool = False
    recheck_at: Instant | None = None


def take_plan(state: PlainState, at: Instant, fact: PlanMade) -> None:
    """A plan was recorded."""
    state.stands |= {each.target: each for each in fact.changed}
    state.recheck_at = fact.recheck_at
    if fact.mode is Mode.ACT:
        state.pending |= {task.target: PlainPending(task, at) for task in fact.tasks}


def take_outcome(state: PlainState, at: Instant, fact: Acted) -> None:
    """A task that failed stays pending, under the same key; anything else ends it."""
    known = state.pending.get(fact.target)
    if known is None or known.task.key != fact.key:
        return
    if fact.outcome is TaskOutcome.FAILED:
        state.pending[fact.target] = PlainPending(known.task, known.at, known.tries + 1, at)
    else:
        del state.pending[fact.target]


def take_request(state: PlainState, at: Instant, fact: Asked, actor: str) -> None:
    """Pause, resume, retry, and answers at approval gates."""
    if fact.gates:
        state.responses = answered(state.responses, at, actor, fact)
    if fact.verb in (Verb.PAUSE, Verb.RESUME):
        state.paused = fact.verb is Verb.PAUSE
    elif fact.verb in (Verb.ABORT, Verb.RETRY, Verb.RETRY_FAILED):
        state.pending = {}


def tried_at(one: PlainPending) -> Instant:
    """When a pending task is to be tried next."""
    return retry_at(one.at, one.tried_at, one.tries, RETRY_FIRST, RETRY_MAX)


register(PlanMade)
