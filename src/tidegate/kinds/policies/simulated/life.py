"""A simulated hub that goes on: agents answer and people edit while a worker stages revisions."""

import asyncio

from tidegate.engine.round import RoundResult
from tidegate.engine.started import Living, Started
from tidegate.journal.chain import JournalNote
from tidegate.journal.facts import Asked
from tidegate.kinds.policies.fleet import WORD, PolicyFleet
from tidegate.kinds.policies.kind import PolicyKind
from tidegate.kinds.policies.simulated.hub import SimulatedHub
from tidegate.kinds.policies.simulated.rehearsal import HOLDER, settle_at_once
from tidegate.kinds.policies.simulated.scenario import PolicyScenario
from tidegate.kinds.policies.simulated.script import Script
from tidegate.kinds.policies.simulated.stage import SimulatedStage
from tidegate.kinds.rollouts.simulated.run import SimulatedStep
from tidegate.kinds.rollouts.telemetry.observer import RolloutTelemetry
from tidegate.machine.clock import Clock
from tidegate.store.port import Store


def living_policies(
    scenario: PolicyScenario, clock: Clock, store: Store, look_s: float, seed: int = 0
) -> Living:
    """The policies of a rehearsal, from now on."""
    hub, latest = SimulatedHub(clock), dict[str, SimulatedStep]()

    def ask(partition: str, asked: Asked) -> None:
        store.append(partition, [JournalNote(clock.now(), HOLDER, asked)])

    script = Script(
        scenario,
        SimulatedStage(hub, clock),
        seed=seed,
        ask=ask,
        tell=lambda _policy, _text: None,
    )

    async def set_up() -> None:
        script.start(clock.now())
        await script.open()
        settle_at_once(hub)
        await script.declare()

    async def live() -> None:
        while True:
            hub.settle()
            while await script.play(clock.now(), latest):
                hub.settle()
            await asyncio.sleep(look_s)

    def hear(partition: str, outcome: object) -> None:
        if not isinstance(outcome, RoundResult) or outcome.plan is None or outcome.world is None:
            return
        for name, policy in script.policies.items():
            if policy.partition == partition:
                latest[name] = SimulatedStep(clock.now(), outcome.world, outcome.plan, (), {})

    fleet = PolicyFleet(hub.client(), fresh_s=look_s / 2, look_s=look_s, settle_s=0.0)
    started = Started(PolicyKind(fleet), RolloutTelemetry(), words=(WORD,))
    return Living(started=started, set_up=set_up, live=live, hear=hear)
