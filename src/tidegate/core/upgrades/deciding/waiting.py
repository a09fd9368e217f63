"""Where each cluster stands, in a word, and what it waits for, in one verdict.

A cluster is offered several versions, each with its verdicts. What it waits for is read off the one
nearest to a start: fewest gates shut for good, then fewest shut, then the newest. What is under way
on it, or failed, goes before all of them.
"""

import enum
from collections.abc import Sequence

import msgspec

from tidegate.core.model.plan import Option
from tidegate.core.model.reasons import Gate, Outcome, Reason
from tidegate.core.model.verdict import Verdict
from tidegate.core.upgrades.deciding.fleet import Member
from tidegate.core.upgrades.deciding.plan import UpgradePlan
from tidegate.core.upgrades.step import Doing, Step
from tidegate.core.why.table import first_shut


class Phase(enum.Enum):
    """Where a cluster stands."""

    CURRENT = "current"  # nothing newer is offered
    WAITING = "waiting"  # for the gate its verdict names
    STARTING = "starting"  # an upgrade of it, or of a node pool, is asked for now
    UNDER_WAY = "under_way"  # an upgrade of it is to start, or has
    FAILED = "failed"  # its upgrade failed, and is still there
    ASIDE = "set_aside"  # nobody knows what its owner wants, or what it is


# What needs no waiting for: whoever is in another of these phases is held.
_AT_EASE = (Phase.CURRENT, Phase.STARTING, Phase.UNDER_WAY)
_UPGRADES = (Doing.UPGRADE, Doing.POOL)
_PHASES = {
    Reason.UpgradeUnderWay: Phase.UNDER_WAY,
    Reason.UpgradeFailed: Phase.FAILED,
}


class Stand(msgspec.Struct, frozen=True, gc=False):
    """Where one cluster stands."""

    phase: Phase
    # The version that is nearest, or starts; empty: none is offered.
    version: str = ""
    # What says most about it; None: it starts.
    verdict: Verdict | None = None

    @property
    def held(self) -> Verdict | None:
        """What it waits for; None: nothing, it is up to date or goes on."""
        return None if self.phase in _AT_EASE else self.verdict


def stands(plan: UpgradePlan) -> list[Stand]:
    """Where every cluster stands, in the order of the plan's members."""
    options: list[list[Option]] = [[] for _ in plan.members]
    for option in plan.options:
        options[option.target].append(option)
    return [stand(member, own) for member, own in zip(plan.members, options, strict=True)]


def stand(member: Member, options: Sequence[Option]) -> Stand:
    """Where a cluster stands, by all its options."""
    if member.aside is not None:
        return Stand(Phase.ASIDE, verdict=member.aside)
    near = nearest(options)
    if near is None or not _is_upgrade(near):
        return _without_upgrade(member, near)
    version = near.change.revision or ""
    told = _shut_at(near.verdicts, (Gate.PROGRESS,)) or first_shut(near.verdicts)
    if told is None:
        return Stand(Phase.STARTING, version)
    return Stand(_PHASES.get(told.reason, Phase.WAITING), version, told)


def _without_upgrade(member: Member, near: Option | None) -> Stand:
    """Where a cluster stands that is offered no version: a channel is nothing to wait for."""
    told = _shut_at(near.verdicts, (Gate.PROGRESS, Gate.LABELS)) if near is not None else None
    if told is not None:
        return Stand(_PHASES.get(told.reason, Phase.WAITING), verdict=told)
    return Stand(Phase.UNDER_WAY if member.standing.under_way else Phase.CURRENT)


def nearest(options: Sequence[Option]) -> Option | None:
    """The option nearest to a start; upgrades go before whatever else is offered."""
    upgrades = [each for each in options if _is_upgrade(each)]
    return min(upgrades or options, key=_distance, default=None)


def _is_upgrade(option: Option) -> bool:
    return isinstance(option.change, Step) and option.change.doing in _UPGRADES


def _distance(option: Option) -> tuple[int, int]:
    outcomes = [each.outcome for each in option.verdicts]
    return outcomes.count(Outcome.STOP), outcomes.count(Outcome.WAIT)


def _shut_at(verdicts: tuple[Verdict, ...], gates: tuple[Gate, ...]) -> Verdict | None:
    """What is in the way at some gates, in their order."""
    shut = [each for each in verdicts if each.outcome is not Outcome.PASS]
    return next((each for gate in gates for each in shut if each.gate is gate), None)
