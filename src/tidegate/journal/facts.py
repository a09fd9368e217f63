"""The facts a journal is made of. Each is typed and versioned; none is ever changed or removed.

    Declared   what somebody wants changed: strategy, groups, revision
    Observed   what targets report, where it differs from what they reported before
    Asked      what a person did: approve, revoke, pause, resume, abort, retry
    Decided    a plan: what is done now, whose verdicts changed, what became true of the rollout
    Bound      the brakes a rollout is under from here on, where they differ from before
    Acted      what came of one action
    Braked     a brake was set: a hold, a freeze, a block, a pin
    Lifted     a brake was taken away
    Told       people were told of something
    Handled    what a person changed on clusters by hand
    Surveyed   what was read of an organisation and its clusters, where it differs from before
    Planned    a plan of upgrades: what is done now, and whose gates say something else
    Imported   the soak that another service, or another journal, had kept
    Folded     the state up to here, where older facts were dropped

A verdict counts as changed if its gate, outcome, reason or moment does; numbers alone do not, or
"12 of 20 done" would rewrite the journal every round.
"""

import enum
from typing import Any

import msgspec

from tidegate.gates.ask import Purpose
from tidegate.gates.brakes import Brakes
from tidegate.journal.fact import Fact as Fact  # noqa: PLC0414  others have it from here
from tidegate.journal.fact import Mode as Mode  # noqa: PLC0414
from tidegate.kinds.rollouts.core.strategy import Rollout, Strategy
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.kinds.upgrades.core.journal.facts import Imported, Planned, Surveyed
from tidegate.model.plan import Change, Event
from tidegate.model.target import Target
from tidegate.model.time import Instant


class Declared(Fact, frozen=True, tag="declared", kw_only=True, omit_defaults=True):
    """What somebody wants: a revision, rolled out over groups by a strategy."""

    strategy: Strategy
    groups: tuple[Membership, ...]
    labels: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    revision: str | None = None
    # What the fleet ran before anything was completed here: the way back until then.
    last_good: str | None = None
    # Targets that are to stay where they are, and where that is written.
    pinned: dict[str, str] = msgspec.field(default_factory=dict)
    # Where the rules stand that it follows; empty: nobody says.
    origin: str = ""


class Observed(Fact, frozen=True, tag="observed", kw_only=True, omit_defaults=True):
    """What targets report, where it differs from before."""

    reports: tuple[Target, ...] = ()
    # Targets nobody hears of any more.
    gone: tuple[str, ...] = ()
    complete: bool = True


class Verb(enum.Enum):
    """What a person can do to a rollout."""

    APPROVE = "approve"
    REJECT = "reject"
    REVOKE = "revoke"
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    RETRY = "retry"
    RETRY_FAILED = "retryFailed"


class Asked(Fact, frozen=True, tag="asked", kw_only=True, omit_defaults=True):
    """What a person did, and why."""

    verb: Verb
    groups: tuple[str, ...] = ()
    # The approval gates it answers, beside groups.
    gates: tuple[str, ...] = ()
    # What an approval is for; None: a standing one.
    version: str | None = None
    # None: for as long as the revision is rolled out.
    expires_at: Instant | None = None
    reason: str = ""


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action with its key: done twice under one key, it is done once."""

    key: str
    target: str
    change: Change
    # What it is for: the brakes that bind it are looked at again right before it is done.
    purpose: Purpose = Purpose.ROLL_OUT


class Stand(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a target stands with its gates: what counts as the same verdict."""

    target: str
    verdicts: tuple[tuple[str, str, str, Instant | None], ...]


class Decided(Fact, frozen=True, tag="decided", kw_only=True, omit_defaults=True):
    """A plan, recorded before anything is done about it."""

    now: Instant
    mode: Mode
    summary: Summary
    tasks: tuple[Task, ...] = ()
    changed: tuple[Stand, ...] = ()
    events: tuple[Event, ...] = ()
    # The rollout as it is remembered from here on.
    rollout: Rollout = Rollout()
    # Targets whose reports a retry made void.
    forgotten: tuple[str, ...] = ()
    recheck_at: Instant | None = None
    # Of all verdicts of the plan, so that a replay can tell whether it decides the same.
    digest: str = ""


class Bound(Fact, frozen=True, tag="bound", kw_only=True, omit_defaults=True):
    """What may hold this rollout from here on; written with the decision it first mattered to.

    It is all a replay needs to know of brakes, wherever they were set.
    """

    # None: nothing.
    brakes: Brakes | None = None


class Outcome(enum.Enum):
    """What came of an action."""

    DONE = "done"
    FAILED = "failed"  # the outside system said no, or nothing
    DROPPED = "dropped"  # no longer wanted when its turn came: a hold, another plan


class Acted(Fact, frozen=True, tag="acted", kw_only=True, omit_defaults=True):
    """What came of one action."""

    key: str
    target: str
    outcome: Outcome
    detail: str = ""
    # Whether it was refused for good, and not only unanswered: asking again at once is no use.
    refused: bool = False


class Braked(Fact, frozen=True, tag="braked", kw_only=True, omit_defaults=True):
    """A brake was set, or set anew under the same name."""

    brake: str  # hold, freeze, block, pin
    name: str
    document: dict[str, Any]
    reason: str = ""


class Lifted(Fact, frozen=True, tag="lifted", kw_only=True, omit_defaults=True):
    """A brake was taken away."""

    brake: str
    name: str
    reason: str = ""


class Folded(Fact, frozen=True, tag="folded", kw_only=True, omit_defaults=True):
    """The state up to here; the facts before it may have been dropped."""

    state: msgspec.Raw
    facts: int
    reason: str = ""


class Told(Fact, frozen=True, tag="told", kw_only=True, omit_defaults=True):
    """People were told of something; it is not told again until its key is retired."""

    keys: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()


class HandledObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """One object that somebody changed: which, and what came of it."""

    object: str  # cluster/namespace/kind/name
    outcome: str
    detail: str = ""


class Handled(Fact, frozen=True, tag="handled", kw_only=True, omit_defaults=True):
    """What a person changed on clusters by hand, and why: applied, adopted, removed, given back."""

    objects: tuple[HandledObject, ...] = ()
    reason: str = ""


AnyFact = (
    Declared
    | Observed
    | Asked
    | Decided
    | Bound
    | Acted
    | Braked
    | Lifted
    | Folded
    | Told
    | Handled
    | Surveyed
    | Planned
    | Imported
)
