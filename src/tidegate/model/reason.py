"""The words a verdict is made of: outcomes, gates, reasons, and what is documented about each."""

import enum

import msgspec


class Outcome(enum.Enum):
    """What a gate says about an option."""

    PASS = "pass"
    WAIT = "wait"
    STOP = "stop"


class Gate(enum.Enum):
    """What must hold before a target starts."""

    PROGRESS = "progress"  # what the target itself is doing
    RUNNING = "running"  # the rollout is neither paused nor aborted
    READING = "reading"  # we see all members of the group
    BUDGET = "budget"  # failures are within what is allowed
    ORDER = "order"  # everything that goes earlier is done
    APPROVAL = "approval"  # the group is approved
    SLOTS = "slots"  # there is room under maxConcurrency
    RETURN = "return"  # the way back to the last good revision
    HOLD = "hold"  # no hold stops it
    FREEZE = "freeze"  # the calendar allows it
    BLOCK = "block"  # the revision is allowed at all
    PIN = "pin"  # the target is not to stay where it is
    SHARED_BUDGET = "sharedBudget"  # there is room for one more, over all rollouts
    MUTEX = "mutex"  # no other target has the mutex
    HEALTH = "health"  # there is evidence that what has the change is well
    PLACES = "places"  # where the version is written is known
    DIRECTION = "direction"  # the version goes forward
    ARTIFACT = "artifact"  # what the version stands for is there
    SCHEMAS = "schemas"  # what the version needs of others is there
    LABELS = "labels"  # what its owners wrote can be read
    WINDOW = "window"  # its schedule fires soon
    VERSION = "version"  # the version is one it may go to
    SOAK = "soak"  # the version has run elsewhere for long enough
    SECTOR = "sector"  # the sectors that go earlier have the version
    AGREEMENT = "agreement"  # what the minor version asks for was agreed to
    CHANNEL = "channel"  # there is a channel of the next minor
    REFUSAL = "refusal"  # what is asked for was not refused a moment ago
    RULES = "rules"  # what AUS's rules say, where they decide
    OBJECT = "object"  # what is declared of an object differs from what is there
    OWNER = "owner"  # the object, and the fields to be set, are ours
    REMOVAL = "removal"  # what is declared no more may be removed


class FactFormat(enum.Enum):
    """How a fact is shown."""

    COUNT = "count"
    NAME = "name"
    NAMES = "names"
    DURATION = "duration"
    INSTANT = "instant"


class Entry(msgspec.Struct, frozen=True):
    """What is documented about one reason."""

    gate: Gate
    outcome: Outcome
    # Filled with the facts by name; `{failed:target}` also writes the noun in its number.
    sentence: str
    facts: tuple[tuple[str, FactFormat], ...] = ()
    # What would open the gate; empty where it is open or nothing needs to.
    opens: str = ""


class Reason(enum.Enum):
    """Why a gate says what it says, with what is documented about it.

    It has no members: each kind has a table of its own, and so do the brakes. Names are unique over
    all tables and public: they appear in JSON, metrics and runbooks, and never change meaning. A
    gate that passes gives a reason too, so that `why` can show the numbers it passed with.

    `wait` opens as the rollout goes on (time, other targets, an approval that is part of the plan);
    `stop` stays shut until a person changes something.
    """

    _value_: str

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._value_ = self._name_
