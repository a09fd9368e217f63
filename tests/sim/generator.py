"""Rollout readings of every kind, made from a run of small choices.

A reading (`Case`) is what `build_world` takes, so that the same one can be shuffled, acted on and
decided again. Where the choices come from is the caller's business: `Dice` throws them from a seed,
tests/sim/drawn.py lets Hypothesis draw them. The plainest choice comes first in every table, which
is what a failing example shrinks to.

Pure chance would breach nearly every world, since one failure is enough: so a world has a mood, and
the commonest is the frontier, with earlier groups done, one under way, and later ones untouched.
"""

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from tidegate.kinds.rollouts.core.strategy import (
    Approvals,
    GroupRef,
    OnFailure,
    OnNewRevision,
    OrderBy,
    Ordering,
    Retry,
    Rollout,
    Strategy,
    StrategyType,
)
from tidegate.kinds.rollouts.core.world import Membership, RolloutWorld, build_world
from tidegate.model.limit import Limit
from tidegate.model.problem import Problems
from tidegate.model.selector import Operator, Requirement, Selector
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Duration, Instant

T = TypeVar("T")
Labels = dict[str, dict[str, str]]

NOW = Instant(1_750_000_000 * SECOND)
MINUTE = 60 * SECOND


class Choices(Protocol):
    """Where a generator's choices come from."""

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; the first is the plainest."""

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases; False is the plainer answer."""


class Dice:
    """Choices thrown from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self._random() * len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred throws."""
        return self._random() * 100 < percent


class Case(msgspec.Struct, frozen=True):
    """One reading of a rollout before it is put in order, and the instant it is decided at."""

    strategy: Strategy
    memberships: tuple[Membership, ...] = ()
    statuses: tuple[Target, ...] = ()
    labels: Labels = {}
    revision: str | None = None
    rollout: Rollout = Rollout()
    complete: bool = True
    now: Instant = NOW

    def world(self, problems: Problems | None = None) -> RolloutWorld:
        """The reading in canonical order."""
        return build_world(
            self.strategy,
            self.memberships,
            self.statuses,
            problems=problems or Problems(),
            labels=self.labels,
            revision=self.revision,
            rollout=self.rollout,
            complete=self.complete,
        )


def case_of(seed: int) -> Case:
    """The case a seed stands for."""
    return make_case(Dice(seed))


def make_case(choices: Choices) -> Case:
    """One case out of a run of choices."""
    strategy = make_strategy(choices)
    names = NAMES[: choices.pick(_SIZES)]
    memberships = _memberships(choices, names)
    revision, rollout = _memory(choices, strategy, memberships)
    case = Case(
        strategy,
        memberships,
        _statuses(choices, names, memberships, strategy, revision, rollout),
        _labels(choices, names, strategy),
        revision,
        rollout,
        not choices.chance(8),
    )
    # Drawn last, so that a seed stands for the case that it stood for before.
    groups = _retry_groups(choices, memberships)
    return msgspec.structs.replace(
        case, rollout=msgspec.structs.replace(rollout, retry_groups=groups)
    )


# Byte order differs from the order of the numbers, as it does in real fleets: c10 is before c2.
NAMES = ("c1", "c2", "c3", "c4", "c10", "c5", "c6", "d1", "b1")
_SIZES = (3, 1, 2, 0, 2, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 7, 8, 9)
_GROUP_COUNTS = (1, 2, 0, *(2, 3, 3, 4) * 4, 5, 5)
GROUP_NAMES = ("dev", "stage", "prod", "edge", "lab")
_PER_GROUP, _MANUAL = StrategyType.PROGRESSIVE_PER_GROUP, StrategyType.MANUAL_PER_GROUP
_TYPES = (
    *(StrategyType.PROGRESSIVE,) * 3,
    *(_PER_GROUP,) * 4,
    *(_MANUAL,) * 3,
    StrategyType.ALL,
)
_SOAKS = (Duration(0), Duration(0), Duration(5 * MINUTE), Duration(5 * MINUTE), Duration(1))
_DEADLINES = (None, None, Duration(10 * MINUTE), Duration(10 * MINUTE), Duration(5 * MINUTE))
_PERCENTS = tuple(Limit(amount, percent=True) for amount in (0, 1, 25, 34, 50, 99, 100))
_FAILURES = (Limit(0), Limit(0), Limit(1), Limit(1), Limit(2), Limit(100), *_PERCENTS)
_CEILINGS = (
    None,
    *(None,) * 4,
    *(Limit(1), Limit(2)) * 2,
    Limit(3),
    Limit(0),
    Limit(100),
    *_PERCENTS,
)


