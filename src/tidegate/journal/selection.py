"""Which entries somebody wants to see: by kind, actor and time; by target and gate inside them.

Kind, actor and time are columns, which a database compares by itself. A target or a gate may stand
inside a fact (a plan speaks of many targets), so the fact is read, if its bytes hold the name.
"""

import msgspec

from tidegate.journal.chain import Entry
from tidegate.journal.facts import (
    Acted,
    AnyFact,
    Braked,
    Decided,
    Declared,
    Lifted,
    Observed,
    Stand,
)
from tidegate.kinds.upgrades.core.journal.facts import Planned, Surveyed
from tidegate.model.time import Instant


class Wanted(msgspec.Struct, frozen=True):
    """What an entry must have to be shown; what is left empty does not matter."""

    kinds: tuple[str, ...] = ()
    actor: str = ""
    target: str = ""
    gate: str = ""
    # From this moment on; None: from the beginning.
    since: Instant | None = None
    # Before this moment; None: to the end.
    until: Instant | None = None


def matches(wanted: Wanted, entry: Entry) -> bool:
    """Whether an entry is wanted."""
    if wanted.kinds and entry.kind not in wanted.kinds:
        return False
    if wanted.actor and entry.actor != wanted.actor:
        return False
    if wanted.since is not None and entry.at < wanted.since:
        return False
    if wanted.until is not None and entry.at >= wanted.until:
        return False
    return matches_inside(wanted, entry)


def matches_inside(wanted: Wanted, entry: Entry) -> bool:
    """Whether an entry speaks of the target and the gate that are wanted."""
    if not (wanted.target or wanted.gate):
        return True
    # A name is written in the body as it is encoded alone: most entries need not be read.
    for name in (wanted.target, wanted.gate):
        if name and msgspec.json.encode(name) not in entry.body:
            return False
    try:
        fact = entry.fact()
    except msgspec.MsgspecError:
        return False
    return _speaks_of(fact, wanted.target, wanted.gate)


def _speaks_of(fact: AnyFact, target: str, gate: str) -> bool:
    if gate:
        return _gate_of(fact, target, gate)
    if isinstance(fact, Observed):
        return target in fact.gone or any(report.name == target for report in fact.reports)
    if isinstance(fact, Decided):
        named = {task.target for task in fact.tasks} | {stand.target for stand in fact.changed}
        return target in named or target in fact.forgotten
    if isinstance(fact, Surveyed):
        named = {each.name for each in fact.clusters} | {each.uuid for each in fact.clusters}
        return target in named or target in fact.gone
    if isinstance(fact, Planned):
        named = {job.name for job in fact.jobs} | {each.target for each in fact.changed}
        return target in named
    if isinstance(fact, Declared):
        return any(target in group.clusters for group in fact.groups)
    return isinstance(fact, Acted) and fact.target == target


def _gate_of(fact: AnyFact, target: str, gate: str) -> bool:
    """A gate's verdict changed (for the target, if one is wanted), or a brake of its name did."""
    if isinstance(fact, Decided):
        stands = (stand for stand in fact.changed if not target or stand.target == target)
        return any(_asks(stand, gate) for stand in stands)
    return not target and isinstance(fact, Braked | Lifted) and fact.brake == gate


def _asks(stand: Stand, gate: str) -> bool:
    return any(verdict[0] == gate for verdict in stand.verdicts)
