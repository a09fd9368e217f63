"""The facts of rollouts: what is declared, what targets report, and what was decided.

A verdict counts as changed if its gate, outcome, reason or moment does; numbers alone do not, or
"12 of 20 done" would rewrite the journal every round.
"""

import msgspec

from tidegate.gates.ask import Purpose
from tidegate.journal.fact import Fact, Mode, register, some_names
from tidegate.journal.verdict_marks import (
    EVERY_GATE_OPEN,
    VerdictMark,
    asks_gate,
    changed_marks,
    changed_names,
    plan_news,
)
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.core.strategy import Rollout, Strategy
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.counted import counted
from tidegate.model.plan import Change, Event
from tidegate.model.progress_reasons import ProgressReason
from tidegate.model.target import Target
from tidegate.model.time import Instant


class DeclaredRequests(msgspec.Struct, frozen=True, omit_defaults=True):
    """What people ask of a rollout in the document that declares it, rather than by commands."""

    # `ungrouped` is for targets in no group of a name.
    approved: tuple[str, ...] = ()
    # The revision these approvals are for; None: every one.
    version: str | None = None
    paused: bool = False
    # The rollout to be retried, by its identity; empty: none.
    retry: str = ""
    failed_only: bool = False
    # The one group to be retried; empty: all of them.
    retry_group: str = ""


class RolloutDeclared(Fact, frozen=True, tag="declared", kw_only=True, omit_defaults=True):
    """What is declared: a revision, rolled out over groups by a strategy."""

    strategy: Strategy
    groups: tuple[Membership, ...]
    labels: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    revision: str | None = None
    # What the fleet ran before anything was completed here: the way back until then.
    last_good: str | None = None
    # Targets that are to stay where they are, and where that is written.
    pinned: dict[str, str] = msgspec.field(default_factory=dict)
    # Who pins them; empty: the bundle.
    pinned_by: str = ""
    # What lifts such a pin, by target; where it is not here: a change of what pins it.
    unpinned_by: dict[str, str] = msgspec.field(default_factory=dict)
    # Targets that are busy with something that no start may interrupt, and with what.
    busy: dict[str, str] = msgspec.field(default_factory=dict)
    # Where its rules are written; empty: not known.
    origin: str = ""
    # The person who proposed the revision; empty: not known.
    author: str = ""
    # Kept to see what is asked for anew; None: nothing is asked in the document.
    requests: DeclaredRequests | None = None

    def line(self) -> str:
        """The revision and over what it goes."""
        targets = len({name for group in self.groups for name in group.clusters})
        named = self.revision is not None
        what = f"revision {self.revision}" if named else "a revision without a name"
        over = f"{counted(targets, 'target')} in {counted(len(self.groups), 'group')}"
        return f"{what} for {over}, {self.strategy.type.value}"

    def names(self, target: str) -> bool:
        """Whether a target is a member of a group."""
        return any(target in group.clusters for group in self.groups)


class TargetsObserved(Fact, frozen=True, tag="observed", kw_only=True, omit_defaults=True):
    """What targets report, where it differs from before."""

    reports: tuple[Target, ...] = ()
    # Targets that are no longer reported.
    gone: tuple[str, ...] = ()
    complete: bool = True

    def line(self) -> str:
        """The targets and their status."""
        parts = []
        if self.reports:
            parts.append(some_names(f"{each.name} {each.status.name}" for each in self.reports))
        if self.gone:
            parts.append(f"gone: {some_names(self.gone)}")
        if not self.complete:
            parts.append("the reading is incomplete")
        return "; ".join(parts) or "the reading is complete"

    def line_of(self, target: str, gate: str) -> str:
        """What one target reports."""
        if not target:
            return super().line_of(target, gate)
        reports = tuple(each for each in self.reports if each.name == target)
        gone = tuple(name for name in self.gone if name == target)
        return TargetsObserved(reports=reports, gone=gone, complete=self.complete).line()

    def names(self, target: str) -> bool:
        """Whether a target reports, or is gone."""
        return target in self.gone or any(report.name == target for report in self.reports)


class RolloutTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action with its key: done twice under one key, it is done once."""

    key: str
    target: str
    change: Change
    # What it is for: the brakes that bind it are looked at again right before it is done.
    purpose: Purpose = Purpose.ROLL_OUT

    @property
    def name(self) -> str:
        """The target as people call it."""
        return self.target


class TargetStanding(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The verdicts of a target's gates, as far as they are compared between plans."""

    target: str
    verdicts: tuple[VerdictMark, ...]

    @property
    def has_failed(self) -> bool:
        """Whether the target failed, or gave no answer."""
        return any(reason in _FAILURES for _, _, reason, _ in self.verdicts)


_FAILURES = frozenset(
    each.value
    for each in (
        ProgressReason.Failed,
        ProgressReason.FailedSaying,
        RolloutReason.TimedOut,
        RolloutReason.NoAnswer,
    )
)


class Decided(Fact, frozen=True, tag="decided", kw_only=True, omit_defaults=True):
    """A plan, recorded before anything is done about it."""

    now: Instant
    mode: Mode
    summary: Summary
    tasks: tuple[RolloutTask, ...] = ()
    changed: tuple[TargetStanding, ...] = ()
    events: tuple[Event, ...] = ()
    # The rollout as it is remembered from here on.
    rollout: Rollout = Rollout()
    # Targets whose reports a retry made void.
    forgotten: tuple[str, ...] = ()
    recheck_at: Instant | None = None
    # Of all verdicts of the plan, so that a replay can compare its decision.
    digest: str = ""

    def line(self) -> str:
        """What is done, whose verdicts changed, and when to look again."""
        parts = [self.summary.value]
        for kind in dict.fromkeys(task.change.kind for task in self.tasks):
            named = (task.target for task in self.tasks if task.change.kind is kind)
            parts.append(f"{self._would}{kind.value} {some_names(named)}")
        parts += [event.value for event in self.events]
        parts += plan_news(changed_names(self.changed), self.recheck_at)
        return "; ".join(parts)

    def line_of(self, target: str, gate: str) -> str:
        """What a plan says of one target, of one gate, or of one gate at one target."""
        if not (target or gate):
            return self.line()
        mine = (task for task in self.tasks if task.target == target)
        parts = [f"{self._would}{task.change.kind.value} {task.target}" for task in mine]
        parts += changed_marks(self.changed, target, gate)
        return "; ".join(parts) or EVERY_GATE_OPEN

    @property
    def _would(self) -> str:
        return "" if self.mode is Mode.ACT else "would "

    def names(self, target: str) -> bool:
        """Whether something is done about a target, or its verdicts changed."""
        named = {task.target for task in self.tasks} | {stand.target for stand in self.changed}
        return target in named or target in self.forgotten

    def asks(self, gate: str, target: str) -> bool:
        """Whether a verdict of the gate changed."""
        return asks_gate(self.changed, gate, target)


register(RolloutDeclared, TargetsObserved, Decided)
