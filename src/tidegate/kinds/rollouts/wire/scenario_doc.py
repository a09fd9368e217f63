"""Scenario documents: a fleet, a strategy, and what happens to them, for `tidegate simulate`.

    start: 2026-01-05T10:00:00Z
    revision: v2
    lastGood: v1
    groups:
      - {name: canary, clusters: [dev-1]}
      - {name: prod, count: 20}            # prod-01 … prod-20
    strategy: {type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 30m}}
    fleet:
      applyTime: 30m                       # or {from: 5m, to: 20m}, drawn by --seed
      clusters: {prod-07: {fails: out of memory}}
    events:
      - {at: 2h, pause: true}
      - {at: 3h, hold: {name: inc-42, scope: {everything: true}, owner: sre, reason: incident 42}}
      - {at: 4h, lift: inc-42}

Groups go in the order of the file.
"""

import enum

import msgspec

from tidegate.documents.brake_doc import IN_DOCUMENT, read_brakes, read_named_hold
from tidegate.documents.calendar_doc import Files, stretch_from
from tidegate.documents.reader import DURATION_REMEDY, Reader
from tidegate.gates.block import Block
from tidegate.gates.brakes import Brakes
from tidegate.gates.freeze import Freeze
from tidegate.gates.hold import Hold
from tidegate.gates.pin import Pin
from tidegate.kinds.rollouts.core.strategy import Strategy
from tidegate.kinds.rollouts.wire.strategy_doc import read_strategy
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems, nearest, nearest_or_all, shown
from tidegate.model.time import SECOND, Duration, Instant, parse_duration, parse_instant

# Sizes beyond these are typing mistakes, not fleets.
CLUSTERS_MAX = 100_000
DEFAULT_APPLY = Duration(10 * 60 * SECOND)
DEFAULT_STOP = Duration(30 * 24 * 3600 * SECOND)
DEFAULT_START = parse_instant("2026-01-05T10:00:00Z")


class ScenarioVerb(enum.Enum):
    """What can happen to a simulated rollout."""

    APPROVE = "approve"
    REVOKE = "revoke"
    JOIN = "join"
    LEAVE = "leave"
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"
    RETRY = "retry"
    REVISION = "revision"
    MEND = "mend"
    HOLD = "hold"
    LIFT = "lift"


class ScenarioEvent(msgspec.Struct, frozen=True):
    """An event at a time: a verb and the targets it is about."""

    after: Duration
    verb: ScenarioVerb
    names: tuple[str, ...] = ()
    group: str = ""
    standing: bool = False
    # What is put on, where it is a hold.
    hold: Hold | None = None


class TargetBehaviour(msgspec.Struct, frozen=True):
    """How a cluster takes a change."""

    apply_min: Duration = DEFAULT_APPLY
    apply_max: Duration = DEFAULT_APPLY
    # Why it fails; empty: it does not.
    fails: str = ""
    silent: bool = False


class SimulatedGroup(msgspec.Struct, frozen=True):
    """A group and its members at the start."""

    name: str
    clusters: tuple[str, ...]
    labels: dict[str, str] = {}


class Scenario(msgspec.Struct, frozen=True):
    """A whole scenario, typed."""

    name: str
    start: Instant
    revision: str
    last_good: str | None
    groups: tuple[SimulatedGroup, ...]
    strategy: Strategy
    stop_after: Duration
    temper: TargetBehaviour = TargetBehaviour()
    tempers: dict[str, TargetBehaviour] = {}
    success: str = ""
    failure_percent: int = 0
    silence_percent: int = 0
    events: tuple[ScenarioEvent, ...] = ()
    warnings: tuple[Problem, ...] = ()
    # None: there are none, and none come.
    brakes: Brakes | None = None
    # The person who proposed the revision; empty: not known.
    author: str = ""


