"""What becomes of each policy: the steps as they are shown, and the story without its times.

Two runs of one rehearsal, in virtual time and on a real hub, have to tell the same story. So it has
an order and no times, and what happens side by side is one line:

    ● revision 2 is written
    ▶ dev: dev-1, dev-2 get 2
    ✓ done: dev-2
    ✗ failed: dev-1
    ■ Failed
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from tidegate.engine.round import RoundResult
from tidegate.journal.facts import TaskOutcome
from tidegate.kinds.policies.simulated.scenario import ExpectedStory
from tidegate.kinds.rollouts.core.explain.table import state_word
from tidegate.kinds.rollouts.core.journal.facts import RolloutTask
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.simulated.story import is_news
from tidegate.model.plan import ChangeKind, Event
from tidegate.model.time import Instant

# How a change ends for a cluster; success and failure come side by side.
_ENDS = {"Done": "✓ done", "Failed": "✗ failed", "No answer": "✗ no answer"}
_TOLD = frozenset((Summary.SUCCEEDED, Summary.FAILED, Summary.PAUSED, Summary.ABORTED))
_ENDED, _MOVED, _OTHER = "ended", "moved", "other"


class _Line(msgspec.Struct, frozen=True):
    sort: str
    head: str
    clusters: tuple[str, ...] = ()


class Chronicle:
    """One policy of a rehearsal."""

    def __init__(self, label: Callable[[str], str], own: Callable[[str], str]) -> None:
        # A revision, and a cluster, as the story calls it.
        self._label = label
        self._own = own
        self.steps: list[SimulatedStep] = []
        # The last one, whether anything is new in it or not.
        self.latest: SimulatedStep | None = None
        self._notes: list[str] = []
        self._lines: list[_Line] = []
        # What each cluster was given, and how that ended.
        self._ends: dict[str, str] = {}
        self._summary: Summary | None = None

    def note(self, text: str) -> None:
        """Something happened to it."""
        self._notes.append(text)
        self._lines.append(_Line(_OTHER, f"● {text}"))

    def hear(self, result: RoundResult, now: Instant) -> None:
        """A round was made."""
        if result.plan is None or result.world is None:
            return
        said = {each.name: each.detail or "compliant" for each in result.world.targets}
        step = SimulatedStep(now, result.world, result.plan, (), said, tuple(self._notes))
        before, self.latest = self.steps[-1] if self.steps else None, step
        # The events of a plan that still stands were told when it was made.
        if before is None or self._notes or (result.is_new and is_news(before, step)):
            self.steps.append(step)
            self._notes.clear()
        self._hear_ends(step)
        if result.is_new:
            self._hear_completed(step)
        self._hear_moves(step, [task for task, end in result.outcomes if end is TaskOutcome.DONE])
        self._hear_summary(step)

    def lines(self) -> list[str]:
        """The story without its times."""
        return [line for sort, some in groupby(self._lines, _sort) for line in _told(sort, some)]

    def _hear_ends(self, step: SimulatedStep) -> None:
        for i, target in enumerate(step.world.targets):
            word = state_word(step.world, step.plan, i)
            known = self._ends.get(target.name)
            if word in _ENDS and known is not None and known != word:
                self._ends[target.name] = word
                self._lines.append(_Line(_ENDED, _ENDS[word], (self._own(target.name),)))

    def _hear_completed(self, step: SimulatedStep) -> None:
        """A revision ended in the moment in which one begins that waited for its turn."""
        earlier = step.world.rollout.revision
        if Event.COMPLETED not in step.plan.events or earlier == step.plan.course.revision:
            return
        for target in step.world.targets:
            if self._ends.get(target.name) == "" and target.revision == earlier:
                self._lines.append(_Line(_ENDED, _ENDS["Done"], (self._own(target.name),)))
        self._lines.append(_Line(_OTHER, f"■ {Summary.SUCCEEDED.value}"))

    def _hear_moves(self, step: SimulatedStep, tasks: list[RolloutTask]) -> None:
        groups = {
            step.world.targets[i].name: (at, group.label)
            for at, group in enumerate(step.world.groups)
            for i in range(group.first, group.last)
        }
        for task in sorted(tasks, key=lambda each: groups.get(each.target, (-1, ""))):
            self._ends[task.target] = ""
            if task.change.kind is ChangeKind.REMOVE:
                head = "– {} lose it"
            else:
                group = groups.get(task.target, (-1, "no group"))[1]
                verb = "get" if task.change.kind is ChangeKind.APPLY else "return to"
                head = f"▶ {group}: {{}} {verb} {self._label(task.change.revision or '')}"
            self._lines.append(_Line(_MOVED, head, (self._own(task.target),)))

    def _hear_summary(self, step: SimulatedStep) -> None:
        summary = step.plan.summary
        if summary is not self._summary and summary in _TOLD and self._ends:
            self._lines.append(_Line(_OTHER, f"■ {summary.value}"))
        self._summary = summary


def _sort(line: _Line) -> str:
    """What is one line: ends in any order, moves of one kind, anything else by itself."""
    return line.head if line.sort == _MOVED else line.sort


def _told(sort: str, some: Iterator[_Line]) -> Iterator[str]:
    lines = list(some)
    if sort == _OTHER:
        yield from (line.head for line in lines)
    elif sort == _ENDED:
        for head in _ENDS.values():
            names = {name for line in lines if line.head == head for name in line.clusters}
            if names:
                yield f"{head}: {', '.join(sorted(names))}"
    else:
        names = {name for line in lines for name in line.clusters}
        yield lines[0].head.format(", ".join(sorted(names)))


def told_story(
    stories: Mapping[str, Sequence[str]], had: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> ExpectedStory:
    """The whole story, policy by policy: one alone needs no name in front."""
    lines: list[str] = []
    clusters: dict[str, tuple[str, ...]] = {}
    for name, story in stories.items():
        alone = len(stories) == 1
        lines += story if alone else [f"{name}: {line}" for line in story]
        for cluster, revisions in had[name].items():
            clusters[cluster if alone else f"{name}/{cluster}"] = revisions
    return ExpectedStory(tuple(lines), clusters)
