"""A simulated rollout as data: every step, what started and what changed."""

from tidegate.kinds.rollouts.core.explain.table import state_word
from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario
from tidegate.model.document import Document, Part
from tidegate.model.plan import ChangeKind
from tidegate.model.time import format_instant


class RecordedEvent(Part, frozen=True):
    """Something that happened to the fleet."""

    what: str
    names: tuple[str, ...]


class RecordedGroup(Part, frozen=True):
    """A group after a step."""

    name: str
    status: str
    waiting: int
    in_flight: int
    soaking: int
    done: int
    failed: int


class RecordedStep(Part, frozen=True):
    """One step: what happened, what was decided, and where every target is."""

    at: str
    happened: tuple[RecordedEvent, ...]
    start: tuple[str, ...]
    rollback: tuple[str, ...]
    removed: tuple[str, ...]
    summary: str
    breached: bool
    events: tuple[str, ...]
    groups: tuple[RecordedGroup, ...]
    # What each target is doing, by name.
    targets: dict[str, str]


class SimulatedRollout(Document, frozen=True, kw_only=True):
    """A rollout in virtual time, step by step."""

    name: str
    seed: int
    start: str
    end: str
    summary: str
    steps: tuple[RecordedStep, ...]


def record(scenario: Scenario, steps: list[SimulatedStep], seed: int) -> SimulatedRollout:
    """The whole run as one document."""
    last = steps[-1]
    return SimulatedRollout(
        name=scenario.name,
        seed=seed,
        start=format_instant(scenario.start),
        end=format_instant(last.at),
        summary=last.plan.summary.value,
        steps=tuple(recorded_step(step) for step in steps),
    )


def recorded_step(step: SimulatedStep) -> RecordedStep:
    """One step as data."""
    plan, world = step.plan, step.world
    acts: dict[ChangeKind, list[str]] = {kind: [] for kind in ChangeKind}
    for action in plan.actions:
        acts[action.change.kind].append(action.target)
    return RecordedStep(
        at=format_instant(step.at),
        happened=tuple(
            RecordedEvent(what=one.verb.value, names=tuple(one.names)) for one in step.happened
        ),
        start=tuple(acts[ChangeKind.APPLY]),
        rollback=tuple(acts[ChangeKind.RETURN]),
        removed=tuple(acts[ChangeKind.REMOVE]),
        summary=plan.summary.value,
        breached=plan.breached,
        events=tuple(event.value for event in plan.events),
        groups=tuple(
            RecordedGroup(
                name=world.groups[report.group].name,
                status=report.status.value,
                waiting=report.tally.waiting,
                in_flight=report.tally.in_flight,
                soaking=report.tally.soaking,
                done=report.tally.done,
                failed=report.tally.failed,
            )
            for report in plan.groups
        ),
        targets={target.name: state_word(world, plan, i) for i, target in enumerate(world.targets)},
    )