def read_scenario(document: object, files: Files | None = None) -> Scenario:
    """Read a scenario; UserError lists everything that is wrong with it.

    `files` reads what it names beside itself.
    """
    problems = Problems()
    reader = Reader(document, "", problems)
    if not isinstance(document, dict):
        problems.add("", "not a scenario", "write groups and strategy")
    if not reader.has("strategy"):
        problems.add("strategy", "missing", 'write at least {type: "All"}')
    groups = simulated_groups(reader, problems)
    known = {name for group in groups for name in group.clusters}
    said = reader.instant("start")
    start = said if said is not None else DEFAULT_START
    stop_after = reader.duration("stopAfter") or DEFAULT_STOP
    brakes = None
    if reader.has("brakes"):
        stretch = stretch_from(start, stop_after)
        brakes = read_brakes(reader.child("brakes"), stretch, files, lift=IN_DOCUMENT)
    events = _events(reader, {group.name for group in groups}, known, problems)
    _check_lifts(events, brakes, problems)
    joined = {name for event in events if event.verb is ScenarioVerb.JOIN for name in event.names}
    fleet = reader.child("fleet")
    temper = _temper(fleet, TargetBehaviour())
    scenario = Scenario(
        reader.text("name") or "rollout",
        start,
        reader.text("revision") or "new",
        reader.text("lastGood"),
        groups,
        read_strategy(reader.child("strategy")),
        stop_after,
        temper=temper,
        tempers=_tempers(fleet, temper, known | joined, problems),
        author=reader.text("author") or "",
        success=fleet.text("success") or "applied",
        failure_percent=_percent(fleet, "failureRate"),
        silence_percent=_percent(fleet, "silenceRate"),
        events=events,
        brakes=brakes,
    )
    fleet.close()
    reader.close()
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return msgspec.structs.replace(scenario, warnings=tuple(problems.warnings))


def simulated_groups(reader: Reader, problems: Problems) -> tuple[SimulatedGroup, ...]:
    """The groups of a document, each with its clusters, named or counted."""
    if not reader.has("groups"):
        problems.add("groups", "missing", "write a list of {name, clusters} or {name, count}")
    found: list[SimulatedGroup] = []
    seen: set[str] = set()
    for each in reader.children("groups"):
        name = each.text("name") or ""
        clusters = each.texts("clusters")
        count = each.whole("count") or 0
        if len(clusters) > CLUSTERS_MAX or count > CLUSTERS_MAX:
            problems.add(each.at("count"), f"over {CLUSTERS_MAX} clusters", "write fewer")
            count = 0
        width = len(str(count))
        made = (f"{name or 'cluster'}-{i:0{width}d}" for i in range(1, count + 1))
        members = tuple(dict.fromkeys((*clusters, *made)))
        for twice in sorted(seen & set(members)):
            problems.add(each.path, f"{shown(twice)} is in another group too", "keep one of them")
        seen |= set(members)
        labels = each.child("labels")
        pairs = {key: labels.text(key) or "" for key in labels.names()}
        each.close()
        found.append(SimulatedGroup(name, members, pairs))
    return tuple(found)


def _temper(reader: Reader, otherwise: TargetBehaviour) -> TargetBehaviour:
    low, high = reader.span("applyTime", otherwise.apply_min, otherwise.apply_max)
    fails = reader.raw("fails")
    if fails is not None and not isinstance(fails, str | bool):
        reader.problems.add(
            reader.at("fails"), f"{shown(fails)} is no reason", "write why, or true"
        )
    why = "failed" if fails is True else fails if isinstance(fails, str) else ""
    return TargetBehaviour(low, high, why, reader.flag("silent"))


def _tempers(
    fleet: Reader, temper: TargetBehaviour, known: set[str], problems: Problems
) -> dict[str, TargetBehaviour]:
    found: dict[str, TargetBehaviour] = {}
    clusters = fleet.child("clusters")
    for name in clusters.names():
        if name not in known:
            problems.add(clusters.at(name), "no such cluster", nearest(name, known))
        each = clusters.child(name)
        found[name] = _temper(each, temper)
        each.close()
    return found


