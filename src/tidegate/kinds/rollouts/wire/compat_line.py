"""Rollout lines for the frozen compat rules: one world in, the library's answer out.

What a line says of strict-only matters (revisions, approvals, orderings) is passed over, since the
library does not know them. Two kinds of mistake are kept apart. A line that is no rollout line
raises, with every problem at once. A strategy that Kubernetes would have refused to decode, like
one with a `minSuccessTime` of "5 minutes", is something compat has to show: it becomes the answer's
`error`.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from tidegate.documents.line import fields_of
from tidegate.documents.reader import INSTANT_REMEDY, Reader
from tidegate.kinds.rollouts.core.compat import rules as compat
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems, shown
from tidegate.model.time import Instant, format_instant, parse_duration, parse_instant

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]

# How an answer shows a word that the library has no number for.
UNKNOWN = "Unknown(99)"
_KNOWN = frozenset(("ToApply", "Progressing", "Succeeded", "Failed", "TimeOut", "Skip"))

_REMEDIES = {
    "now": INSTANT_REMEDY,
    "groups": "write a list of {name, index, clusters}; compat reads no placements",
    "strategy": 'write at least {"type": "All"}',
}


class CompatKey(msgspec.Struct, frozen=True, gc=False):
    """A group's name and index."""

    name: str = ""
    index: Int32 = 0


class GroupIn(msgspec.Struct, frozen=True, gc=False):
    """One decision group."""

    index: Int32
    name: str = ""
    clusters: list[str] | None = None


class StatusIn(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What one cluster reports, and whatever group the caller says it is in."""

    cluster: str
    status: str = ""
    last_transition_time: str | None = None
    group: CompatKey | None = None


class MandatoryIn(msgspec.Struct, frozen=True, rename="camel"):
    """A group that goes first."""

    group_name: str | None = None
    group_index: Int32 | None = None


class AllIn(msgspec.Struct, frozen=True, rename="camel"):
    """What every type takes. Go reads null as absent, save for a duration."""

    min_success_time: str = "0"
    progress_deadline: str | None = None
    max_failures: Int32 | str | None = None


class PerGroupIn(AllIn, frozen=True, rename="camel"):
    """What ProgressivePerGroup takes."""

    mandatory_decision_groups: list[MandatoryIn | None] | None = None


class ProgressiveIn(PerGroupIn, frozen=True, rename="camel"):
    """What Progressive takes."""

    max_concurrency: Int32 | str | None = None


class StrategyIn(msgspec.Struct, frozen=True, rename="camel"):
    """A strategy; the objects of other types count for nothing but must be readable too."""

    type: str | None = None
    all: AllIn | None = None
    progressive: ProgressiveIn | None = None
    progressive_per_group: PerGroupIn | None = None


class CompatEntry(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A cluster on one of the answer's lists."""

    cluster: str
    group: CompatKey
    status: str
    last_transition_time: str | msgspec.UnsetType = msgspec.UNSET
    recheck_time: str | msgspec.UnsetType = msgspec.UNSET


class CompatAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The line out."""

    id: Any = msgspec.UNSET
    to_rollout: list[CompatEntry]
    time_out: list[CompatEntry]
    removed: list[CompatEntry]
    max_failure_breach: bool
    # None: time alone changes nothing.
    recheck_after_ns: int | None
    error: str | msgspec.UnsetType = msgspec.UNSET


def reply(raw: bytes | Mapping[str, Any]) -> CompatAnswer:
    """The library's answer to one line, under the id of the line."""
    line = fields_of(raw)
    world, now = decode(line)
    return answer(compat.decide(world, now), Reader(line, "", Problems()).raw("id"))


def decode(raw: bytes | Mapping[str, Any]) -> tuple[compat.CompatWorld, Instant]:
    """The world and the moment a line speaks of; UserError lists everything wrong with it."""
    problems = Problems()
    reader = Reader(fields_of(raw), "", problems)
    for name, remedy in _REMEDIES.items():
        if not reader.has(name):
            problems.add(name, "missing", remedy)
    now = reader.instant("now")
    groups = [
        compat.CompatGroup(compat.GroupKey(one.name, one.index), one.clusters or ())
        for one in reader.typed_list("groups", GroupIn)
    ]
    statuses = _statuses(reader.typed_items("statuses", StatusIn), problems)
    if problems.errors or now is None:
        raise UserError(tuple(problems.errors))
    try:
        return compat.CompatWorld(groups, statuses, _strategy(reader.raw("strategy"))), now
    except ValueError as error:
        refused = f"strategy: cannot be decoded: {error}"
        return compat.CompatWorld(groups, statuses, compat.CompatStrategy(""), refused), now


def answer(result: compat.CompatResult, ident: object = None) -> CompatAnswer:
    """The line out for a result; an id is echoed if there is one."""
    return CompatAnswer(
        id=msgspec.UNSET if ident is None else ident,
        to_rollout=_entries(result.to_rollout),
        time_out=_entries(result.timed_out),
        removed=_entries(result.removed),
        max_failure_breach=result.breached,
        recheck_after_ns=result.recheck_after,
        error=result.error or msgspec.UNSET,
    )


def _statuses(
    found: Iterable[tuple[int, StatusIn]], problems: Problems
) -> list[compat.ClusterStatus]:
    statuses: list[compat.ClusterStatus] = []
    for i, one in found:
        since: Instant | None = None
        try:
            if one.last_transition_time is not None:
                since = parse_instant(one.last_transition_time)
        except ValueError as error:
            path = f"statuses[{i}].lastTransitionTime"
            problems.add(path, f"{shown(one.last_transition_time)}: {error}", INSTANT_REMEDY)
        key = compat.GroupKey(one.group.name, one.group.index) if one.group else compat.NO_KEY
        statuses.append(compat.ClusterStatus(one.cluster, one.status, since, key))
    return statuses


def _strategy(value: object) -> compat.CompatStrategy:
    """The fields of the object of the strategy's type; ValueError if Go would refuse any object."""
    found = msgspec.convert(value, StrategyIn)
    by_type = {
        "All": found.all,
        "Progressive": found.progressive,
        "ProgressivePerGroup": found.progressive_per_group,
    }
    soaks = {name: parse_duration(one.min_success_time) for name, one in by_type.items() if one}
    word = found.type or ""
    mine = by_type.get(word)
    if mine is None:
        return compat.CompatStrategy(word)
    return compat.CompatStrategy(
        word,
        mine.progress_deadline or "",
        soaks[word],
        _or_zero(mine.max_failures),
        _or_zero(mine.max_concurrency) if isinstance(mine, ProgressiveIn) else 0,
        _mandatory(mine.mandatory_decision_groups) if isinstance(mine, PerGroupIn) else (),
    )


def _or_zero(limit: int | str | None) -> int | str:
    return 0 if limit is None else limit


def _mandatory(found: list[MandatoryIn | None] | None) -> tuple[compat.GroupKey, ...]:
    return tuple(
        compat.GroupKey(one.group_name or "", one.group_index or 0) if one else compat.NO_KEY
        for one in found or ()
    )


def _entries(statuses: Iterable[compat.ClusterStatus]) -> list[CompatEntry]:
    return [
        CompatEntry(
            one.cluster,
            CompatKey(one.group.name, one.group.index),
            one.status if one.status in _KNOWN else UNKNOWN,
            _time(one.since),
            _time(one.recheck_at),
        )
        for one in statuses
    ]


def _time(moment: Instant | None) -> str | msgspec.UnsetType:
    return msgspec.UNSET if moment is None else format_instant(moment)
