"""The facts that journals of every kind have. Each is typed and versioned; none is ever changed.

    Asked      what a person did: approve, revoke, pause, resume, abort, retry
    Bound      the brakes a partition is under from here on, where they differ from before
    Acted      the outcome of one action
    Braked     a brake was set: a hold, a freeze, a block, a pin
    Lifted     a brake was removed
    Told       people were notified
    Handled    what a person changed on clusters by hand
    Requested  the request that the entry before it came with, and how its caller is known
    Withdrawn  a change that a person requested is not wanted any more
    Folded     the state up to here, where older facts were dropped

Every kind adds facts of its own (`journal/fact.py`): what it observed and what it decided.
"""

import enum
from collections import Counter
from typing import Any

import msgspec

from tidegate.gates.brakes import Brakes
from tidegate.journal.fact import Fact as Fact  # noqa: PLC0414  others have it from here
from tidegate.journal.fact import Mode as Mode  # noqa: PLC0414
from tidegate.journal.fact import because, register, some_names
from tidegate.model.counted import counted
from tidegate.model.time import Instant

_BRAKES = ("holds", "freezes", "blocks", "pins", "budgets", "mutexes", "approvals", "health")


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


# From this version on, an abort withdraws a retry that has not begun.
WITHDRAWS_RETRY = 2
# From this version on, an abort names the revision that is to end.
NAMES_REVISION = 3


class Asked(Fact, frozen=True, tag="asked", kw_only=True, omit_defaults=True):
    """What a person did, and why."""

    verb: Verb
    groups: tuple[str, ...] = ()
    # The approval gates it answers, beside groups.
    gates: tuple[str, ...] = ()
    # What an approval is for; None: a standing one. Of an abort: the revision that was shown.
    version: str | None = None
    # None: for as long as the revision is rolled out.
    expires_at: Instant | None = None
    reason: str = ""

    def line(self) -> str:
        """The verb, the groups and gates it is about, and why."""
        groups = f" {some_names(self.groups)}" if self.groups else ""
        groups += f" gate {some_names(self.gates)}" if self.gates else ""
        version = f" for {self.version}" if self.version is not None else ""
        return f"{self.verb.value}{groups}{version}{because(self.reason)}"


class Bound(Fact, frozen=True, tag="bound", kw_only=True, omit_defaults=True):
    """What may hold this rollout from here on; written with the decision it first mattered to.

    It is all a replay needs to know of brakes, wherever they were set.
    """

    # None: nothing.
    brakes: Brakes | None = None

    def line(self) -> str:
        """The names of the brakes."""
        if self.brakes is None:
            return "bound by nothing"
        names = (one.name for group in _BRAKES for one in getattr(self.brakes, group))
        return f"bound by {some_names(names) or 'nothing'}"


class TaskOutcome(enum.Enum):
    """What came of an action."""

    DONE = "done"
    FAILED = "failed"  # the outside system said no, or nothing
    DROPPED = "dropped"  # no longer wanted when its turn came: a hold, another plan


# What clusters say of a change that they took.
_APPLIED = "applied"


class Acted(Fact, frozen=True, tag="acted", kw_only=True, omit_defaults=True):
    """What came of one action."""

    key: str
    target: str
    outcome: TaskOutcome
    detail: str = ""
    # Whether it was refused for good, and not only unanswered: asking again at once is no use.
    refused: bool = False

    def line(self) -> str:
        """The outcome, and its detail; whether the target runs it is seen later."""
        is_done = self.outcome is TaskOutcome.DONE
        word = "accepted" if is_done else self.outcome.value
        told = self.detail and not (is_done and self.detail == _APPLIED)
        return f"{word}: {self.detail}" if told else word


class Braked(Fact, frozen=True, tag="braked", kw_only=True, omit_defaults=True):
    """A brake was set, or set anew under the same name."""

    brake: str  # hold, freeze, block, pin
    name: str
    document: dict[str, Any]
    reason: str = ""

    def line(self) -> str:
        """Which brake, and why."""
        return f"{self.brake} {self.name} set{because(self.reason)}"

    def asks(self, gate: str, target: str) -> bool:
        """A brake is of the gate of its name."""
        return not target and self.brake == gate