def make_strategy(choices: Choices) -> Strategy:
    """A strategy as its document could have said it."""
    kind = choices.pick(_TYPES)
    strategy = Strategy(
        kind,
        deadline=choices.pick(_DEADLINES),
        max_failures=None,
        on_failure=OnFailure.ROLLBACK if choices.chance(35) else OnFailure.PAUSE,
        on_new_revision=OnNewRevision.SUPERSEDE if choices.chance(50) else OnNewRevision.FINISH,
        ordering=choices.pick(_ORDERINGS) if choices.chance(15) else Ordering(),
        ignore=choices.pick(_SELECTORS) if choices.chance(20) else None,
    )
    if kind is StrategyType.ALL:  # its document has no limits and no soak
        return strategy
    return msgspec.structs.replace(
        strategy,
        soak=choices.pick(_SOAKS),
        max_failures=choices.pick(_FAILURES),
        max_concurrency=choices.pick(_CEILINGS),
        mandatory=_mandatory(choices) if choices.chance(25) else (),
    )


_ORDERINGS = (Ordering(OrderBy.LABEL, "wave"), Ordering(OrderBy.SPREAD, "region"))
_SELECTORS = (
    Selector((Requirement("flaky", Operator.EXISTS),)),
    Selector((Requirement("flaky", Operator.IN, frozenset(("yes",))),)),
    Selector((Requirement("flaky", Operator.NOT_IN, frozenset(("no",))),)),
    Selector((Requirement("region", Operator.DOES_NOT_EXIST),)),
    Selector(
        (
            Requirement("flaky", Operator.EXISTS),
            Requirement("region", Operator.IN, frozenset(("eu",))),
        )
    ),
)
_REFS = (
    *(GroupRef(name) for name in (*GROUP_NAMES[:3], "prd")),
    *(GroupRef(index=index) for index in (0, 1, 2, 7)),
)


def _mandatory(choices: Choices) -> tuple[GroupRef, ...]:
    first = choices.pick(_REFS)
    return (first, choices.pick(_REFS)) if choices.chance(25) else (first,)


def _memberships(choices: Choices, names: Sequence[str]) -> tuple[Membership, ...]:
    count = choices.pick(_GROUP_COUNTS)
    members = _spread_out(choices, names, count)
    several = choices.chance(12)
    step = 3 if choices.chance(10) else 1
    found: list[Membership] = []
    for i, clusters in enumerate(members):
        name = "" if choices.chance(15) else choices.pick(GROUP_NAMES[: i + 1][::-1])
        placement = choices.pick(("east", "west")) if several else ""
        size = None
        if choices.chance(8):  # most counts are right; a wrong one is a reading that lacks some
            size = len(set(clusters)) + choices.chance(40)
        index = i * step if not choices.chance(5) else 0
        found += _in_parts(choices, Membership(name, index, tuple(clusters), placement, size))
    return tuple(found)


def _spread_out(choices: Choices, names: Sequence[str], count: int) -> list[list[str]]:
    """Each name in one of so many groups; now and then in none, or in two."""
    members: list[list[str]] = [[] for _ in range(count)]
    if not count:
        return members
    for name in names:
        if choices.chance(6):
            continue
        mine = choices.pick(members)
        mine.append(name)
        if choices.chance(4):
            choices.pick(members).append(name)
    return members


def _in_parts(choices: Choices, one: Membership) -> list[Membership]:
    """A group as one decision or as two, as placements write large groups."""
    if len(one.clusters) < 2 or not choices.chance(8):
        return [one]
    cut, rest = one.clusters[:1], one.clusters[1:]
    other = one.count
    if choices.chance(30):
        other = None if one.count is None or choices.chance(50) else one.count + 1
    return [
        Membership(one.name, one.index, cut, one.placement, one.count),
        Membership(one.name, one.index, rest, one.placement, other),
    ]


CURRENT, OLDER, NEWER = "r2", "r1", "r3"
_RETRIES = (*(Retry.NOTHING,) * 14, Retry.FAILED, Retry.EVERYTHING)
_LAST_GOOD = (None, None, *(OLDER,) * 7, CURRENT)
_UNDER_WAY = (None, *(None,) * 4, CURRENT, CURRENT, OLDER, NEWER, NEWER)


def _memory(
    choices: Choices, strategy: Strategy, memberships: tuple[Membership, ...]
) -> tuple[str | None, Rollout]:
    """The declared revision, and what is remembered of the rollout."""
    revision = None if choices.chance(7) else CURRENT
    under_way, last_good = choices.pick(_UNDER_WAY), choices.pick(_LAST_GOOD)
    if revision is None and not choices.chance(20):
        under_way = last_good = None
    version = "v2" if choices.chance(10) else None
    wants_approval = strategy.type is _MANUAL
    rollout = Rollout(
        uid="u1" if choices.chance(50) else None,
        version=version,
        revision=under_way,
        completed=choices.chance(8),
        paused=choices.chance(7),
        aborted=choices.chance(10),
        last_good=last_good,
        approvals=_approvals(choices, memberships, version) if wants_approval else Approvals(),
        retry=choices.pick(_RETRIES),
        restarted=choices.chance(8),
    )
    return revision, rollout


