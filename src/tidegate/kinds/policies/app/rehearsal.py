"""`simulate policies`: rollouts of policies on a simulated hub, in virtual time."""

from collections.abc import Callable, Iterator

import msgspec

from tidegate.kinds.policies.core.revision import Fields
from tidegate.kinds.policies.simulated.chronicle import Chronicle, told_story
from tidegate.kinds.policies.simulated.hub_copy import CopiedHub, copy_hub
from tidegate.kinds.policies.simulated.rehearsal import PolicyRehearsal
from tidegate.kinds.policies.simulated.scenario import (
    OF_CLUSTERS,
    ExpectedStory,
    PolicyScenario,
    PolicyVerb,
)
from tidegate.kinds.policies.simulated.script import told_of
from tidegate.kinds.policies.simulated.timeline import PolicyTimeline
from tidegate.kinds.rollouts.simulated.record import RecordedStep, recorded_step
from tidegate.kinds.rollouts.wire.scenario_doc import Scenario, SimulatedGroup
from tidegate.kubernetes.port import Cluster
from tidegate.model.document import Document, Part
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems, nearest_or_all
from tidegate.model.time import format_instant
from tidegate.store.port import Store


class RehearsedStep(Part, frozen=True, kw_only=True):
    """One step of a policy, and what happened just before it."""

    notes: tuple[str, ...]
    step: RecordedStep


class SimulatedPolicy(Part, frozen=True, kw_only=True):
    """What became of one policy."""

    policy: str
    summary: str
    # Its revisions on the hub, by the names that the rehearsal has for them.
    revisions: dict[str, str]
    # What happened, in its order and without its times.
    story: tuple[str, ...]
    # The revisions that each cluster really had, in order.
    clusters: dict[str, tuple[str, ...]]
    steps: tuple[RehearsedStep, ...]


class SimulatedPolicies(Document, frozen=True, kw_only=True):
    """Policies in virtual time, on a simulated hub."""

    name: str
    seed: int
    start: str
    end: str
    policies: tuple[SimulatedPolicy, ...]
    # Events whose moment never came.
    left: tuple[str, ...]
    # Whether all went as the rehearsal expects; null: it expects nothing.
    as_expected: bool | None


class FinishedPolicies(msgspec.Struct, frozen=True):
    """A rehearsal that was run."""

    document: SimulatedPolicies
    timelines: tuple[PolicyTimeline, ...]
    # The whole story, as a file expects it.
    told: ExpectedStory


async def simulate_policies(
    scenario: PolicyScenario,
    store: Store,
    *,
    seed: int = 0,
    on_round: Callable[[], None] = lambda: None,
) -> FinishedPolicies:
    """What becomes of the policies of a rehearsal; the store is empty, and used for this only."""
    rehearsal = PolicyRehearsal(scenario, store, seed=seed, on_round=on_round)
    await rehearsal.set_up()
    await rehearsal.run()
    return _finished(rehearsal, seed)


async def read_hub(
    scenario: PolicyScenario, hub: Cluster, names: tuple[str, ...], edited: Fields | None
) -> CopiedHub:
    """What is needed of a hub to rehearse policies of it; nothing is written to it.

    `edited` is the spec that the author of the one policy would write. Without it, what is on the
    hub goes on; a policy that all clusters have gets a revision that differs in nothing but its
    name.
    """
    copied = await copy_hub(hub, names, edited)
    _check_names(scenario, copied)
    return copied


async def rehearse_hub(
    scenario: PolicyScenario,
    copied: CopiedHub,
    store: Store,
    *,
    seed: int = 0,
    on_round: Callable[[], None] = lambda: None,
) -> FinishedPolicies:
    """What would become of policies of a hub if they were edited now."""
    rehearsal = PolicyRehearsal(scenario, store, seed=seed, on_round=on_round)
    copied.put_on(rehearsal.hub)
    rehearsal.script.take(copied.policies, copied.labels)
    rehearsal.settle()
    await rehearsal.script.begin(copied.silent)
    await rehearsal.run()
    return _finished(rehearsal, seed)


def _check_names(scenario: PolicyScenario, copied: CopiedHub) -> None:
    """UserError where events or agents are of what the hub does not have."""
    problems = Problems()
    for name in scenario.manners:
        if name not in copied.labels:
            problems.add("agents.clusters", f"no {name}", nearest_or_all(name, copied.labels))
    for event in scenario.events:
        known = copied.policies.keys() if event.verb not in OF_CLUSTERS else copied.labels.keys()
        named = event.names if event.verb in OF_CLUSTERS else (event.policy,)
        for name in named if event.verb is not PolicyVerb.JOIN else ():
            if name not in known:
                problems.add("events", f"no {name} on this hub", nearest_or_all(name, known))
        if event.verb in (PolicyVerb.JOIN, PolicyVerb.REVISE):
            what = f"{event.verb.value} is not possible here"
            problems.add("events", what, "the hub's own scheduler decides, and --policy is written")
        staged = copied.policies.get(event.policy)
        if staged is not None and not any(staged.rollout) and event.verb is not PolicyVerb.ABORT:
            what = f"{event.policy} has its rollout in an annotation"
            problems.add("events", what, "leave out what edits a Rollout object")
    if problems.errors:
        raise UserError(tuple(problems.errors))


def _finished(rehearsal: PolicyRehearsal, seed: int) -> FinishedPolicies:
    scenario, had = rehearsal.scenario, rehearsal.had()
    items = tuple(
        SimulatedPolicy(
            policy=name,
            summary=each.latest.plan.summary.value if each.latest is not None else "",
            revisions={
                label: rehearsal.script.policies[name].revision(label)
                for label in rehearsal.script.policies[name].specs
            },
            story=tuple(each.lines()),
            clusters=dict(had[name]),
            steps=tuple(
                RehearsedStep(notes=step.notes, step=recorded_step(step)) for step in each.steps
            ),
        )
        for name, each in rehearsal.chronicles.items()
    )
    told = told_story({name: each.lines() for name, each in rehearsal.chronicles.items()}, had)
    left = tuple(told_of(event) for event in rehearsal.script.left())
    document = SimulatedPolicies(
        name=scenario.name,
        seed=seed,
        start=format_instant(scenario.start),
        end=format_instant(rehearsal.clock.now()),
        policies=items,
        left=left,
        as_expected=None if scenario.expect is None else (told == scenario.expect and not left),
    )
    return FinishedPolicies(document, tuple(_timelines(rehearsal)), told)


def _timelines(rehearsal: PolicyRehearsal) -> Iterator[PolicyTimeline]:
    for name, chronicle in rehearsal.chronicles.items():
        if chronicle.steps:
            labels = rehearsal.script.policies[name].labels
            yield PolicyTimeline(_shown(name, chronicle, rehearsal), chronicle.steps, labels)


def _shown(name: str, chronicle: Chronicle, rehearsal: PolicyRehearsal) -> Scenario:
    """What the story of a policy is about, in the words scenarios have."""
    world, last = chronicle.steps[0].world, chronicle.steps[-1].world
    return Scenario(
        name=name,
        start=rehearsal.scenario.start,
        revision=last.revision or "",
        last_good=world.rollout.last_good if world.rollout.last_good != last.revision else None,
        groups=tuple(
            SimulatedGroup(
                group.name, tuple(e.name for e in world.targets[group.first : group.last])
            )
            for group in world.groups
        ),
        strategy=world.strategy,
        stop_after=rehearsal.scenario.stop_after,
    )
