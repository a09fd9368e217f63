"""A partition as people and programs see it: counts, rows of targets, and what needs a person.

Every kind makes these rows from its plan (`Rules.view`); status, get, show, why, metrics and the
API read nothing else. Rows are values, not text: the command line lays them out.
"""

from collections import Counter
from collections.abc import Mapping

import msgspec

from tidegate.gates.claims import Claim
from tidegate.model.document import Part
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict


class OptionRow(Part, frozen=True):
    """One thing that could be done to a target, and what every gate says of it."""

    change: str
    verdicts: tuple[Verdict, ...]
    starts: bool = False


class TargetRow(Part, frozen=True):
    """One target."""

    name: str
    # Waiting, Updating, Soaking, Done, Failed, No answer, Ignored, Joined later, Pinned.
    state: str
    group: str = ""
    # What it has, and what it gets next; empty: not known.
    revision: str = ""
    next: str = ""
    # What an approval of that is for, where targets have versions of their own.
    version: str = ""
    # What was reported of it last: Progressing, Succeeded; empty: the kind has no reports.
    status: str = ""
    since: Instant | None = None
    starts: bool = False
    # It failed with the revision that goes out, and was returned: a failure that is still shown.
    returned: bool = False
    # Whether it is to get something, and has not.
    waits: bool = False
    # What was asked for it and has not begun; empty: nothing that could be withdrawn.
    withdrawable: str = ""
    # The verdict that says most about why it waits; None: it does not wait.
    shut: Verdict | None = None
    options: tuple[OptionRow, ...] = ()


class RequestRow(Part, frozen=True):
    """A change that a person requested, until it is carried out or withdrawn."""

    # Names the request, so that it can be withdrawn.
    ident: str
    # What is to be done.
    change: str
    # Waiting, Updating, Done, Failed.
    state: str
    by: str
    at: Instant
    reason: str = ""
    # The targets it is about; none: all of the partition.
    targets: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    starts: bool = False
    # The verdict that says most about why it waits; None: it does not wait.
    shut: Verdict | None = None


class GroupRow(Part, frozen=True):
    """Targets that go together."""

    name: str
    index: int
    status: str
    # How it is named in requests, and how many targets it has.
    key: str = ""
    size: int = 0
    waiting: int = 0
    updating: int = 0
    soaking: int = 0
    done: int = 0
    failed: int = 0
    ignored: int = 0


class Needs(Part, frozen=True):
    """What only a person can do."""

    # Approvals to give: the names of gates and groups.
    approvals: tuple[str, ...] = ()
    # Failures to look at: the names of targets, or of the partition.
    failures: tuple[str, ...] = ()
    # Documents and labels to fix: the names of targets.
    mistakes: tuple[str, ...] = ()
    # Requests that cannot be carried out as they are: withdraw them, or request something else.
    requests: tuple[str, ...] = ()


class Counts(msgspec.Struct, frozen=True):
    """A partition in numbers."""

    summary: str
    # Targets by state, as metrics have it: `no_answer`.
    states: Counter[str]
    # Targets that wait, by the gate and the reason that say most about it.
    waits: Counter[tuple[str, str]]
    starting: int = 0


# A target that has the change, or gets none, waits for nothing, though a verdict says why.
_WAITS_FOR_NOTHING = frozenset(("Done", "Ignored"))


def state_label(word: str) -> str:
    """A state as metrics have it: `No answer` is `no_answer`."""
    return word.lower().replace(" ", "_")


class PartitionView(msgspec.Struct, frozen=True, kw_only=True):
    """One partition at a moment."""

    partition: str
    summary: str
    now: Instant
    revision: str = ""
    headline: str = ""
    targets: tuple[TargetRow, ...] = ()
    # Targets in no group, which are to be removed; they are not counted.
    unplaced: tuple[TargetRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    needs: Needs = Needs()
    recheck_at: Instant | None = None
    paused: bool = False
    # Where the rules it follows are declared; empty: not known.
    origin: str = ""
    # What an approval is for; None: nothing goes out that has a name.
    version: str | None = None
    # The approval gates over it.
    gates: tuple[str, ...] = ()
    # Where targets have versions of their own: those that are next, by the gate that asks for an
    # approval of each; None: all get `version`.
    gate_versions: Mapping[str, tuple[str, ...]] | None = None
    # Changes that people requested and that are not carried out yet, the oldest first.
    requests: tuple[RequestRow, ...] = ()
    # Places of budgets and mutexes that are taken with what starts now.
    claims: tuple[Claim, ...] = ()
    # Whether more targets failed than are allowed.
    breached: bool = False
    # What only some kinds have, for wide tables: strategy, last good revision.
    more: dict[str, str] = {}

    def states(self) -> Counter[str]:
        """Targets by state."""
        return Counter(each.state for each in self.targets)

    def counts(self) -> Counts:
        """The partition in numbers."""
        states: Counter[str] = Counter()
        for word, number in self.states().items():
            states[state_label(word)] += number
        starting = sum(each.starts for each in self.targets)
        return Counts(self.summary, states, self.waits(), starting)

    def waits(self) -> Counter[tuple[str, str]]:
        """Targets that wait, by the gate and the reason that say most about it."""
        still = (each for each in self.targets if each.state not in _WAITS_FOR_NOTHING)
        shut = (each.shut for each in still if each.shut is not None and not each.starts)
        return Counter((one.gate.value, one.reason.value) for one in shut)