def _retry_groups(
    choices: Choices, memberships: tuple[Membership, ...]
) -> dict[str, Retry] | msgspec.UnsetType:
    if not choices.chance(2):
        return msgspec.UNSET
    names = [one.name or "ungrouped" for one in memberships] or ["ungrouped"]
    return {choices.pick(tuple(names)): choices.pick((Retry.FAILED, Retry.EVERYTHING))}


def _approvals(
    choices: Choices, memberships: tuple[Membership, ...], version: str | None
) -> Approvals:
    if choices.chance(5):
        return Approvals()
    given = frozenset(one.name for one in memberships if one.name and not choices.chance(30))
    fits = version or CURRENT
    return Approvals(given, choices.chance(60), choices.pick((None, fits, fits, fits, OLDER, "v9")))


_READY = (Status.ToApply,)
_GOOD = (*(Status.Succeeded,) * 8, Status.Skip, Status.NewCluster)
_BUSY = (Status.ToApply, Status.Progressing, Status.Progressing, Status.Succeeded)
_TROUBLED = (*_BUSY, Status.Failed, Status.Failed, Status.TimeOut, Status.Unknown)
_ANY = tuple(Status)


def _statuses(
    choices: Choices,
    names: Sequence[str],
    memberships: tuple[Membership, ...],
    strategy: Strategy,
    revision: str | None,
    rollout: Rollout,
) -> tuple[Target, ...]:
    palettes = _palettes(choices, memberships)
    marks = _marks(choices, revision, rollout)
    tidy_clocks = choices.chance(40)
    found: list[Target] = []
    for name in names:
        if choices.chance(10):
            continue  # it has reported nothing yet
        status = choices.pick(palettes.get(name, _ANY))
        since = _since(choices, strategy, tidy_clocks)
        word = "Odd" if status is Status.Unknown else ""
        found.append(Target(name, status, since, choices.pick(marks), word=word))
    return tuple(found)


def _palettes(
    choices: Choices, memberships: tuple[Membership, ...]
) -> dict[str, tuple[Status, ...]]:
    """Which statuses a cluster may have: by where its group stands to the frontier, or any."""
    mood = choices.pick((_READY, _BUSY, _BUSY, _TROUBLED, _TROUBLED, _TROUBLED, _GOOD, _ANY))
    frontier = -1
    if choices.chance(60):
        frontier = choices.pick(range(len(memberships))) if memberships else -1
    palettes: dict[str, tuple[Status, ...]] = {}
    for i, one in enumerate(memberships):
        mine = mood
        if frontier >= 0 and i != frontier:
            mine = _GOOD if i < frontier else _READY
        for name in one.clusters:
            palettes.setdefault(name, mine)
    return palettes


def _marks(choices: Choices, revision: str | None, rollout: Rollout) -> tuple[str | None, ...]:
    """Which revisions statuses speak of: all of one, or as they come."""
    if revision is None:  # a document that names no revision cannot tell whose status it is
        return (None,)
    going = rollout.revision or revision
    good = rollout.last_good or going
    some_back = (going, going, good)
    mixed = (None, CURRENT, OLDER, NEWER)
    return choices.pick(((None,), (going,), (going,), (going, going, None), some_back, mixed))


_OFFSETS = (0, -1, 1)
_SINCES = (-3600 * SECOND, -3600 * SECOND, -4 * MINUTE, -6 * MINUTE, 0, 30 * SECOND)


def _since(choices: Choices, strategy: Strategy, tidy: bool) -> Instant | None:
    """When a status began: long ago, a moment ago, in the future, exactly at a boundary, unsaid."""
    if choices.chance(2 if tidy else 12):
        return None
    if not tidy and choices.chance(35):
        edge = choices.pick((strategy.soak, strategy.deadline or 0))
        return Instant(NOW - edge + choices.pick(_OFFSETS))
    return Instant(NOW + choices.pick(_SINCES))


def _labels(choices: Choices, names: Sequence[str], strategy: Strategy) -> Labels:
    """Labels where the strategy reads any; some clusters' labels are not known at all."""
    if strategy.ignore is None and strategy.ordering.by is OrderBy.NAME:
        return {}
    labels: Labels = {}
    for name in (*names, "stranger"):
        if choices.chance(10):
            continue
        its = labels[name] = {}
        for key, percent, values in _LABELS:
            if choices.chance(percent):
                its[key] = choices.pick(values)
    return labels


_LABELS = (
    ("region", 85, ("eu", "us", "ap", "")),
    ("wave", 80, ("1", "2", "10", "-1", "1.5", "soon")),
    ("flaky", 30, ("yes", "no")),
)