def _percent(reader: Reader, name: str) -> int:
    limit = reader.limit(name)
    if limit is None:
        return 0
    if not limit.percent:
        reader.problems.add(reader.at(name), f"{limit} is no percentage", f'write "{limit}%"')
    return limit.amount


_FLAGS = frozenset((ScenarioVerb.PAUSE, ScenarioVerb.RESUME, ScenarioVerb.ABORT))


def _events(
    reader: Reader, groups: set[str], clusters: set[str], problems: Problems
) -> tuple[ScenarioEvent, ...]:
    found: list[ScenarioEvent] = []
    for each in reader.children("events"):
        verbs = [verb for verb in ScenarioVerb if each.has(verb.value)]
        after = _after(each)
        if len(verbs) != 1:
            offer = ", ".join(verb.value for verb in ScenarioVerb)
            problems.add(each.path, f"{len(verbs)} things happen", f"write one of {offer}")
            each.close()
            continue
        happening = _happening(each, verbs[0], after, groups, clusters)
        if happening.verb is ScenarioVerb.JOIN:
            clusters = clusters | set(happening.names)
        found.append(happening)
        each.close()
    return tuple(sorted(found, key=lambda happening: happening.after))


def _check_lifts(
    events: tuple[ScenarioEvent, ...], brakes: Brakes | None, problems: Problems
) -> None:
    """Only what is on can be lifted."""
    on = {each.name for each in brakes_that_lift(brakes)} if brakes is not None else set()
    for event in events:
        if event.hold is not None:
            on.add(event.hold.name)
        for name in event.names if event.verb is ScenarioVerb.LIFT else ():
            if name not in on:
                problems.add("events", f"no brake {shown(name)} to lift then", nearest(name, on))


def brakes_that_lift(brakes: Brakes) -> tuple[Hold | Freeze | Block | Pin, ...]:
    """The brakes that can be lifted."""
    return (*brakes.holds, *brakes.freezes, *brakes.blocks, *brakes.pins)


def _after(reader: Reader) -> Duration:
    value = reader.raw("at")
    try:
        if isinstance(value, str):
            return parse_duration(value)
    except ValueError:
        pass
    reader.problems.add(
        reader.at("at"), f"{shown(value)} is no time since the start", DURATION_REMEDY
    )
    return Duration(0)


def _happening(
    reader: Reader, verb: ScenarioVerb, after: Duration, groups: set[str], clusters: set[str]
) -> ScenarioEvent:
    field, value = verb.value, reader.raw(verb.value)
    if verb is ScenarioVerb.HOLD:
        hold = read_named_hold(reader.child(field))
        return ScenarioEvent(after, verb, (hold.name,), hold=hold)
    if verb in _FLAGS:
        reader.flag(field)
        return ScenarioEvent(after, verb)
    names = tuple(reader.texts(field)) if isinstance(value, list) else (reader.text(field) or "",)
    group = (reader.text("group") or "") if verb is ScenarioVerb.JOIN else ""
    wanted = {
        ScenarioVerb.APPROVE: groups | {"ungrouped"},
        ScenarioVerb.REVOKE: groups | {"ungrouped"},
        ScenarioVerb.LEAVE: clusters,
        ScenarioVerb.MEND: clusters,
        ScenarioVerb.RETRY: {"failed", "all"},
    }.get(verb)
    for name in names if wanted is not None else ():
        if name not in (wanted or ()):
            hint = nearest(name, wanted or ())
            reader.problems.add(reader.at(field), f"no {shown(name)} here", hint)
    if verb is ScenarioVerb.JOIN and group not in groups:
        hint = nearest_or_all(group, sorted(groups))
        reader.problems.add(reader.at("group"), f"no group {shown(group)}", hint)
    standing = reader.flag("standing") if verb is ScenarioVerb.APPROVE else False
    return ScenarioEvent(after, verb, names, group, standing)
