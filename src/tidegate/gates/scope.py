"""The scope of a brake: everything, some kinds of change, targets by label, or targets by name.

Three answers, because a label that is not known is not a label that is missing: where labels or
the kind are unknown, a brake that asks for them covers the target *perhaps*, and doubt holds.
"""

import enum
from collections.abc import Mapping

import msgspec

from tidegate.model.reason import Reason
from tidegate.model.selector import Selector
from tidegate.model.time import Instant
from tidegate.model.verdict import FactValue, Verdict, verdict


class KindOfChange(enum.Enum):
    """The four kinds of change Tidegate lets into a fleet, and the rehearsal of one."""

    INTEGRATIONS = "integrations"
    POLICIES = "policies"
    UPGRADES = "upgrades"
    PROMOTIONS = "promotions"
    SIMULATED = "simulated"


def kind_word(partition: str) -> str:
    """The kind a rollout is of, from its name: the part before the first slash."""
    return partition.partition("/")[0]


def kind_of(partition: str) -> KindOfChange | None:
    """The kind a rollout is of; None: no kind."""
    return _KINDS.get(kind_word(partition))


def kind_words(partition: str) -> tuple[str, ...]:
    """The words that select a rollout: that of its name, and the kind that it belongs to."""
    word, kind = kind_word(partition), kind_of(partition)
    return (word,) if kind is None or kind.value == word else (word, kind.value)


# Pipelines are promotions, too: what is said of promotions is said of them.
_KINDS = {kind.value: kind for kind in KindOfChange} | {"channels": KindOfChange.PROMOTIONS}


class Scope(msgspec.Struct, frozen=True):
    """The targets a brake covers; by default everything."""

    # Empty: every kind.
    kinds: frozenset[KindOfChange] = frozenset()
    # None: not by name.
    targets: frozenset[str] | None = None
    # None: not by labels.
    selector: Selector | None = None


class Cover(enum.Enum):
    """Whether a scope covers a target."""

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"


EVERYTHING = Scope()


class Brake(msgspec.Struct, frozen=True, kw_only=True):
    """What every brake has: a name, a scope, an owner, and a reason."""

    name: str
    scope: Scope
    owner: str
    why: str
    # None: until it is removed.
    expires_at: Instant | None = None
    # What takes it away, where no command on the journal does: the file to change. Unset: one does.
    lift: str | msgspec.UnsetType = msgspec.UNSET


def lift_command(kind: str, name: str) -> str:
    """The command that takes a brake of the journal away."""
    return f"`unpin {name}`" if kind == "pin" else f"`{kind} remove {name}`"


def brake_verdict(
    brake: Brake, kind: str, lasting: Reason, passing: Reason, *first: FactValue
) -> Verdict:
    """What a brake says that stops something: its name, why, its owner, what lifts it.

    `passing` is the reason of one that expires, `lasting` that of one that does not.
    """
    lift = lift_command(kind, brake.name) if brake.lift is msgspec.UNSET else brake.lift
    facts = (*first, brake.name, brake.why, brake.owner, lift)
    if brake.expires_at is None:
        return verdict(lasting, *facts)
    return verdict(passing, *facts, until=brake.expires_at)


def in_force(brake: Brake, now: Instant) -> bool:
    """Whether a brake binds now; exactly at its expiry it does no more."""
    return brake.expires_at is None or now < brake.expires_at


def cover(
    scope: Scope, kind: KindOfChange | None, name: str, labels: Mapping[str, str] | None
) -> Cover:
    """Whether a scope covers a target. None as its kind or its labels: not known."""
    if scope.kinds and kind is not None and kind not in scope.kinds:
        return Cover.NO
    covered = _covers(scope, name, labels)
    if covered is Cover.YES and scope.kinds and kind is None:
        return Cover.UNSURE
    return covered


def _covers(scope: Scope, name: str, labels: Mapping[str, str] | None) -> Cover:
    if scope.targets is not None:
        return Cover.YES if name in scope.targets else Cover.NO
    if scope.selector is None or not scope.selector.requirements:
        return Cover.YES
    if labels is None:
        return Cover.UNSURE
    return Cover.YES if scope.selector.matches(labels) else Cover.NO
