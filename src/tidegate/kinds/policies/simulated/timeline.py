"""One policy of a rehearsal as a story with its times: who gets what, and why the others wait."""

from collections.abc import Iterator

import msgspec

from tidegate.explain.sentence import sentence
from tidegate.explain.table import first_shut
from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.simulated.story import clock_text, step_lines
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario
from tidegate.model.target import State
from tidegate.model.time import Instant
from tidegate.model.verdict import Verdict

_WAITS = frozenset((State.WAITING, State.HOLDING))


class PolicyTimeline(msgspec.Struct, frozen=True):
    """One policy as stories and pictures show it."""

    scenario: Scenario
    steps: list[SimulatedStep]
    # The revisions of the hub, as the rehearsal calls them.
    labels: dict[str, str]

    def worded(self, text: str) -> str:
        """A text with the names that the rehearsal has for revisions."""
        for revision, label in self.labels.items():
            text = text.replace(revision, label)
        return text

    @property
    def drawn(self) -> list[SimulatedStep]:
        """The steps that have the same groups, which is what a picture can show."""
        return [e for e in self.steps if len(e.world.groups) == len(self.scenario.groups)]

    def story(self) -> Iterator[tuple[Instant, str]]:
        """Line by line, each with its moment."""
        before: SimulatedStep | None = None
        known: dict[str, object] = {}
        for step in self.steps:
            lines = [*step_lines(self.scenario, before, step), *_waits(step, known)]
            clock = clock_text(self.scenario, step.at)
            for i, line in enumerate(lines):
                yield step.at, f"{clock if i == 0 else ' ' * len(clock)} {self.worded(line)}"
            before = step


def _waits(step: SimulatedStep, known: dict[str, object]) -> Iterator[str]:
    """Why groups wait, once for each reason."""
    for group in step.world.groups:
        shut = _shut(step, range(group.first, group.last))
        if shut is None:
            known.pop(group.label, None)
        elif known.get(group.label) != shut.reason:
            known[group.label] = shut.reason
            yield f"· {group.label} waits: {sentence(shut)}"


def _shut(step: SimulatedStep, positions: range) -> Verdict | None:
    """The first gate that is shut for a cluster that waits."""
    started = set(step.plan.started)
    for i in positions:
        if step.plan.states[i] in _WAITS and i not in started:
            found = first_shut(step.plan.options[i].verdicts)
            if found is not None:
                return found
    return None
