"""The brakes people have set: a fold over what was set and lifted, in a chain of its own.

Documents are kept as they were written, so that a rule or a calendar is computed again as time
goes on; the brakes a rollout was decided under are in its own chain, worked out (`Bound`).
"""

from typing import Any

import msgspec

from tidegate.journal.fact import Fact
from tidegate.journal.facts import Braked, Lifted
from tidegate.model.time import Instant

# The chain all brakes are in; no rollout is called so, for it is of no kind.
PARTITION = "brakes"

# The field of a document in which each kind of brake is listed.
FIELDS = {
    "hold": "holds",
    "freeze": "freezes",
    "block": "blocks",
    "pin": "pins",
    "expedite": "expedites",
}


class BrakeRecord(msgspec.Struct, frozen=True):
    """One brake as it was set: what, when, and by which actor."""

    kind: str  # hold, freeze, block, pin, expedite
    name: str
    document: dict[str, Any]
    at: Instant
    by: str


class BrakeState(msgspec.Struct):
    """All brakes that are on, by kind and name, and the names of those that were."""

    on: dict[tuple[str, str], BrakeRecord] = {}
    lifted: set[tuple[str, str]] = set()


def fold_brake(state: BrakeState, at: Instant, fact: Fact, actor: str) -> BrakeState:
    """Take one fact into account; facts that are not about brakes change nothing."""
    if isinstance(fact, Braked):
        key = (fact.brake, fact.name)
        state.on[key] = BrakeRecord(fact.brake, fact.name, fact.document, at, actor)
        state.lifted.discard(key)
    elif isinstance(fact, Lifted):
        state.on.pop((fact.brake, fact.name), None)
        state.lifted.add((fact.brake, fact.name))
    return state