class Lifted(Fact, frozen=True, tag="lifted", kw_only=True, omit_defaults=True):
    """A brake was taken away."""

    brake: str
    name: str
    reason: str = ""

    def line(self) -> str:
        """Which brake, and why."""
        return f"{self.brake} {self.name} lifted{because(self.reason)}"

    def asks(self, gate: str, target: str) -> bool:
        """A brake is of the gate of its name."""
        return not target and self.brake == gate


class Folded(Fact, frozen=True, tag="folded", kw_only=True, omit_defaults=True):
    """The state up to here; the facts before it may have been dropped."""

    state: msgspec.Raw
    facts: int
    reason: str = ""

    def line(self) -> str:
        """How many entries it replaces."""
        return f"the state after {counted(self.facts, 'fact')}"


class Told(Fact, frozen=True, tag="told", kw_only=True, omit_defaults=True):
    """Notices were sent; none is sent again until its key is retired."""

    keys: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()

    def line(self) -> str:
        """The notices sent, and those that may be sent again."""
        parts = [f"notified: {some_names(self.keys)}"] if self.keys else []
        parts += [f"may notify again: {some_names(self.retired)}"] if self.retired else []
        return "; ".join(parts)


class HandledVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one gate said of an object: its reason, and the facts that fill the sentence."""

    gate: str
    outcome: str
    reason: str
    facts: tuple[int | str | tuple[str, ...], ...] = ()


class HandledObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """One object that was decided on by hand: which, and the result."""

    object: str  # cluster/namespace/kind/name
    outcome: str
    # In words, as older journals have it.
    detail: str = ""
    # The reason of the verdict that decided; empty: older journals have none.
    reason: str = ""
    verdicts: tuple[HandledVerdict, ...] = ()


class Handled(Fact, frozen=True, tag="handled", kw_only=True, omit_defaults=True):
    """What a person changed on clusters by hand, and why: applied, adopted, removed, given back."""

    objects: tuple[HandledObject, ...] = ()
    reason: str = ""

    def line(self) -> str:
        """How many objects, by outcome, and why."""
        counts = Counter(each.outcome for each in self.objects)
        summary = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        first = f": {self.objects[0].object}" if len(self.objects) == 1 else ""
        return f"by hand: {summary or 'nothing'}{first}{because(self.reason)}"


class Requested(Fact, frozen=True, tag="requested", kw_only=True, omit_defaults=True):
    """The request that was recorded with the entry before, so that it is carried out once."""

    # The act, as its address names it: approve/simulated/demo.
    act: str
    # How the caller is known: a token, OIDC with its issuer, a service account.
    via: str
    # What the caller named the request by; empty: nothing, so it may be asked for again.
    key: str = ""
    # Of the request; another one under the same key is a mistake.
    digest: str = ""
    # What was answered.
    answer: msgspec.Raw = msgspec.Raw(b"null")

    def line(self) -> str:
        """The act, and how its caller is known."""
        return f"requested: {self.act}, by {self.via}"


class Withdrawn(Fact, frozen=True, tag="withdrawn", kw_only=True, omit_defaults=True):
    """A requested change is not wanted any more; what was done of it already stays."""

    # The request, as the fact of it names it.
    ident: str
    reason: str = ""

    def line(self) -> str:
        """Which request, and why."""
        return f"request {self.ident} withdrawn{because(self.reason)}"


SHARED_FACTS: tuple[type[Fact], ...] = (
    Asked,
    Bound,
    Acted,
    Told,
    Requested,
    Withdrawn,
    Folded,
)
"""What the state of every kind takes into account, or can do without."""

register(Asked, Bound, Acted, Braked, Lifted, Told, Handled, Requested, Withdrawn, Folded)
